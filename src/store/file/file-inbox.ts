import type { OperationAnswer, Request, RequestedOperation } from '../store.js'
import type { Batch } from './batch.js'
import type { Environment } from './environment.js'

type Outcome = OperationAnswer['outcome']

interface Kept {
  readonly request: Request
  readonly key: Buffer
}

interface Answered {
  readonly outcome: Outcome
  readonly deadline: number
  readonly key: Buffer
}

/**
 * A shard's requests in the order of arrival, and what became of them, each remembered until its deadline: in
 * memory for asking, in the file for ever after. Answering replaces a request's record by its answer.
 */
export class FileInbox {
  readonly #shard: number
  readonly #requests = new Map<string, Kept>()
  readonly #answers = new Map<string, Answered>()
  #last = 0

  constructor(shard: number) {
    this.#shard = shard
  }

  /** Takes in a record as it was found in the file. */
  restore(key: Buffer, value: Buffer): void {
    const record = JSON.parse(value.toString()) as Record
    this.#last = Math.max(this.#last, key.readUIntBE(2, 6))
    if ('outcome' in record) this.#answers.set(record.id, { ...record, key })
    else this.#requests.set(record.id, { request: requestOf(record, this.#shard), key })
  }

  append(batch: Batch, request: Request, now: number): 'appended' | 'answered-before' | 'expired' {
    this.#forget(batch, now)
    if (this.#answers.has(request.id)) return 'answered-before'
    if (this.#requests.has(request.id)) return 'appended'
    if (request.deadline <= now) return 'expired'
    const key = Buffer.alloc(8)
    key.writeUInt16BE(this.#shard, 0)
    key.writeUIntBE(++this.#last, 2, 6)
    const record = recordOf(request)
    // What is kept is what was stored: the caller's objects are the caller's to change.
    this.#requests.set(request.id, { request: requestOf(record, this.#shard), key })
    batch.put('inbox', key, Buffer.from(JSON.stringify(record)))
    batch.onUndo(() => this.#requests.delete(request.id))
    return 'appended'
  }

  get(id: string): Request | undefined {
    return this.#requests.get(id)?.request
  }

  get isEmpty(): boolean {
    return this.#requests.size === 0
  }

  oldest(limit: number): Request[] {
    const oldest: Request[] = []
    for (const { request } of this.#requests.values()) {
      if (oldest.length >= limit) break
      oldest.push(request)
    }
    return oldest
  }

  answer(batch: Batch, { id, deadline }: Request, outcome: Outcome): void {
    const kept = this.#requests.get(id)!
    // To go back means to stand in the old order again.
    if (batch.touch(this.#requests)) {
      const before = [...this.#requests]
      batch.onUndo(() => {
        this.#requests.clear()
        for (const [key, value] of before) this.#requests.set(key, value)
      })
    }
    this.#requests.delete(id)
    this.#answers.set(id, { outcome, deadline, key: kept.key })
    batch.put('inbox', kept.key, Buffer.from(JSON.stringify({ id, outcome, deadline })))
    batch.onUndo(() => this.#answers.delete(id))
  }

  outcome(id: string, now: number): Outcome | undefined {
    const answer = this.#answers.get(id)
    return answer === undefined || answer.deadline <= now ? undefined : answer.outcome
  }

  #forget(batch: Batch, now: number): void {
    for (const [id, answer] of this.#answers) {
      if (answer.deadline > now) break
      this.#answers.delete(id)
      batch.remove('inbox', answer.key)
      batch.onUndo(() => this.#answers.set(id, answer))
    }
  }
}

type Record = RequestRecord | { readonly id: string; readonly outcome: Outcome; readonly deadline: number }

interface RequestRecord {
  readonly id: string
  readonly deadline: number
  readonly operation: object
  readonly payload?: string
}

function recordOf({ id, deadline, operation }: Request): RequestRecord {
  if (operation.type !== 'set') return { id, deadline, operation }
  const { payload, ...rest } = operation
  return { id, deadline, operation: rest, payload: Buffer.from(payload).toString('base64') }
}

function requestOf({ id, deadline, operation, payload }: RequestRecord, shard: number): Request {
  const whole = (
    payload === undefined
      ? { ...operation }
      : { ...operation, payload: new Uint8Array(Buffer.from(payload, 'base64')) }
  ) as RequestedOperation
  return { id, shard, deadline, operation: whole }
}

/** Fills the inboxes from the file. */
export function restoreInboxes(environment: Environment, inboxes: readonly FileInbox[]): void {
  for (const { key, value } of environment.tables.inbox.getRange()) {
    inboxes[key.readUInt16BE(0)]?.restore(Buffer.from(key), Buffer.from(value))
  }
}
