import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from 'carillon/testing'
import type { Caller } from './caller.js'
import type { WebRow } from './web-line.js'

const KEYS = 4
const MAX_STEPS = 8
/** Farther than the clock of a server is set ahead. */
const FAR_MS = 86_400_000

export interface StoryParts {
  readonly caller: Caller
  readonly random: Random
  readonly prefix: string
  /** Draws the version of the next `set`. */
  readonly nextVersion: () => number
  /** The right wall time. */
  readonly now: () => number
  /** Asks another process to read these keys. */
  readonly look: (keys: readonly string[]) => void
}

/**
 * Sets a few timers under one prefix, and changes and reads them one call at a time, often at the moment when they
 * are due. In the end each is cancelled, or due within seconds. After an error that leaves open what happened, a key is
 * not changed any more: `doubtful` has those keys.
 */
export class Story {
  readonly doubtful: string[] = []
  readonly #parts: StoryParts
  #rows: WebRow[] = []

  constructor(parts: StoryParts) {
    this.#parts = parts
  }

  async play(): Promise<void> {
    const { random } = this.#parts
    await this.#begin()
    const steps = 2 + random.below(MAX_STEPS)
    for (let step = 0; step < steps && this.#rows.length > 0; step++) await this.#step()
    if (this.#rows.length > 0) await this.#finish()
  }

  async #begin(): Promise<void> {
    const { caller, prefix } = this.#parts
    const rows = Array.from({ length: KEYS }, (_, index) => this.#version(`${prefix}${index}`))
    this.#note(rows, await caller.set('set', rows))
  }

  async #step(): Promise<void> {
    const { caller, random, prefix, look, now } = this.#parts
    const row = random.one(this.#rows)!
    const keys = this.#rows.map(({ key }) => key)
    switch (random.below(10)) {
      case 0:
      case 1:
        await this.#changed(this.#version(row.key), (next) => caller.set('replace', [next]))
        break
      case 2:
        await this.#changed(this.#version(row.key), (next) =>
          caller.set('set-if-absent', [next], { ifAbsent: true }),
        )
        break
      case 3:
        await this.#setByRevision(row)
        break
      case 4:
        await this.#changed({ ...row, dueAt: this.#dueAt() }, async (next) => [await caller.move(next)])
        break
      case 5:
        await this.#changed(row, async (next) => [await caller.cancel(next)])
        break
      case 6:
        await caller.get([row.key])
        break
      case 7:
        if (this.doubtful.length === 0) await caller.list(prefix, keys)
        break
      default:
        await sleep(Math.min(2000, Math.max(0, row.dueAt - now() - random.below(60))))
        await this.#meetStart(row)
    }
    if (random.chance(0.3)) look(keys)
  }

  /** Changes a timer at about the time when it is due. */
  async #meetStart(row: WebRow): Promise<void> {
    const { caller, random } = this.#parts
    const next = this.#version(row.key)
    switch (random.below(4)) {
      case 0:
        await this.#changed(row, async () => [await caller.cancel(row)])
        break
      case 1:
        await this.#changed({ ...row, dueAt: next.dueAt }, async (moved) => [await caller.move(moved)])
        break
      default:
        await this.#changed(next, () => caller.set('replace', [next]))
    }
  }

  async #setByRevision(row: WebRow): Promise<void> {
    const { caller, random } = this.#parts
    const revision = await caller.get([row.key])
    if (revision === undefined) return
    const isRight = random.chance(0.6)
    const op = isRight ? 'set-if-revision' : 'set-if-wrong-revision'
    const ifRevision = isRight ? revision : revision + 1_000_000
    await this.#changed(this.#version(row.key), (next) => caller.set(op, [next], { ifRevision }))
  }

  async #finish(): Promise<void> {
    const { caller, random, prefix, now } = this.#parts
    if (random.chance(0.4) && this.doubtful.length === 0) {
      const answer = await caller.cancelMany(prefix, this.#rows)
      // After an error they are cancelled one by one, later.
      if (answer !== 'many') this.doubtful.push(...this.#rows.map(({ key }) => key))
      return
    }
    for (const row of this.#rows) {
      if (row.dueAt < now() + 5000) continue
      const isMoved = random.chance(0.5)
      await this.#changed(
        isMoved ? { ...row, dueAt: Math.floor(now() + random.below(1500)) } : row,
        async (next) => [isMoved ? await caller.move(next) : await caller.cancel(next)],
      )
    }
    // What failed without any effect is far away and would stay.
    for (const { key, dueAt } of this.#rows) if (dueAt > now() + 5000) this.doubtful.push(key)
  }

  async #changed(next: WebRow, change: (next: WebRow) => Promise<readonly string[]>): Promise<void> {
    this.#note([next], await change(next))
  }

  /** Keeps what is there now as far as the answers say so. */
  #note(rows: readonly WebRow[], answers: readonly string[]): void {
    for (const [index, row] of rows.entries()) {
      const answer = answers[index]!
      const isKnown = this.#rows.some(({ key }) => key === row.key)
      if (isDoubtful(answer)) {
        this.doubtful.push(row.key)
        this.#rows = this.#rows.filter(({ key }) => key !== row.key)
      } else if (answer === 'set' || answer === 'moved') {
        this.#rows = isKnown
          ? this.#rows.map((known) => (known.key === row.key ? row : known))
          : [...this.#rows, row]
      } else if (answer === 'cancelled') {
        // It stays in the story, so that it can be set again.
        this.#rows = this.#rows.map((known) => (known.key === row.key ? { ...row, dueAt: 0 } : known))
      }
    }
  }

  #version(key: string): WebRow {
    return { key, version: this.#parts.nextVersion(), dueAt: this.#dueAt() }
  }

  #dueAt(): number {
    const { random, now } = this.#parts
    if (random.chance(0.3)) return Math.floor(now() + FAR_MS)
    return Math.floor(now() + random.below(random.chance(0.5) ? 200 : 1500))
  }
}

/** Whether an answer leaves open what happened. */
export function isDoubtful(answer: string): boolean {
  return answer.startsWith('failed ') && !isWithoutEffect(answer)
}

/** An error after which nothing happened and nothing will. */
export function isWithoutEffect(answer: string): boolean {
  return answer === 'failed not-done' || answer === 'failed store-unavailable'
}
