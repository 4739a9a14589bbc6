// A process that fires timers. It reads commands from its standard input, one per line, and prints an answer to each:
// `start`, `stop`, `set KEY DUE-IN-MS PAYLOAD`. It prints `fired KEY PAYLOAD` at each attempt.
import process from 'node:process'
import { createInterface } from 'node:readline'
import { openTimers, timer } from 'carillon'

const [store = ''] = process.argv.slice(2)
const kind = timer<string>('kind')

async function open() {
  const timers = await openTimers({ store, logger: false })
  timers.handle(kind, ({ key, payload }) => console.log(`fired ${key} ${payload}`))
  return timers
}

let timers = await open()
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const [command, key = '', dueInMs, payload = ''] = line.split(' ')
  if (command === 'start') await timers.start()
  if (command === 'set') await timers.set(kind, key, { in: Number(dueInMs), payload })
  if (command === 'stop') {
    await timers.stop()
    timers = await open()
  }
  console.log(`done ${command}`)
}
await timers.stop()
