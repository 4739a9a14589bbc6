import { openTimers, type StoreUrl, timer, type Timers, type TimersOptions } from 'carillon'
import type { Payload, Row, Subject } from './subject.js'

const kind = timer<Payload>('bench')

type Settings = NonNullable<TimersOptions['engine']>

/** How long an instance may take to acquire its shards, before the measurement. */
const SETTLING_IN_MS = 2000

/** Timers through `openTimers` with its defaults, added by a running instance, fired by another. */
export async function open(url: StoreUrl, engine: Settings = {}): Promise<Ours> {
  const adder = await openTimers({ store: url, engine })
  await adder.start()
  await new Promise((resolve) => setTimeout(resolve, SETTLING_IN_MS))
  return new Ours(url, adder, engine)
}

/** Timers through `openTimers`, added by one instance and fired by another. */
export class Ours implements Subject {
  readonly batch = 10_000
  readonly inFlight = 2
  readonly #url: StoreUrl
  readonly #adder: Timers
  readonly #engine: Settings
  #worker: Timers | undefined
  #settledCount = 0
  #wanted = Infinity
  #reached = (): void => undefined

  constructor(url: StoreUrl, adder: Timers, engine: Settings = {}) {
    this.#url = url
    this.#adder = adder
    this.#engine = engine
  }

  async add(rows: readonly Row[]): Promise<void> {
    await this.#adder.setMany(
      kind,
      rows.map(({ key, dueAt, payload }) => ({ key, at: dueAt, payload })),
    )
  }

  async ready(): Promise<void> {
    await this.#adder.stop()
    this.#worker = await openTimers({
      store: this.#url,
      engine: this.#engine,
      onEvent: (event) => {
        if (event.type === 'lost' || event.type === 'store-trouble') {
          process.stderr.write(`${JSON.stringify(event)}\n`)
        }
        if (event.type !== 'settled') return
        this.#settledCount += event.count
        if (this.#settledCount >= this.#wanted) this.#reached()
      },
    })
  }

  async work(handle: (key: string, order: number) => void): Promise<void> {
    this.#worker!.handleMany(kind, (firings) => {
      for (const { key, payload } of firings) handle(key, payload.order)
    })
    await this.#worker!.start()
  }

  async settled(count: number): Promise<void> {
    if (this.#engine.strategy === 'claim') {
      // It has no event for this.
      while (this.#worker!.engine.stats().counts.settled < count) await new Promise((go) => setTimeout(go, 5))
      return
    }
    this.#wanted = count
    if (this.#settledCount < count) await new Promise<void>((resolve) => (this.#reached = resolve))
  }

  async stop(): Promise<void> {
    await this.#worker?.stop()
  }
}
