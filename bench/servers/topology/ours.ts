import process from 'node:process'
import { openTimers, type StoreUrl, timer, type Timers } from 'carillon'
import type { Payload, Row } from '../subject.js'
import type { Role, TopologySubject } from './task.js'

const kind = timer<Payload>('bench')

/** How long an instance may take to acquire its shards, before the measurement. */
const SETTLING_IN_MS = 2000

/** A process that only sets is opened and never started. One that does both owns every shard before it sets. */
export async function openAs(role: Role, url: StoreUrl): Promise<TopologySubject> {
  let onSettled = (_count: number): void => undefined
  const timers = await openTimers({
    store: url,
    onEvent: (event) => {
      if (event.type === 'settled') onSettled(event.count)
      if (event.type === 'lost' || event.type === 'store-trouble') {
        process.stderr.write(`${JSON.stringify(event)}\n`)
      }
    },
  })
  const subject = new Ours(timers, role)
  onSettled = (count) => subject.onSettled(count)
  if (role === 'setter') return subject
  await subject.work(() => undefined)
  await new Promise((resolve) => setTimeout(resolve, SETTLING_IN_MS))
  return subject
}

class Ours implements TopologySubject {
  readonly batch = 10_000
  readonly inFlight = 2
  readonly #timers: Timers
  readonly #role: Role
  #isStarted = false
  #handle: (key: string, order: number) => void = () => undefined
  #settledCount = 0
  #wanted = Infinity
  #reached = (): void => undefined

  constructor(timers: Timers, role: Role) {
    this.#timers = timers
    this.#role = role
  }

  onSettled(count: number): void {
    this.#settledCount += count
    if (this.#settledCount >= this.#wanted) this.#reached()
  }

  async add(rows: readonly Row[]): Promise<void> {
    await this.#timers.setMany(
      kind,
      rows.map(({ key, dueAt, payload }) => ({ key, at: dueAt, payload })),
    )
  }

  /** A read waits until everything that was acknowledged is applied. */
  async applied(): Promise<void> {
    if (this.#role === 'setter') await this.#timers.list({ limit: 1 })
  }

  async work(handle: (key: string, order: number) => void): Promise<void> {
    this.#handle = handle
    if (this.#isStarted) return
    this.#isStarted = true
    this.#timers.handleMany(kind, (firings) => {
      for (const { key, payload } of firings) this.#handle(key, payload.order)
    })
    await this.#timers.start()
  }

  async settled(count: number): Promise<void> {
    this.#wanted = count
    if (this.#settledCount < count) await new Promise<void>((resolve) => (this.#reached = resolve))
  }

  async setOne({ key, dueAt, payload }: Row): Promise<void> {
    await this.#timers.set(kind, key, { at: dueAt, payload })
  }

  async moveOne(key: string, dueAt: number): Promise<void> {
    const answer = await this.#timers.move(kind, key, { at: dueAt })
    if (answer !== 'moved') throw new Error(`${key} was not moved: ${answer}`)
  }

  async cancelOne(key: string): Promise<void> {
    const answer = await this.#timers.cancel(kind, key)
    if (answer !== 'cancelled') throw new Error(`${key} was not cancelled: ${answer}`)
  }

  async stop(): Promise<void> {
    await this.#timers.stop()
  }
}
