import type { Duration } from '../time/index.js'
import { parseDuration } from '../time/index.js'
import { checkKey, type SetTimer, type TimerView } from '../timer/index.js'
import { Batches } from './batches.js'
import { type ClientOptions, clientOptions } from './client-options.js'
import { HttpCalls } from './http-calls.js'
import { maybeInstant, nameOf, newKey, segmentOf, setBodyOf, timerPath } from './input.js'
import type { Problem } from './problem-error.js'
import { ServerRecords } from './server-records.js'
import type {
  AckOptions,
  BatchAnswer,
  BatchRow,
  CancelAnswer,
  ChangeOptions,
  KindGiven,
  LeasedTimer,
  LeaseOptions,
  MoveAnswer,
  ReleaseOptions,
  SetInput,
  SetManyInput,
  Target,
  WhenGiven,
} from './wire.js'

type StandingAnswer = 'firing' | 'settled' | 'unknown'

const outcomes: Readonly<Record<string, string>> = Object.freeze({
  'timer-firing': 'firing',
  'timer-settled': 'settled',
  'timer-unknown': 'unknown',
  'revision-conflict': 'conflict',
  'receipt-stale': 'stale',
  'target-unknown': 'unknown',
})

/**
 * The timers of a server, over HTTP. What it refuses fails with the error that the library itself has for it; what
 * fails by no fault of its own is sent again, and done once.
 */
export class Client extends ServerRecords {
  readonly #calls: HttpCalls
  readonly #batches: Batches

  constructor(url: string | URL, options: ClientOptions = {}) {
    const calls = new HttpCalls(clientOptions(url, options))
    super(calls)
    this.#calls = calls
    this.#batches = new Batches(calls)
  }

  // ---- timers

  /** Sets a timer; one of the same key is replaced. Without a key one is made up. */
  async set(kind: KindGiven, key: string | undefined, input: SetInput): Promise<SetTimer> {
    // Made up here: so it is the same however often the call is sent, and whichever instance gets it.
    const path = timerPath(kind, key ?? newKey())
    return await this.#calls.sendOr<SetTimer>({ method: 'PUT', path, body: setBodyOf(input) }, conflictOf)
  }

  /** Sets many timers of one kind, in batches; one answer each. */
  async setMany(kind: KindGiven, rows: readonly SetManyInput[]): Promise<readonly SetTimer[]> {
    const name = nameOf(kind)
    const asked = rows.map((row): BatchRow => {
      const { key = newKey() } = row
      checkKey(key)
      return { ...setBodyOf(row), do: 'set', kind: name, key }
    })
    return await this.#batches.send(asked, setAnswerOf)
  }

  /** Moves timers of a kind by their keys; one outcome each. */
  async moveMany(kind: KindGiven, keys: readonly string[], when: WhenGiven): Promise<readonly MoveAnswer[]> {
    const name = nameOf(kind)
    const body = whenBody(when)
    return await this.#batches.send(
      keys.map((key): BatchRow => ({ ...body, do: 'move', kind: name, key })),
      ({ outcome }) => outcome as MoveAnswer,
    )
  }

  /** Cancels timers of a kind by their keys; one outcome each. */
  async cancelMany(kind: KindGiven, keys: readonly string[]): Promise<readonly CancelAnswer[]> {
    const name = nameOf(kind)
    return await this.#batches.send(
      keys.map((key): BatchRow => ({ do: 'cancel', kind: name, key })),
      ({ outcome }) => outcome as CancelAnswer,
    )
  }

  /** A timer as it stands; undefined when there is none. By kind and key, or by handle. */
  async get<Payload = unknown>(of: KindGiven, key?: string): Promise<TimerView<Payload> | undefined> {
    const path = placeOf(of, key)
    return await this.#calls.sendOr<TimerView<Payload> | undefined>(
      { method: 'GET', path },
      (problem, error) => {
        if (problem?.code === 'timer-unknown') return undefined
        throw error
      },
    )
  }

  /** Gives a timer another due time; its payload stays. */
  async move(
    kind: KindGiven,
    key: string,
    when: WhenGiven,
    options: ChangeOptions = {},
  ): Promise<MoveAnswer> {
    return await this.#change(`${timerPath(kind, key)}/move`, whenBody(when), options)
  }

  /** The same by handle: never a later timer of the same key. */
  async moveHandle(handle: string, when: WhenGiven): Promise<MoveAnswer> {
    return await this.#change(`${placeOf(handle)}/move`, whenBody(when))
  }

  /** Fires a timer now, whenever it was due. By kind and key, or by handle. */
  async fireNow(of: KindGiven, key?: string, options: ChangeOptions = {}): Promise<MoveAnswer> {
    return await this.#change(`${placeOf(of, key)}/fire`, undefined, options)
  }

  /** Takes a timer away. By kind and key, or by handle. */
  async cancel(of: KindGiven, key?: string, options: ChangeOptions = {}): Promise<CancelAnswer> {
    const request = { method: 'DELETE', path: placeOf(of, key), headers: ifMatch(options) } as const
    return (await this.#calls.sendOr(request, outcomeOf)).outcome as CancelAnswer
  }

  /** Pauses a timer, a kind, or everything in the namespace. */
  async pause(kind?: KindGiven, key?: string): Promise<'paused' | StandingAnswer> {
    return await this.#steer('pause', kind, key)
  }

  /** Ends a pause. */
  async resume(kind?: KindGiven, key?: string): Promise<'resumed' | StandingAnswer> {
    return await this.#steer('resume', kind, key)
  }

  // ---- targets

  /** Says where the timers of a kind go; the forms are those of the library. Needs a key of the scope admin. */
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

  /** Due firings of kinds that have the target `lease`; waits for the first if it is told to. */
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

  /** The leased firing is done, or fires once more: 'acked', or 'stale' when the lease had ended. */
  async ack(receipt: string, { again }: AckOptions = {}): Promise<'acked' | 'stale'> {
    const body = again === undefined ? {} : { again: 'at' in again ? { at: Number(again.at) } : again }
    return await this.#answer(receipt, 'ack', body)
  }

  /** The lease ends that long from now. */
  async extend(receipt: string, duration: Duration): Promise<'extended' | 'stale'> {
    return await this.#answer(receipt, 'extend', { duration })
  }

  /** The attempt has failed: it is tried again, or given up. */
  async release(receipt: string, options: ReleaseOptions = {}): Promise<'released' | 'stale'> {
    return await this.#answer(receipt, 'release', options)
  }

  // ---- within

  async #answer<Word extends string>(receipt: string, verb: string, body: object): Promise<Word | 'stale'> {
    const path = `/v1/leases/${segmentOf(receipt)}/${verb}`
    return (await this.#calls.sendOr({ method: 'POST', path, body }, outcomeOf)).outcome as Word | 'stale'
  }

  async #change<Word extends string>(
    path: string,
    body: object | undefined,
    options: ChangeOptions = {},
  ): Promise<Word> {
    const request = { method: 'POST', path, body, headers: ifMatch(options) } as const
    return (await this.#calls.sendOr(request, outcomeOf)).outcome as Word
  }

  async #steer<Word extends string>(
    verb: 'pause' | 'resume',
    kind: KindGiven | undefined,
    key: string | undefined,
  ): Promise<Word> {
    if (kind !== undefined && key !== undefined)
      return await this.#change(`${timerPath(kind, key)}/${verb}`, undefined)
    return await this.#change(`/v1/${verb}`, kind === undefined ? {} : { kind: nameOf(kind) })
  }
}

/** Where a timer is, by kind and key or by handle. */
function placeOf(of: KindGiven, key?: string): string {
  if (key !== undefined || typeof of !== 'string') return timerPath(of, key!)
  return `/v1/handles/${segmentOf(of)}`
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

/** Problems that say how the timer stands are answers. */
function outcomeOf(problem: Problem | undefined, error: Error): { readonly outcome: string } {
  const outcome = problem && outcomes[problem.code]
  if (outcome === undefined) throw error
  return { outcome }
}

function conflictOf(problem: Problem | undefined, error: Error): SetTimer {
  if (problem?.code !== 'revision-conflict' || problem.current === undefined) throw error
  return { ...(problem.current as Omit<SetTimer, 'outcome'>), outcome: 'conflict' }
}

function setAnswerOf({ outcome, handle, dueAt, revision }: BatchAnswer, { key }: BatchRow): SetTimer {
  return {
    outcome: outcome === 'conflict' ? 'conflict' : 'set',
    key,
    handle: handle!,
    dueAt: dueAt!,
    revision,
  }
}
