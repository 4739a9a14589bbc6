import type { TimerName } from '../../timer/index.js'
import { RequestNames } from '../request-names.js'
import type { AppendAnswer, OperationAnswer, InboxRequest, RequestedOperation } from '../store.js'
import type { Batch } from './lmdb/batch.js'
import type { Environment } from './lmdb/environment.js'

type Outcome = OperationAnswer['outcome']

// The id of the record that keeps `#forgottenUntil`. No request has it.
const NO_REQUEST_ID = ''

interface StoredRequest {
  readonly request: InboxRequest
  readonly key: Buffer
}

interface StoredAnswer {
  readonly outcome: Outcome
  readonly deadline: number
  readonly key: Buffer
}

/**
 * The requests of one shard in order of arrival, and their answers until their deadlines. All of them are in memory
 * and in the file. Answering replaces a request's record by its answer.
 *
 * A forgotten request must not come in again, even if the clock goes back. So the inbox keeps the latest deadline of
 * all forgotten requests, and answers `expired` to a request whose deadline is not later.
 *
 * Proven by src/testing/store-contract/cases/cluster/inbox.ts, which test/store/file/contract.test.ts runs.
 */
export class FileInbox {
  readonly #shard: number
  readonly #requests = new Map<string, StoredRequest>()
  readonly #answers = new Map<string, StoredAnswer>()
  readonly #names = new RequestNames()
  #lastNumber = 0
  #forgottenUntil = -Infinity

  constructor(shard: number) {
    this.#shard = shard
  }

  /** Reads a record of the file. */
  restore(key: Buffer, value: Buffer): void {
    const record = JSON.parse(value.toString()) as InboxRecord
    this.#lastNumber = Math.max(this.#lastNumber, key.readUIntBE(2, 6))
    if (record.id === NO_REQUEST_ID) this.#forgottenUntil = record.deadline
    else if ('outcome' in record) this.#answers.set(record.id, { ...record, key })
    else this.#add({ request: requestOf(record, this.#shard), key })
  }

  append(batch: Batch, request: InboxRequest, now: number): AppendAnswer {
    this.#forgetExpired(batch, now)
    if (this.#answers.has(request.id)) return 'answered-before'
    if (this.#requests.has(request.id)) return 'appended'
    if (request.deadline <= Math.max(now, this.#forgottenUntil)) return 'expired'
    const key = this.#key(++this.#lastNumber)
    const record = recordOf(request)
    // Keep what was stored, not the caller's objects, which the caller may change.
    const stored = { request: requestOf(record, this.#shard), key }
    this.#add(stored)
    batch.put('inbox', key, Buffer.from(JSON.stringify(record)))
    batch.onUndo(() => {
      this.#requests.delete(request.id)
      this.#names.remove(stored.request)
    })
    return 'appended'
  }

  get(id: string): InboxRequest | undefined {
    return this.#requests.get(id)?.request
  }

  get isEmpty(): boolean {
    return this.#requests.size === 0
  }

  /** How many sets for a name wait. */
  countOf(name: TimerName): number {
    return this.#names.countOf(name)
  }

  oldest(limit: number): InboxRequest[] {
    const oldest: InboxRequest[] = []
    for (const { request } of this.#requests.values()) {
      if (oldest.length >= limit) break
      oldest.push(request)
    }
    return oldest
  }

  answer(batch: Batch, { id, deadline }: InboxRequest, outcome: Outcome): void {
    const stored = this.#requests.get(id)!
    // An undo must also restore the order of the requests.
    if (batch.touch(this.#requests)) {
      const before = [...this.#requests]
      batch.onUndo(() => {
        this.#requests.clear()
        for (const [key, value] of before) this.#requests.set(key, value)
      })
    }
    this.#requests.delete(id)
    this.#names.remove(stored.request)
    batch.onUndo(() => this.#names.add(stored.request))
    this.#answers.set(id, { outcome, deadline, key: stored.key })
    batch.put('inbox', stored.key, Buffer.from(JSON.stringify({ id, outcome, deadline })))
    batch.onUndo(() => this.#answers.delete(id))
  }

  outcome(id: string, now: number): Outcome | undefined {
    const answer = this.#answers.get(id)
    return answer === undefined || answer.deadline <= now ? undefined : answer.outcome
  }

  #add(stored: StoredRequest): void {
    this.#requests.set(stored.request.id, stored)
    this.#names.add(stored.request)
  }

  #key(number: number): Buffer {
    const key = Buffer.alloc(8)
    key.writeUInt16BE(this.#shard, 0)
    key.writeUIntBE(number, 2, 6)
    return key
  }

  #forgetExpired(batch: Batch, now: number): void {
    const before = this.#forgottenUntil
    for (const [id, answer] of this.#answers) {
      if (answer.deadline > now) break
      this.#answers.delete(id)
      this.#forgottenUntil = Math.max(this.#forgottenUntil, answer.deadline)
      batch.remove('inbox', answer.key)
      batch.onUndo(() => this.#answers.set(id, answer))
    }
    if (this.#forgottenUntil === before) return
    const record = {
      id: NO_REQUEST_ID,
      outcome: 'expired',
      deadline: this.#forgottenUntil,
    } satisfies InboxRecord
    batch.put('inbox', this.#key(0), Buffer.from(JSON.stringify(record)))
    batch.onUndo(() => {
      this.#forgottenUntil = before
    })
  }
}

type InboxRecord =
  RequestRecord | { readonly id: string; readonly outcome: Outcome; readonly deadline: number }

interface RequestRecord {
  readonly id: string
  readonly deadline: number
  readonly operation: object
  readonly payload?: string
}

function recordOf({ id, deadline, operation }: InboxRequest): RequestRecord {
  if (operation.type !== 'set') return { id, deadline, operation }
  const { payload, ...rest } = operation
  return { id, deadline, operation: rest, payload: Buffer.from(payload).toString('base64') }
}

function requestOf({ id, deadline, operation, payload }: RequestRecord, shard: number): InboxRequest {
  const complete = (
    payload === undefined
      ? { ...operation }
      : { ...operation, payload: new Uint8Array(Buffer.from(payload, 'base64')) }
  ) as RequestedOperation
  return { id, shard, deadline, operation: complete }
}

/** Reads the inboxes from the file. */
export function restoreInboxes(environment: Environment, inboxes: readonly FileInbox[]): void {
  for (const { key, value } of environment.tables.inbox.getRange()) {
    inboxes[key.readUInt16BE(0)]?.restore(Buffer.from(key), Buffer.from(value))
  }
}
