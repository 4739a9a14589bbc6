import { openTimers, timer } from 'carillon'
import type { Payload, Row, Subject } from './subject.js'

const kind = timer<Payload>('bench')

/** Timers through the front door, with their defaults. */
export async function open(url: string): Promise<Subject> {
  let settledCount = 0
  let wanted = Infinity
  let reached = (): void => undefined
  const timers = await openTimers({
    store: url,
    onEvent: (event) => {
      if (event.type === 'lost' || event.type === 'store-trouble') {
        process.stderr.write(`${JSON.stringify(event)}\n`)
      }
      if (event.type !== 'settled') return
      settledCount += event.count
      if (settledCount >= wanted) reached()
    },
  })
  return {
    batch: 10_000,
    inFlight: 2,
    async add(rows: readonly Row[]) {
      await timers.setMany(
        kind,
        rows.map(({ key, dueAt, payload }) => ({ key, at: dueAt, payload })),
      )
    },
    async work(handle) {
      timers.handleMany(kind, (firings) => {
        for (const { key, payload } of firings) handle(key, payload.order)
      })
      await timers.start()
    },
    async settled(count) {
      wanted = count
      if (settledCount < wanted) await new Promise<void>((resolve) => (reached = resolve))
    },
    stop: () => timers.stop(),
  }
}
