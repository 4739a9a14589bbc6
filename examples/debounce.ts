// Debounce by key: every change sets the same key again, so the index is rebuilt once, after a quiet time.
import { timer } from 'carillon'
import { testTimers } from 'carillon/testing'

const reindex = timer<{ changes: number }>('reindex')
await using timers = await testTimers()

let builds = 0
timers.handle(reindex, ({ key, payload }) => {
  builds++
  console.log(`${key} is rebuilt after ${payload.changes} changes`)
})

for (let change = 1; change <= 20; change++) {
  await timers.set(reindex, 'document:1', { in: '30s', payload: { changes: change } })
  await timers.advance('10s')
}
// At the latest, the index is rebuilt five minutes after the first change: that timer is set with ifAbsent.
const latest = timer('reindex-latest')
let forced = 0
timers.handle(latest, async ({ key }) => {
  forced++
  await timers.fireNow(reindex, key)
})
for (let change = 1; change <= 60; change++) {
  await timers.set(reindex, 'document:2', { in: '30s', payload: { changes: change } })
  await timers.set(latest, 'document:2', { in: '5m', ifAbsent: true })
  await timers.advance('10s')
}
await timers.advance('1m')
console.log(`80 changes, ${builds} rebuilds, ${forced} of them because it never was quiet`)
