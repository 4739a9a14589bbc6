import type { Operation } from '../../../store/index.js'
import type { TimerName, TimerRow } from '../../../timer/index.js'
import { cancelOf, moveOf, newIdentity, setOf } from '../sample.js'
import type { Random } from '../../random.js'
import type { ShardModel } from './shard-model.js'

const DAY_MS = 86_400_000

/** Random operations: most make sense, some are late, repeated, or meant for an earlier timer of the name. */
export class RandomOperation {
  readonly #random: Random
  readonly #model: ShardModel
  readonly #names: readonly TimerName[]

  constructor(random: Random, model: ShardModel, names: readonly TimerName[]) {
    this.#random = random
    this.#model = model
    this.#names = names
  }

  /** Some operations have a note for the history. */
  next(now: number): Operation {
    const operation = this.#bare(now)
    if (operation.type === 'answer' || !this.#random.chance(0.1)) return operation
    return { ...operation, note: { at: now, event: operation.type, details: 'by chance' } }
  }

  /** A plain set: key, due time and payload. */
  plain(now: number): { readonly key: string; readonly dueAt: number; readonly payload: unknown } {
    const random = this.#random
    const row = random.chance(0.2) ? random.one([...this.#model.rows.values()]) : undefined
    const isLow = random.chance(0.01)
    const { position: level } = this.#model.settledLevel
    return {
      key: (row ?? random.one(this.#names)!).key,
      dueAt: isLow && level > 0 ? level - 1 : this.position(now),
      payload: random.chance(0.2) ? undefined : 'ü'.repeat(random.below(20)),
    }
  }

  #bare(now: number): Operation {
    const random = this.#random
    const row = random.one([...this.#model.rows.values()])
    const name = random.chance(0.4) && row !== undefined ? row : random.one(this.#names)!
    switch (random.weighted({ set: 50, again: 5, move: 25, cancel: 20 })) {
      case 'set':
        return this.#set(name, now)
      case 'again':
        return row === undefined ? this.#set(name, now) : this.#again(row)
      case 'move': {
        const move = { ...moveOf(name, this.position(now)), ...this.#conditions(name) }
        const changes = random.chance(0.1) ? { attempt: random.below(5), details: 'moved' } : {}
        return { ...move, ...changes, dueAt: Math.max(0, move.position - random.below(2)) }
      }
      case 'cancel':
        return { ...cancelOf(name), ...this.#conditions(name) }
    }
  }

  /** Mostly soon and often at the same millisecond; some a day ahead, some half a year. */
  position(now: number): number {
    const { position } = this.#model.settledLevel
    switch (this.#random.weighted({ near: 50, crowd: 20, minutes: 15, day: 10, far: 4, level: 1 })) {
      case 'near':
        return Math.max(position, now + this.#random.below(3000) - 300)
      case 'crowd':
        return Math.max(position, Math.ceil(now / 1000) * 1000)
      case 'minutes':
        return now + this.#random.below(600_000)
      case 'day':
        return now + this.#random.below(2 * DAY_MS)
      case 'far':
        return now + this.#random.below(200 * DAY_MS)
      case 'level':
        return position
    }
  }

  #set(name: TimerName, now: number): Operation {
    const random = this.#random
    const isLow = random.chance(0.02)
    const { position: level } = this.#model.settledLevel
    const position = isLow && level > 0 ? level - 1 : this.position(now)
    const set = setOf(name, position, {
      payload: Uint8Array.from({ length: random.below(40) }, () => random.below(256)),
      tags: random.chance(0.2) ? ['red', `tag-${random.below(3)}`] : [],
      details: random.chance(0.1) ? '{"every":"day"}' : '',
      attempt: random.below(3),
      occurrence: random.below(2),
    })
    if (isLow) return set
    const revision = this.#model.find(name)?.revision ?? 0
    if (random.chance(0.1)) return { ...set, ifAbsent: true }
    return random.chance(0.1) ? { ...set, ifRevision: random.chance(0.6) ? revision : revision + 1 } : set
  }

  #again(row: TimerRow): Operation {
    const set = setOf(row, Math.max(row.position, this.#model.settledLevel.position), {
      identity: row.identity,
    })
    return this.#random.chance(0.5) ? { ...set, ifAbsent: true } : set
  }

  #conditions(name: TimerName): { readonly identity?: number; readonly ifRevision?: number } {
    const random = this.#random
    const row = this.#model.find(name)
    if (row === undefined || random.chance(0.6)) return {}
    if (random.chance(0.5)) return { identity: random.chance(0.7) ? row.identity : newIdentity() }
    return { ifRevision: random.chance(0.7) ? row.revision : row.revision - 1 }
  }
}
