import { LimitError, StoreError } from '../error/index.js'

/** A part of a call that must know when the call is over. An object costs less than a function for each call. */
export interface OverListener {
  giveUp(limit: CallLimit): void
}

/** What few calls need. */
interface RareParts {
  readonly listeners: Set<() => void>
  cause: unknown
  notDone: LimitError | undefined
  unknownOutcome: StoreError | undefined
}

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
  #listener: OverListener | undefined
  #rare: RareParts | undefined
  #isOver = false
  // How many steps are under way that end by themselves when the call is over, with a more exact answer.
  #selfEnding = 0

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

  /** Informs the listener once, when the call is over: at once if it is over now. */
  addListener(listener: OverListener): void {
    if (!this.#isOver && this.#listener === undefined) this.#listener = listener
    else this.onOver(() => listener.giveUp(this))
  }

  /** Calls `listener` once, when the call is over: at once if it is over now. Returns a function that removes it. */
  onOver(listener: () => void): () => void {
    if (this.#isOver) {
      listener()
      return () => undefined
    }
    const { listeners } = this.#rareParts
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  /** Ends the call: without a cause because of its deadline, and with one because its caller has given up. */
  end(cause?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    const [listener, rare] = [this.#listener, this.#rareParts]
    rare.cause = cause
    listener?.giveUp(this)
    for (const each of rare.listeners) each()
    this.forget()
  }

  /** The caller has its answer: nobody needs to be informed any more. */
  forget(): void {
    this.#listener = undefined
    this.#rare?.listeners.clear()
  }

  /** Resolves as `step` does, or with undefined as soon as the call is over. The step goes on, unwatched. */
  orOver<Answer>(step: Promise<Answer>): Promise<Answer | undefined> {
    return new Promise((resolve, reject) => {
      const remove = this.onOver(() => resolve(undefined))
      step.then(resolve, reject).finally(remove)
    })
  }

  /** Resolves as `step` does, or rejects with the error of the call as soon as it is over. */
  inTime<Answer>(step: Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.onOver(() => {
        // The steps that end by themselves know more exactly what has happened.
        if (!this.isSelfEnding) reject(this.error())
      })
      step.then(resolve, reject)
    })
  }

  /** As `inTime`, for a step before anything is sent. */
  orNotDone<Answer>(step: Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const remove = this.onOver(() => reject(this.notDone()))
      step.then(resolve, reject).finally(remove)
    })
  }

  /** From now on, all steps of the call end by themselves when it is over. So it is not ended from outside. */
  endsItself(): void {
    this.#selfEnding++
    this.hasActed = true
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
    const rare = this.#rareParts
    if (because !== undefined && rare.cause === undefined) return this.#newNotDone({ cause: because })
    return (rare.notDone ??= this.#newNotDone(this.#options()))
  }

  #newNotDone(options: ErrorOptions): LimitError {
    const text = `${this.#why()} before this was sent: nothing happened, and nothing will`
    return new LimitError('not-done', text, options)
  }

  /** For what was sent and not answered. */
  unknownOutcome(): StoreError {
    return (this.#rareParts.unknownOutcome ??= new StoreError(
      'unknown-outcome',
      `${this.#why()} before this was answered: it may have happened`,
      this.#options(),
    ))
  }

  get #rareParts(): RareParts {
    return (this.#rare ??= {
      listeners: new Set(),
      cause: undefined,
      notDone: undefined,
      unknownOutcome: undefined,
    })
  }

  #why(): string {
    return this.#rareParts.cause === undefined
      ? `the timeout of ${this.#timeoutMs} ms was over`
      : 'the signal of the call was aborted'
  }

  #options(): ErrorOptions {
    const { cause } = this.#rareParts
    return cause === undefined ? {} : { cause }
  }
}
