import { checkOptions } from '../error/index.js'
import type { Schedule } from '../schedule/index.js'
import { checkRequested, type RequestedOperation } from '../store/index.js'
import {
  checkTraceparent,
  encodeDetails,
  identityText,
  newIdentity,
  parseRetry,
  type PayloadEncoder,
  type RetryOptions,
} from '../timer/index.js'
import { noteOf } from './history-policy.js'
import type { TimerKind } from './kind.js'
import type { PlainPlace } from './plain-request.js'
import type { FiringWindow, Spread } from './spread.js'
import { dueAtOf, type When } from './when.js'

/** What a timer is set to. */
export type SetOptions<Payload> = When & {
  /** Only if no timer has this key. */
  readonly ifAbsent?: boolean
  /** Only if the timer of this key stands at this revision. */
  readonly ifRevision?: number
  /** What overrides the kind's policy, for this timer. */
  readonly retry?: RetryOptions
  readonly tags?: readonly string[]
  /** The trace that its deliveries belong to, as W3C Trace Context writes it. */
  readonly traceparent?: string
} & ([undefined] extends [Payload] ? { readonly payload?: Payload } : { readonly payload: Payload })

export type SetManyRow<Payload> = SetOptions<Payload> & { readonly key?: string }

export type SetRequest = Extract<RequestedOperation, { readonly type: 'set' }>

export const setOptionNames: readonly string[] = [
  'key',
  'in',
  'at',
  'on',
  'payload',
  'ifAbsent',
  'ifRevision',
  'retry',
  'tags',
  'traceparent',
]
const knownNames = new Set(setOptionNames)

const noTags: readonly string[] = Object.freeze([])

/** As `checkOptions`, for what is called a million times a second: it builds nothing unless it refuses. */
function checkNames(kind: string, options: object): void {
  if (typeof options === 'object' && options !== null) {
    let isKnown = true
    for (const name in options) if (!knownNames.has(name)) isKnown = false
    if (isKnown) return
  }
  checkOptions(`a set of ${kind}`, options, setOptionNames)
}

/** Everything a `set` needs to know of where it is called. */
export interface SetPlace extends PlainPlace {
  readonly payloads: PayloadEncoder
  /** Chooses a place in a schedule's window. */
  readonly spread: Spread
  /** The trace that the call goes on from. */
  readonly parent: string | undefined
}

/** The windows that timers are to be placed in; none for most. Refuses no row: that is left to `setRequestOf`. */
export function windowsOf(rows: readonly When[], now: number): readonly FiringWindow[] {
  const windows: FiringWindow[] = []
  for (const { on } of rows) {
    const windowMs = on?.windowMs
    // What is no schedule at all is refused later.
    if (windowMs === undefined || windowMs === 0) continue
    const instant = on?.next(now)
    if (instant !== undefined) windows.push({ instant, windowMs })
  }
  return windows
}

/** The operation that a `set` stands for. Refuses what no store should keep, while the caller is at hand. */
export function setRequestOf<Payload>(
  kind: TimerKind<Payload>,
  key: string | undefined,
  options: SetOptions<Payload>,
  place: SetPlace,
): SetRequest {
  checkNames(kind.name, options)
  const identity = newIdentity(place.random)
  const { ifAbsent, ifRevision, retry, tags = noTags } = options
  if (retry !== undefined) parseRetry(retry)
  if (options.traceparent !== undefined) checkTraceparent(options.traceparent)
  // One of another trace than the call goes on from stays in its own.
  const isOfAnother = options.traceparent !== undefined && options.traceparent !== place.parent
  const trace = isOfAnother ? options.traceparent : (place.trace ?? options.traceparent)
  const on: Schedule | undefined = options.on
  const instant = dueAtOf(options, place.now, on === undefined ? '' : String(identity))
  const windowMs = on?.windowMs ?? 0
  const offsetMs = windowMs > 0 ? place.spread.place({ instant, windowMs }, identity) : 0
  const dueAt = instant + offsetMs
  const operation: SetRequest = {
    type: 'set',
    namespace: place.namespace,
    kind: kind.name,
    key: key ?? identityText(identity),
    identity,
    createdAt: place.now,
    dueAt,
    position: dueAt,
    attempt: 0,
    occurrence: 0,
    payload: place.payloads.encode(options.payload),
    tags,
    details:
      on === undefined && retry === undefined && trace === undefined
        ? ''
        : encodeDetails({
            on,
            ...(retry && { retry }),
            ...(offsetMs > 0 && { offsetMs }),
            ...(trace !== undefined && { trace }),
          }),
  }
  checkRequested(operation, place.maxPayloadBytes)
  const isPlain = ifAbsent !== true && ifRevision === undefined && place.history !== 'all'
  if (isPlain) return operation
  return {
    ...operation,
    ...(ifAbsent === true && { ifAbsent }),
    ...(ifRevision !== undefined && { ifRevision }),
    ...(place.history === 'all' && { note: noteOf(place.now, 'created', { dueAt }) }),
  }
}
