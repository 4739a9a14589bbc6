import { comparePlaces } from '../../timer/index.js'
import { NewTimers } from '../new-timers.js'
import { PlainWrite } from '../plain-sets.js'
import type { Fence, OwnerWrite, WriteAnswer } from '../store.js'

interface Waiting {
  readonly fence: Fence | undefined
  readonly write: OwnerWrite
  readonly resolve: (answer: WriteAnswer) => void
  readonly reject: (error: unknown) => void
}

// One is carried out by the server while the next is on its way.
const MOST_UNDER_WAY = 2
const MOST_OPERATIONS = 1000
const MOST_BYTES = 4 << 20

/**
 * Lets writes of one shard that meet share a script: those that come while others are under way are sent together,
 * in their order, when they come under the same fence and condition. Each is still wholly there or wholly absent; what rejects
 * one of them rejects all that were sent with it.
 */
export class WriteQueue {
  readonly #send: (fence: Fence | undefined, write: OwnerWrite) => Promise<WriteAnswer>
  #waiting: Waiting[] = []
  #underWay = 0

  constructor(send: (fence: Fence | undefined, write: OwnerWrite) => Promise<WriteAnswer>) {
    this.#send = send
  }

  write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ fence, write, resolve, reject })
      if (this.#underWay < MOST_UNDER_WAY) void this.#sendNext()
    })
  }

  async #sendNext(): Promise<void> {
    this.#underWay++
    const together = this.#take()
    try {
      const answer = await this.#send(together[0]!.fence, joined(together))
      if (together.length === 1) together[0]!.resolve(answer)
      else share(answer, together)
    } catch (error) {
      for (const { reject } of together) reject(error)
    }
    this.#underWay--
    if (this.#waiting.length > 0) void this.#sendNext()
  }

  /** The first that waits, and those after it that fit. */
  #take(): Waiting[] {
    const [first] = this.#waiting
    let count = 0
    let operations = 0
    let bytes = 0
    for (const { fence, write } of this.#waiting) {
      operations += operationsOf(write)
      bytes += payloadBytesOf(write)
      const isTooMuch = operations > MOST_OPERATIONS || bytes > MOST_BYTES
      const isOther = !isSame(fence, first!.fence) || write.ifInboxEmpty !== first!.write.ifInboxEmpty
      if (count > 0 && (isTooMuch || isOther)) break
      count++
    }
    return this.#waiting.splice(0, count)
  }
}

/** Gives each write its part of the answer. */
function share(answer: WriteAnswer, together: readonly Waiting[]): void {
  const { newFrom, readLevel } = answer
  const answers = newFrom === undefined ? answer.answers : []
  let from = 0
  for (const { write, resolve } of together) {
    const count = operationsOf(write)
    if (newFrom !== undefined) resolve(new NewTimers(write, newFrom + from, readLevel))
    else resolve({ answers: answers.slice(from, from + count), readLevel })
    from += count
  }
}

function joined(together: readonly Waiting[]): OwnerWrite {
  const [{ write: first }] = together as [Waiting, ...Waiting[]]
  if (together.length === 1) return first
  return {
    ifInboxEmpty: first.ifInboxEmpty === true,
    operations: together.flatMap(({ write }) => write.operations),
    history: together.flatMap(({ write }) => write.history ?? []),
  }
}

/** How many operations a write has. */
export function operationsOf(write: OwnerWrite): number {
  return write instanceof PlainWrite ? write.length : write.operations.length
}

/** What the payloads of a write weigh together. */
export function payloadBytesOf(write: OwnerWrite): number {
  if (write instanceof PlainWrite) return write.payloadBytes
  let bytes = 0
  for (const operation of write.operations) if (operation.type === 'set') bytes += operation.payload.length
  return bytes
}

function isSame(a: Fence | undefined, b: Fence | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.epoch === b.epoch && a.nonce === b.nonce && comparePlaces(a.settledLevel, b.settledLevel) === 0
}
