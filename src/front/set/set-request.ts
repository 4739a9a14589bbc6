import { checkOptions, InvalidInputError, shown } from '../../error/index.js'
import { type Duration, parseDuration } from '../../time/index.js'
import type { Schedule } from '../../schedule/index.js'
import { checkRequested, type RequestedOperation } from '../../store/index.js'
import {
  epochMsOf,
  type Instant,
  checkTraceparent,
  encodeDetails,
  identityText,
  newIdentity,
  type NotAfter,
  parseRetry,
  type PayloadEncoder,
  type RetryOptions,
} from '../../timer/index.js'
import { noteOf } from '../read/history-policy.js'
import type { UnknownKind } from '../kind/kind.js'
import type { CallContext } from './plain-request.js'
import { identityFrom } from './repeated-sets.js'
import type { FiringWindow, Spread } from './spread.js'
import { dueAtOf, type When } from '../when.js'

/** The options of a set. `Input` is what the kind takes as a payload. */
export type SetOptions<Input> = When & {
  /** Only if no timer has this key. */
  readonly ifAbsent?: boolean
  /** Only if the timer of this key has this revision. */
  readonly ifRevision?: number
  /** Overrides the retry policy of the kind for this timer. */
  readonly retry?: RetryOptions
  /**
   * No attempt starts later than this: an instant, or a time after the due time. A timer that cannot start by then
   * becomes a dead letter with a reason that begins with 'missed'.
   */
  readonly notAfter?: LatestStart
  readonly tags?: readonly string[]
  /**
   * The same set with the same idempotency key is one timer, also from another process and after a restart. It is not set
   * again while its timer is there, or has fired and is still remembered. Up to 512 characters.
   */
  readonly idempotencyKey?: string
  /** The trace of its deliveries, in the format of W3C Trace Context. */
  readonly traceparent?: string
} & ([undefined] extends [Input] ? { readonly payload?: Input } : { readonly payload: Input })

/** `within` counts from the due time of each occurrence. `at` is for timers that fire once. */
export type LatestStart =
  { readonly within: Duration; readonly at?: never } | { readonly at: Instant; readonly within?: never }

/**
 * The options of a set with its key. A row that leaves the key out gets a new one. A key that may be undefined is no
 * such row: it does not compile, and it is refused at run time.
 */
export type SetManyRow<Input> = SetOptions<Input> & ({ readonly key: string } | { readonly key?: never })

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
  'notAfter',
  'tags',
  'idempotencyKey',
  'traceparent',
]
const knownNames = new Set(setOptionNames)

const noTags: readonly string[] = Object.freeze([])

/** As `checkOptions`, for a hot path: it allocates nothing unless it refuses. */
function checkNames(kind: string, options: object): void {
  if (typeof options === 'object' && options !== null) {
    let isKnown = true
    for (const name in options) if (!knownNames.has(name)) isKnown = false
    if (isKnown) return
  }
  checkOptions(`a set of ${kind}`, options, setOptionNames)
}

/** What the sets of a call have in common, if they are not plain. */
export interface SetContext extends CallContext {
  readonly payloads: PayloadEncoder
  /** Chooses an offset in a schedule's firing window. */
  readonly spread: Spread
  /** The parent of the call's trace. */
  readonly parent: string | undefined
}

/** The firing windows in which timers need an offset; usually none. It refuses no row: `setRequestOf` does. */
export function windowsOf(rows: readonly When[], now: number): readonly FiringWindow[] {
  const windows: FiringWindow[] = []
  for (const { on } of rows) {
    const windowMs = on?.windowMs
    // `on` may be no schedule at all: `setRequestOf` refuses it.
    if (windowMs === undefined || windowMs === 0) continue
    const instant = on?.next(now)
    if (instant !== undefined) windows.push({ instant, windowMs })
  }
  return windows
}

/** The latest start of a timer, checked. */
export function notAfterOf({ notAfter, on }: When & { readonly notAfter?: LatestStart }): NotAfter {
  if (typeof notAfter !== 'object' || notAfter === null)
    throw new InvalidInputError(
      'invalid-option',
      `notAfter must be { within } or { at }, got ${shown(notAfter)}`,
    )
  checkOptions('notAfter', notAfter, ['within', 'at'])
  if ((notAfter.within === undefined) === (notAfter.at === undefined))
    throw new InvalidInputError('invalid-option', 'notAfter needs exactly one of within and at')
  if (notAfter.within !== undefined) return { withinMs: Math.ceil(parseDuration(notAfter.within)) }
  if (on !== undefined)
    throw new InvalidInputError(
      'invalid-option',
      'notAfter of a timer on a schedule must be { within }: it holds for each occurrence',
    )
  return { at: epochMsOf(notAfter.at) }
}

/** The operation for a set. It refuses what no store accepts while the caller still waits for the result. */
export function setRequestOf(
  kind: UnknownKind,
  key: string | undefined,
  options: SetOptions<unknown>,
  context: SetContext,
): SetRequest {
  checkNames(kind.name, options)
  const { ifAbsent, ifRevision, retry, tags = noTags, idempotencyKey } = options
  const identity =
    idempotencyKey === undefined
      ? newIdentity(context.random)
      : identityFrom(idempotencyKey, {
          namespace: context.namespace,
          kind: kind.name,
          ...(key !== undefined && { key }),
        })
  if (retry !== undefined) parseRetry(retry)
  if (options.traceparent !== undefined) checkTraceparent(options.traceparent)
  // A timer whose trace is not the parent of the call keeps its own trace.
  const hasOwnTrace = options.traceparent !== undefined && options.traceparent !== context.parent
  const trace = hasOwnTrace ? options.traceparent : (context.trace ?? options.traceparent)
  const on: Schedule | undefined = options.on
  const instant = dueAtOf(options, context.now, on === undefined ? '' : String(identity))
  const notAfter = options.notAfter === undefined ? undefined : notAfterOf(options)
  const windowMs = on?.windowMs ?? 0
  const offsetMs = windowMs > 0 ? context.spread.offsetIn({ instant, windowMs }, identity) : 0
  const dueAt = instant + offsetMs
  const operation: SetRequest = {
    type: 'set',
    namespace: context.namespace,
    kind: kind.name,
    key: key ?? identityText(identity),
    identity,
    createdAt: context.now,
    dueAt,
    position: dueAt,
    attempt: 0,
    occurrence: 0,
    payload: context.payloads.encode(options.payload),
    tags,
    details:
      on === undefined && retry === undefined && trace === undefined && notAfter === undefined
        ? ''
        : encodeDetails({
            on,
            ...(retry && { retry }),
            ...(notAfter && { notAfter }),
            ...(offsetMs > 0 && { offsetMs }),
            ...(trace !== undefined && { trace }),
          }),
  }
  checkRequested(operation, context.maxPayloadBytes)
  const isPlain = ifAbsent !== true && ifRevision === undefined && context.history !== 'all'
  if (isPlain) return operation
  return {
    ...operation,
    ...(ifAbsent === true && { ifAbsent }),
    ...(ifRevision !== undefined && { ifRevision }),
    ...(context.history === 'all' && { note: noteOf(context.now, 'created', { dueAt }) }),
  }
}
