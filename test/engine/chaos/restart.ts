/**
 * Timers with default settings. With `die` it sets a timer and kills itself. Otherwise it waits for a timer to fire and
 * prints how long after opening that was.
 */
import process from 'node:process'
import { openTimers, timer } from 'carillon'

const [folder = '', what = ''] = process.argv.slice(2)
const kind = timer('restart')
const from = performance.now()
const timers = await openTimers({ store: `file:${folder}` })
if (what === 'die') {
  await timers.start()
  await timers.set(kind, 'a', { in: 100 })
  process.kill(process.pid, 'SIGKILL')
}
await new Promise<void>((resolve, reject) => {
  timers.handle(kind, () => resolve())
  timers.start().catch(reject)
})
process.stdout.write(`fired after ${Math.round(performance.now() - from)} ms\n`)
await timers.stop()
