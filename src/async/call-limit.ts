import { LimitError, StoreError } from '../error/index.js'

/**
 * How long one call may go on: until its deadline, or until its caller gives it up. When it is over, the parts that
 * work on the call are informed. What they have not sent yet must never be sent. Proven by
 * test/async/deadlines.test.ts.
 */
export class CallLimit {
  /** By the monotonic clock. */
  readonly deadline: number
  /**
   * Whether the call may have changed something. It decides which error the caller gets: 'unknown-outcome', or
   * 'not-done'.
   */
  hasActed = false
  readonly #timeoutMs: number
  #listeners: Set<() => void> | undefined
  #isOver = false
  // How many steps are under way that end by themselves when the call is over, with a more exact answer.
  #selfEnding = 0
  #cause: unknown
  #notDone: LimitError | undefined
  #unknownOutcome: StoreError | undefined

  constructor(deadline: number, timeoutMs: number) {
    this.deadline = deadline
    this.#timeoutMs = timeoutMs
  }

  /** The deadline has passed, or the caller has given up. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether a step is under way that ends by itself when the call is over. */
  get isSelfEnding(): boolean {
    return this.#selfEnding > 0
  }

  /** Calls `listener` once, when the call is over: at once if it is over now. Returns a function that removes it. */
  onOver(listener: () => void): () => void {
    if (this.#isOver) {
      listener()
      return () => undefined
    }
    const listeners = (this.#listeners ??= new Set())
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Ends the call: without a cause because of its deadline, and with one because its caller has given up. */
  end(cause?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cause = cause
    const listeners = this.#listeners
    this.#listeners = undefined
    for (const listener of listeners ?? []) listener()
  }

  /** The caller has its answer: nobody needs to be informed any more. */
  forget(): void {
    this.#listeners = undefined
  }

  /** Resolves as `step` does, or with undefined as soon as the call is over. The step goes on, unwatched. */
  orOver<Answer>(step: Promise<Answer>): Promise<Answer | undefined> {
    return new Promise((resolve, reject) => {
      const remove = this.onOver(() => resolve(undefined))
      step.then(resolve, reject).finally(remove)
    })
  }

  /** `step` ends by itself when the call is over. Until then the call is not ended from outside. */
  async selfEnding<Answer>(step: Promise<Answer>): Promise<Answer> {
    this.#selfEnding++
    try {
      return await step
    } finally {
      this.#selfEnding--
      this.hasActed = true
    }
  }

  /** To be called just before something is changed. Throws if the call is over: nothing more may happen then. */
  act(): void {
    if (this.#isOver) throw this.error()
    this.hasActed = true
  }

  /** The error of the whole call. */
  error(): LimitError | StoreError {
    return this.hasActed ? this.unknownOutcome() : this.notDone()
  }

  /** For what was not sent, and never will be. `because` is the last error of the store, if it is known. */
  notDone(because?: Error): LimitError {
    if (because !== undefined && this.#cause === undefined) return this.#newNotDone({ cause: because })
    return (this.#notDone ??= this.#newNotDone(this.#options()))
  }

  #newNotDone(options: ErrorOptions): LimitError {
    const text = `${this.#why()} before this was sent: nothing happened, and nothing will`
    return new LimitError('not-done', text, options)
  }

  /** For what was sent and not answered. */
  unknownOutcome(): StoreError {
    return (this.#unknownOutcome ??= new StoreError(
      'unknown-outcome',
      `${this.#why()} before this was answered: it may have happened`,
      this.#options(),
    ))
  }

  #why(): string {
    return this.#cause === undefined
      ? `the timeout of ${this.#timeoutMs} ms was over`
      : 'the signal of the call was aborted'
  }

  #options(): ErrorOptions {
    return this.#cause === undefined ? {} : { cause: this.#cause }
  }
}
