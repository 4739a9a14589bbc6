import { comparePlaces } from '../../../timer/index.js'
import { NewTimers } from '../../new-timers.js'
import { SetColumnsWrite } from '../../set-columns.js'
import type { Fence, OwnerWrite, WriteAnswer } from '../../store.js'
import { MAX_JOINED_BYTES, MAX_JOINED_OPERATIONS, MAX_WRITES_IN_FLIGHT } from '../defaults.js'

interface WaitingWrite {
  readonly fence: Fence | undefined
  readonly write: OwnerWrite
  readonly resolve: (answer: WriteAnswer) => void
  readonly reject: (error: unknown) => void
}

/**
 * Lets concurrent writes of one shard share a script. Writes that arrive while others are in flight are sent together,
 * in their order, if they have the same fence and condition. Each still happens completely or not at all. A failure
 * rejects all writes that were sent together.
 *
 * Proven by test/store/redis/writes.test.ts.
 */
export class WriteQueue {
  readonly #send: (fence: Fence | undefined, write: OwnerWrite) => Promise<WriteAnswer>
  #waiting: WaitingWrite[] = []
  #inFlight = 0

  constructor(send: (fence: Fence | undefined, write: OwnerWrite) => Promise<WriteAnswer>) {
    this.#send = send
  }

  write(fence: Fence | undefined, write: OwnerWrite): Promise<WriteAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ fence, write, resolve, reject })
      if (this.#inFlight < MAX_WRITES_IN_FLIGHT) void this.#sendNext()
    })
  }

  async #sendNext(): Promise<void> {
    this.#inFlight++
    const batch = this.#takeBatch()
    try {
      const answer = await this.#send(batch[0]!.fence, joinWrites(batch))
      if (batch.length === 1) batch[0]!.resolve(answer)
      else resolveAll(answer, batch)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#inFlight--
    if (this.#waiting.length > 0) void this.#sendNext()
  }

  /** Takes the first waiting write and those after it that may share its script. */
  #takeBatch(): WaitingWrite[] {
    const [first] = this.#waiting
    let count = 0
    let operations = 0
    let bytes = 0
    for (const { fence, write } of this.#waiting) {
      operations += operationCount(write)
      bytes += payloadBytesOf(write)
      const isTooLarge = operations > MAX_JOINED_OPERATIONS || bytes > MAX_JOINED_BYTES
      const isDifferent =
        !isSameFence(fence, first!.fence) || write.ifInboxEmpty !== first!.write.ifInboxEmpty
      if (count > 0 && (isTooLarge || isDifferent)) break
      count++
    }
    return this.#waiting.splice(0, count)
  }
}

/** Resolves each write with its part of the answer. */
function resolveAll(answer: WriteAnswer, batch: readonly WaitingWrite[]): void {
  const { newFrom, readLevel } = answer
  const answers = newFrom === undefined ? answer.answers : []
  let from = 0
  for (const { write, resolve } of batch) {
    const count = operationCount(write)
    if (newFrom !== undefined) resolve(new NewTimers(write, newFrom + from, readLevel))
    else resolve({ answers: answers.slice(from, from + count), readLevel })
    from += count
  }
}

function joinWrites(batch: readonly WaitingWrite[]): OwnerWrite {
  const [{ write: first }] = batch as [WaitingWrite, ...WaitingWrite[]]
  if (batch.length === 1) return first
  return {
    ifInboxEmpty: first.ifInboxEmpty === true,
    operations: batch.flatMap(({ write }) => write.operations),
    history: batch.flatMap(({ write }) => write.history ?? []),
  }
}

/** How many operations a write has. */
export function operationCount(write: OwnerWrite): number {
  return write instanceof SetColumnsWrite ? write.length : write.operations.length
}

/** The sum of the payloads' bytes in a write. */
export function payloadBytesOf(write: OwnerWrite): number {
  if (write instanceof SetColumnsWrite) return write.payloadBytes
  let bytes = 0
  for (const operation of write.operations) if (operation.type === 'set') bytes += operation.payload.length
  return bytes
}

function isSameFence(a: Fence | undefined, b: Fence | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.epoch === b.epoch && a.nonce === b.nonce && comparePlaces(a.settledLevel, b.settledLevel) === 0
}
