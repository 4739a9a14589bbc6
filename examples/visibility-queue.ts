// A message queue with visibility timeouts. The receiver of a message gets a receipt handle, and has 30 seconds to
// delete the message. Otherwise a timer returns it to the queue. The receipt handle is the timer's handle.
import { timer, type TimerHandle, type Timers } from 'carillon'
import { testTimers } from 'carillon/testing'

interface Message {
  readonly id: string
  readonly body: string
  readonly receives: number
}
const invisible = timer<Message>('invisible')

class VisibilityQueue {
  readonly #timers: Timers
  readonly #visible: Message[] = []
  readonly dead: Message[] = []

  constructor(timers: Timers) {
    this.#timers = timers
    timers.handle(invisible, ({ payload }) => {
      const isTaken = payload.receives >= 3
      console.log(`${payload.id} was not deleted in time, ${isTaken ? 'given up' : 'it is visible again'}`)
      if (isTaken) this.dead.push(payload)
      else this.#visible.push(payload)
    })
  }

  send(id: string, body: string): void {
    this.#visible.push({ id, body, receives: 0 })
  }

  async receive(): Promise<{ message: Message; receiptHandle: TimerHandle } | undefined> {
    const message = this.#visible.shift()
    if (message === undefined) return undefined
    const payload = { ...message, receives: message.receives + 1 }
    const { handle } = await this.#timers.set(invisible, message.id, { in: '30s', payload })
    return { message: payload, receiptHandle: handle }
  }

  /** Never deletes a message that another receiver has now, because that receiver has another handle. */
  async delete(receiptHandle: TimerHandle): Promise<boolean> {
    return (await this.#timers.cancel(receiptHandle)) === 'cancelled'
  }

  async extend(receiptHandle: TimerHandle, seconds: number): Promise<boolean> {
    return (await this.#timers.move(receiptHandle, { in: `${seconds}s` })) === 'moved'
  }
}

await using timers = await testTimers()
const queue = new VisibilityQueue(timers)
for (const id of ['m1', 'm2', 'm3']) queue.send(id, `body of ${id}`)

const first = (await queue.receive())!
const second = (await queue.receive())!
const third = (await queue.receive())!
console.log(`m1 deleted: ${await queue.delete(first.receiptHandle)}`)
console.log(`m2 extended: ${await queue.extend(second.receiptHandle, 300)}`)
await timers.advance('40s')
console.log(`m3 deleted too late: ${await queue.delete(third.receiptHandle)}`)

const again = (await queue.receive())!
console.log(`${again.message.id} is received again, for the ${again.message.receives}nd time`)
console.log(`with the old handle: ${await queue.delete(third.receiptHandle)}`)
await timers.advance('40s')
await queue.receive()
await timers.advance('40s')
console.log(`m2 deleted: ${await queue.delete(second.receiptHandle)}`)
const left = (await timers.list()).items.length
console.log(`2 deleted, ${queue.dead.length} given up after 3 receives, ${left} invisible`)
