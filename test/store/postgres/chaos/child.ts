/**
 * A process that sets and handles timers until it is killed. It prints a line for each acknowledged set and each
 * firing. Arguments: the URL of the store, a name for the process, how many timers to set.
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
  print('fired', firing.key, Date.now() - firing.dueAt)
})
await timers.start()
print('ready', name)
for (let i = 0; i < Number(count); i += 10) {
  const rows = Array.from({ length: 10 }, (_, j) => ({
    key: `${name}-${i + j}`,
    at: Date.now() + 300 + ((i * 37 + j * 131) % 4000),
    payload: name,
  }))
  await acknowledged(() => timers.setMany(kind, rows))
  for (const { key } of rows) print('acked', key)
  await sleep(5)
}
print('set', name)

/** Sets until the store acknowledges it. After an unknown outcome it sets the same timers again. */
async function acknowledged(set: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await set()
      return
    } catch (error) {
      if (!(error instanceof CarillonError)) throw error
      print('again', name, error.code)
      await sleep(50)
    }
  }
}

function print(...fields: readonly (string | number)[]): void {
  writeSync(1, `${fields.join(' ')}\n`)
}
