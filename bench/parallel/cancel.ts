import { Worker } from 'node:worker_threads'
import { digits, heading, line } from './print.js'
import { runInEach, startPool } from './pool.js'

const TIMERS = 200_000
const ROUNDS = 5

/** The receiver of messages: it cancels in a wheel of its own, and answers the last one. */
const RECEIVER = `
  const { parentPort } = require('node:worker_threads')
  import('carillon/wheel').then(({ Wheel }) => {
    let wheel, handles, left
    parentPort.on('message', (message) => {
      if (typeof message === 'number') {
        wheel.cancel(handles[message])
        if (--left === 0) parentPort.postMessage('done')
        return
      }
      wheel = new Wheel()
      handles = Array.from({ length: message.count }, (_, i) => wheel.set(1e6 + i, i))
      left = message.count
      parentPort.postMessage('ready')
    })
    parentPort.postMessage('loaded')
  })
`

/** Cancels from another thread: a compare-and-set, or a message to the thread that has the timer. */
export async function cancel(): Promise<void> {
  heading(`cancel from another thread, ${TIMERS.toLocaleString('en')} timers, best of ${ROUNDS} rounds`)
  const { pool, shared } = await startPool(1)
  const receiver = new Worker(RECEIVER, { eval: true })
  const answer = (): Promise<unknown> => new Promise((resolve) => receiver.once('message', resolve))
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  const send = (message: unknown): void => receiver.postMessage(message)
  await answer()
  let [direct, sent, answered] = [Infinity, Infinity, Infinity]
  for (let round = 0; round < ROUNDS; round++) {
    await runInEach(pool, 1, 'hold', TIMERS)
    const order = shuffled(TIMERS)
    const began = performance.now()
    let won = 0
    for (const at of order) if (pool.cancel(shared.handles[at]!)) won++
    direct = Math.min(direct, performance.now() - began)
    if (won !== TIMERS) throw new Error(`${won} of ${TIMERS} were cancelled`)

    send({ count: TIMERS })
    await answer()
    const sendBegan = performance.now()
    const done = answer()
    for (const at of order) send(at)
    sent = Math.min(sent, performance.now() - sendBegan)
    await done
    answered = Math.min(answered, performance.now() - sendBegan)
  }
  await receiver.terminate()
  await pool.stop()
  const ns = (ms: number): string => `${digits((ms * 1e6) / TIMERS)} ns`
  line('pool.cancel, which knows whether it won', ns(direct))
  line('postMessage, until it is sent', ns(sent), `${digits(sent / direct)} × (goal 6)`)
  line('postMessage, until all are cancelled', ns(answered), `${digits(answered / direct)} ×`)
}

function shuffled(n: number): Int32Array {
  const order = Int32Array.from({ length: n }, (_, at) => at)
  for (let at = n - 1; at > 0; at--) {
    const other = Math.floor(Math.random() * (at + 1))
    ;[order[at], order[other]] = [order[other]!, order[at]!]
  }
  return order
}
