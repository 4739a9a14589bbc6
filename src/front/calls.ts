import { type CallLimit, Deadlines } from '../async/index.js'
import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { type Clock, type Duration, parseDuration } from '../time/index.js'
import { MAX_CALL_MS } from './defaults.js'

/** How long a call may take. Every call of the front door accepts these. */
export interface CallOptions {
  /** The call fails after this time, up to a day. Default: the option `callTimeout` of `openTimers`. */
  readonly timeout?: Duration
  /** Gives the call up. The reason of the signal becomes the cause of the error. */
  readonly signal?: AbortSignal | undefined
}

export const callOptionNames: readonly string[] = ['timeout', 'signal']

const noOptions: CallOptions = Object.freeze({})

/**
 * Runs the calls of a front door, each within its limit (promise 21). A call that is over rejects with 'not-done' if
 * nothing happened and nothing will, and with 'unknown-outcome' if something may have happened. Proven by
 * test/front/bounded-calls.test.ts.
 */
export class Calls {
  readonly #deadlines: Deadlines
  readonly #timeoutMs: number

  /** `timeout` is for calls without a timeout of their own. */
  constructor(clock: Clock, timeout: Duration) {
    this.#deadlines = new Deadlines(clock)
    this.#timeoutMs = callMsOf('callTimeout', timeout)
  }

  /** How long a call may take that has no timeout of its own. */
  get timeoutMs(): number {
    return this.#timeoutMs
  }

  /** Runs a call. `extraMs` is the time for which the call waits on purpose. */
  run<Answer>(
    options: CallOptions | undefined,
    call: (limit: CallLimit) => Promise<Answer>,
    extraMs = 0,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { timeout, signal } = checked(options ?? noOptions)
      const timeoutMs = timeout === undefined ? this.#timeoutMs : callMsOf('timeout', timeout)
      const limit = this.#deadlines.begin(timeoutMs + extraMs, signal)
      limit.onOver(() => {
        // The steps that end by themselves know more exactly what has happened.
        if (!limit.isSelfEnding) reject(limit.error())
      })
      const answered = limit.isOver ? Promise.reject(limit.error()) : started(call, limit)
      const end = (): void => this.#deadlines.end(limit)
      answered.then(resolve, reject).then(end, end)
    })
  }
}

/** Starts a call at once: calls that are not awaited keep their order. */
function started<Answer>(call: (limit: CallLimit) => Promise<Answer>, limit: CallLimit): Promise<Answer> {
  try {
    return call(limit)
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- it is passed on as it is
    return Promise.reject(error)
  }
}

/** The limits among the options of a call that has others, too. */
export function callOptionsOf({ timeout, signal }: CallOptions): CallOptions {
  return timeout === undefined && signal === undefined
    ? noOptions
    : { ...(timeout !== undefined && { timeout }), ...(signal !== undefined && { signal }) }
}

function checked(options: CallOptions): CallOptions {
  if (options === noOptions) return options
  checkOptions('a call', options, callOptionNames)
  const { signal } = options
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new InvalidInputError('invalid-option', `signal must be an AbortSignal, got ${shown(signal)}`)
  return options
}

function callMsOf(name: string, timeout: Duration): number {
  const ms = parseDuration(timeout)
  if (ms >= 1 && ms <= MAX_CALL_MS) return ms
  throw new InvalidInputError(
    'invalid-option',
    `${name} must be from 1 ms to ${MAX_CALL_MS} ms (a day), got ${shown(timeout)}`,
  )
}
