/**
 * A process that sets timers, handles them, and tells of both, a line each, until it is killed. Arguments: the
 * store's URL, its name, how many timers to set.
 */
import { writeSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { CarillonError, openTimers, timer } from 'carillon'

const [store = '', name = '', count = '0'] = process.argv.slice(2)
const kind = timer<string>('chaos', { retry: { attempts: 1000, backoff: '10ms..100ms' } })
const timers = await openTimers({
  store,
  engine: { leaseMs: 1500, leaseMarginMs: 300, acquireMs: 100, heartbeatMs: 300, retryMs: 50, settleMs: 200 },
})
timers.handle(kind, (firing) => {
  tell('fired', firing.key, Date.now() - firing.dueAt)
})
await timers.start()
tell('ready', name)
for (let i = 0; i < Number(count); i += 10) {
  const rows = Array.from({ length: 10 }, (_, j) => ({
    key: `${name}-${i + j}`,
    at: Date.now() + 300 + ((i * 37 + j * 131) % 4000),
    payload: name,
  }))
  await acknowledged(() => timers.setMany(kind, rows))
  for (const { key } of rows) tell('acked', key)
  await sleep(5)
}
tell('set', name)

/** Until it is acknowledged: after an unknown outcome the same timers are set once more. */
async function acknowledged(set: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await set()
      return
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      tell('again', name, error.code)
      await sleep(50)
    }
  }
}

function tell(...words: readonly (string | number)[]): void {
  writeSync(1, `${words.join(' ')}\n`)
}
