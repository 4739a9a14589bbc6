import { type CallLimit, Deadlines } from '../../async/index.js'
import { checkOptions, InvalidInputError, shown } from '../../error/index.js'
import { type Clock, type Duration, parseDuration } from '../../time/index.js'
import { MAX_CALL_MS } from '../defaults.js'

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

  /** Begins a call, which must end in time by itself. `end` must follow when it has its answer. */
  begin(options: CallOptions = noOptions, extraMs = 0): CallLimit {
    const { timeout, signal } = checked(options)
    const timeoutMs = timeout === undefined ? this.#timeoutMs : callMsOf('timeout', timeout)
    return this.#deadlines.begin(timeoutMs + extraMs, signal)
  }

  end(limit: CallLimit): void {
    this.#deadlines.end(limit)
  }

  /** Runs a call to its end. `extraMs` is the time for which the call waits on purpose. */
  async run<Answer>(
    options: CallOptions | undefined,
    call: (limit: CallLimit) => Promise<Answer>,
    extraMs = 0,
  ): Promise<Answer> {
    const limit = this.begin(options, extraMs)
    try {
      if (limit.isOver) throw limit.error()
      // Called at once, so that calls which are not awaited keep their order.
      const answered = call(limit)
      return await (limit.isSelfEnding ? answered : limit.inTime(answered))
    } finally {
      this.end(limit)
    }
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
