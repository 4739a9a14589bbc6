import type { CallLimit } from '../async/index.js'
import type { Duration } from '../time/index.js'
import { parseDuration } from '../time/index.js'
import { checkKey, keyOfRow, keyOfSet, type SetTimer, type TimerView } from '../timer/index.js'
import { Batches } from './batches.js'
import { type ClientOptions, clientOptions } from './client-options.js'
import { HttpCalls } from './http-calls.js'
import { LeaseBatches } from './lease-batches.js'
import { maybeInstant, nameOf, newKey, segmentOf, setBodyOf, timerPath } from './input.js'
import { Operator } from './operator.js'
import type { Problem } from './problem-error.js'
import { ServerRecords } from './server-records.js'
import type {
  AckOptions,
  BatchAnswer,
  BatchRow,
  CancelAnswer,
  ChangeOptions,
  KindGiven,
  LeaseAnswer,
  LeaseAnswered,
  LeasedTimer,
  LeaseOptions,
  MoveAnswer,
  ReleaseOptions,
  SetInput,
  SetManyInput,
  Target,
  WhenGiven,
} from './wire.js'

/** Why a timer was not changed. */
type UnchangedAnswer = 'firing' | 'settled' | 'unknown'

/** Problems that are outcomes of a call, not errors. */
const outcomes: Readonly<Record<string, string>> = Object.freeze({
  'timer-firing': 'firing',
  'timer-settled': 'settled',
  'timer-unknown': 'unknown',
  'revision-conflict': 'conflict',
  'receipt-stale': 'stale',
  'target-unknown': 'unknown',
})

/**
 * The timers of a server, over HTTP. A refused call throws the same error as in the library. A call that fails for a
 * temporary reason is retried, and executed once. Proven by test/client/client.test.ts.
 */
export class Client extends ServerRecords {
  /** What operators need: counts, rates, groups of dead letters. */
  readonly operator: Operator
  readonly #calls: HttpCalls
  readonly #batches: Batches
  readonly #leaseBatches: LeaseBatches
  readonly #limitedBy: (limit: CallLimit) => Client

  constructor(url: string | URL, options: ClientOptions = {}, limited?: HttpCalls) {
    const calls = limited ?? new HttpCalls(clientOptions(url, options))
    super(calls)
    this.#calls = calls
    this.operator = new Operator(calls)
    this.#batches = new Batches(calls)
    this.#leaseBatches = new LeaseBatches(calls)
    this.#limitedBy = (limit) => new Client(url, options, calls.limitedBy(limit))
  }

  /** @internal The same client for one call: its requests end when `limit` is over. */
  limitedBy(limit: CallLimit): Client {
    return this.#limitedBy(limit)
  }

  // ---- timers

  /** Sets a timer. It replaces the timer with the same key. Without a key, it gets a new one. */
  set(kind: KindGiven, key: string, input: SetInput): Promise<SetTimer>
  set(kind: KindGiven, input: SetInput): Promise<SetTimer>
  async set(
    kind: KindGiven,
    keyOrInput: string | SetInput,
    input: SetInput = keyOrInput as SetInput,
  ): Promise<SetTimer> {
    // Generated here, so that it stays the same when the call is retried, perhaps at another instance.
    const key = keyOfSet(kind, keyOrInput, input) ?? newKey()
    const request = { method: 'PUT', path: timerPath(kind, key), body: setBodyOf(input) } as const
    return await this.#calls.sendOr<SetTimer>(request, conflictOf)
  }

  /** Sets many timers of one kind, in batches. Returns one result for each. */
  async setMany(kind: KindGiven, rows: readonly SetManyInput[]): Promise<readonly SetTimer[]> {
    const name = nameOf(kind)
    const batchRows = rows.map((row): BatchRow => {
      const key = keyOfRow(kind, row) ?? newKey()
      checkKey(key)
      return { ...setBodyOf(row), do: 'set', kind: name, key }
    })
    return await this.#batches.send(batchRows, setAnswerOf)
  }

  /** Moves timers of a kind by their keys. Returns one outcome for each. */
  async moveMany(kind: KindGiven, keys: readonly string[], when: WhenGiven): Promise<readonly MoveAnswer[]> {
    const name = nameOf(kind)
    const body = whenBody(when)
    return await this.#batches.send(
      keys.map((key): BatchRow => ({ ...body, do: 'move', kind: name, key })),
      ({ outcome }) => outcome as MoveAnswer,
    )
  }

  /** Cancels timers of a kind by their keys. Returns one outcome for each. */
  async cancelMany(kind: KindGiven, keys: readonly string[]): Promise<readonly CancelAnswer[]> {
    const name = nameOf(kind)
    return await this.#batches.send(
      keys.map((key): BatchRow => ({ do: 'cancel', kind: name, key })),
      ({ outcome }) => outcome as CancelAnswer,
    )
  }

  /** Moves timers by their handles. Returns one outcome for each. */
  async moveHandles(handles: readonly string[], when: WhenGiven): Promise<readonly MoveAnswer[]> {
    const body = whenBody(when)
    return await this.#batches.send(
      handles.map((handle): BatchRow => ({ ...body, do: 'move', handle })),
      ({ outcome }) => outcome as MoveAnswer,
    )
  }

  /** Cancels timers by their handles. Returns one outcome for each. */
  async cancelHandles(handles: readonly string[]): Promise<readonly CancelAnswer[]> {
    return await this.#batches.send(
      handles.map((handle): BatchRow => ({ do: 'cancel', handle })),
      ({ outcome }) => outcome as CancelAnswer,
    )
  }

  /** Reads a timer; undefined when there is none. By kind and key, or by handle. */
  async get<Payload = unknown>(
    kindOrHandle: KindGiven,
    key?: string,
  ): Promise<TimerView<Payload> | undefined> {
    const path = pathOf(kindOrHandle, key)
    return await this.#calls.sendOr<TimerView<Payload> | undefined>(
      { method: 'GET', path },
      (problem, error) => {
        if (problem?.code === 'timer-unknown') return undefined
        throw error
      },
    )
  }

  /** Changes the due time of a timer and keeps its payload. */
  async move(
    kind: KindGiven,
    key: string,
    when: WhenGiven,
    options: ChangeOptions = {},
  ): Promise<MoveAnswer> {
    return await this.#change(`${timerPath(kind, key)}/move`, whenBody(when), options)
  }

  /** The same by handle. It never changes a later timer with the same key. */
  async moveHandle(handle: string, when: WhenGiven): Promise<MoveAnswer> {
    return await this.#change(`${pathOf(handle)}/move`, whenBody(when))
  }

  /** Fires a timer now, whatever its due time. By kind and key, or by handle. */
  async fireNow(kindOrHandle: KindGiven, key?: string, options: ChangeOptions = {}): Promise<MoveAnswer> {
    return await this.#change(`${pathOf(kindOrHandle, key)}/fire`, undefined, options)
  }

  /** Cancels a timer. By kind and key, or by handle. */
  async cancel(kindOrHandle: KindGiven, key?: string, options: ChangeOptions = {}): Promise<CancelAnswer> {
    const request = { method: 'DELETE', path: pathOf(kindOrHandle, key), headers: ifMatch(options) } as const
    return (await this.#calls.sendOr(request, outcomeOf)).outcome as CancelAnswer
  }

  /** Pauses a timer, a kind, or the whole namespace. */
  async pause(
    kind?: KindGiven,
    key?: string,
    options: { readonly note?: string } = {},
  ): Promise<'paused' | UnchangedAnswer> {
    return await this.#putPause('pause', kind, key, options)
  }

  /** Ends a pause. */
  async resume(kind?: KindGiven, key?: string): Promise<'resumed' | UnchangedAnswer> {
    return await this.#putPause('resume', kind, key)
  }

  // ---- targets

  /** Sets the target of a kind, in the same forms as in the library. Needs an API key with the scope admin. */
  async setTarget(kind: KindGiven, target: object): Promise<Target> {
    return await this.#calls.send({ method: 'PUT', path: targetPath(kind), body: target })
  }

  async getTarget(kind: KindGiven): Promise<Target | undefined> {
    return await this.#calls.sendOr<Target | undefined>(
      { method: 'GET', path: targetPath(kind) },
      (problem, error) => {
        if (problem?.code === 'target-unknown') return undefined
        throw error
      },
    )
  }

  async listTargets(): Promise<readonly Target[]> {
    return (await this.#calls.send<{ targets: readonly Target[] }>({ method: 'GET', path: '/v1/targets' }))
      .targets
  }

  async removeTarget(kind: KindGiven): Promise<'removed' | 'unknown'> {
    const request = { method: 'DELETE', path: targetPath(kind) } as const
    return (await this.#calls.sendOr(request, outcomeOf)).outcome as 'removed' | 'unknown'
  }

  // ---- workers

  /** Leases due firings of kinds with the target `lease`. With `wait`, it waits for the first one. */
  async lease<Payload = unknown>(
    kinds: KindGiven | readonly KindGiven[],
    { max, wait = 0, duration, signal }: LeaseOptions = {},
  ): Promise<readonly LeasedTimer<Payload>[]> {
    const given = Array.isArray(kinds) ? (kinds as readonly KindGiven[]) : [kinds as KindGiven]
    const waitMs = parseDuration(wait)
    const { firings } = await this.#calls.send<{ firings: readonly LeasedTimer<Payload>[] }>({
      method: 'POST',
      path: '/v1/leases',
      body: { kinds: given.map(nameOf), max, waitMs, duration },
      signal,
      waitMs,
    })
    return firings
  }

  /** Ends a leased firing as done; with `again`, it fires once more, and with `end` its timer ends. 'stale' if the lease had ended. */
  async ack(receipt: string, { again, end }: AckOptions = {}): Promise<'acked' | 'stale'> {
    const body = {
      ...(again !== undefined && { again: 'at' in again ? { at: Number(again.at) } : again }),
      ...(end !== undefined && { end }),
    }
    return await this.#answerLease(receipt, 'ack', body)
  }

  /** Makes the lease end `duration` from now. */
  async extend(receipt: string, duration: Duration): Promise<'extended' | 'stale'> {
    return await this.#answerLease(receipt, 'extend', { duration })
  }

  /** Reports that the attempt failed. The timer is retried, or becomes a dead letter. */
  async release(receipt: string, options: ReleaseOptions = {}): Promise<'released' | 'stale'> {
    return await this.#answerLease(receipt, 'release', options)
  }

  /** Answers for many leases, up to 1,000 in a request. Returns one result for each, in order. */
  async answerLeases(answers: readonly LeaseAnswer[]): Promise<readonly LeaseAnswered[]> {
    return await this.#leaseBatches.send(answers)
  }

  // ---- helpers

  async #answerLease<Outcome extends string>(
    receipt: string,
    verb: string,
    body: object,
  ): Promise<Outcome | 'stale'> {
    const path = `/v1/leases/${segmentOf(receipt)}/${verb}`
    return (await this.#calls.sendOr({ method: 'POST', path, body }, outcomeOf)).outcome as Outcome | 'stale'
  }

  async #change<Outcome extends string>(
    path: string,
    body: object | undefined,
    options: ChangeOptions = {},
  ): Promise<Outcome> {
    const request = { method: 'POST', path, body, headers: ifMatch(options) } as const
    return (await this.#calls.sendOr(request, outcomeOf)).outcome as Outcome
  }

  async #putPause<Outcome extends string>(
    verb: 'pause' | 'resume',
    kind: KindGiven | undefined,
    key: string | undefined,
    { note }: { readonly note?: string } = {},
  ): Promise<Outcome> {
    const body = note === undefined ? undefined : { note }
    if (kind !== undefined && key !== undefined)
      return await this.#change(`${timerPath(kind, key)}/${verb}`, body)
    return await this.#change(`/v1/${verb}`, { ...body, ...(kind !== undefined && { kind: nameOf(kind) }) })
  }
}

/** The path of a timer, by kind and key or by handle. */
function pathOf(kindOrHandle: KindGiven, key?: string): string {
  if (key !== undefined || typeof kindOrHandle !== 'string') return timerPath(kindOrHandle, key!)
  return `/v1/handles/${segmentOf(kindOrHandle)}`
}

function targetPath(kind: KindGiven): string {
  return `/v1/targets/${segmentOf(nameOf(kind))}`
}

function ifMatch({ ifRevision }: ChangeOptions): Readonly<Record<string, string>> {
  return ifRevision === undefined ? {} : { 'if-match': `"${ifRevision}"` }
}

function whenBody(when: WhenGiven): { readonly in?: Duration; readonly at?: number | string } {
  const at = maybeInstant(when.at)
  return { ...(when.in !== undefined && { in: when.in }), ...(at !== undefined && { at }) }
}

/** Some problems are outcomes, such as 'firing'. Others are thrown. */
function outcomeOf(problem: Problem | undefined, error: Error): { readonly outcome: string } {
  const outcome = problem && outcomes[problem.code]
  if (outcome === undefined) throw error
  return { outcome }
}

function conflictOf(problem: Problem | undefined, error: Error): SetTimer {
  if (problem?.code !== 'revision-conflict' || problem.current === undefined) throw error
  return { ...(problem.current as Omit<SetTimer, 'outcome'>), outcome: 'conflict' }
}

function setAnswerOf({ outcome, handle, dueAt, revision }: BatchAnswer, key: string): SetTimer {
  return {
    outcome: outcome as SetTimer['outcome'],
    key,
    handle: handle!,
    dueAt: dueAt!,
    revision,
  }
}
