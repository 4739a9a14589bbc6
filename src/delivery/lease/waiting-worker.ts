import type { Clock, Wake } from '../../time/index.js'
import type { LeasedFiring } from './leased-firing.js'
import type { LeasedKind } from './leased-kind.js'

/** What a worker asks for. */
export interface LeaseRequest {
  readonly kinds: readonly string[]
  /** At most so many firings. */
  readonly max: number
  /** How long to wait for the first one. */
  readonly waitMs: number
  /** How long it wants them; undefined for as long as the target says. */
  readonly leaseMs: number | undefined
  /** Ends the wait: nobody is there any more to get what comes. */
  readonly signal: AbortSignal | undefined
}

/** A worker that has asked and has not been answered yet. */
export class WaitingWorker {
  readonly request: LeaseRequest
  readonly kinds: readonly LeasedKind[]
  readonly firings: LeasedFiring[] = []
  readonly answer: Promise<readonly LeasedFiring[]>
  isOver = false
  #alarm: Wake | undefined
  #onGone: (() => void) | undefined
  #resolve: (firings: readonly LeasedFiring[]) => void = () => undefined

  constructor(request: LeaseRequest, kinds: readonly LeasedKind[]) {
    this.request = request
    this.kinds = kinds
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  /** How many more it takes. */
  get wants(): number {
    return this.request.max - this.firings.length
  }

  get isWaiting(): boolean {
    return this.#alarm !== undefined
  }

  /** Calls back when it has waited long enough, or is gone. */
  wait(clock: Clock, callBack: () => void): void {
    this.#alarm = clock.wakeAfter(this.request.waitMs, callBack, { keepAlive: false })
    this.#onGone = callBack
    this.request.signal?.addEventListener('abort', callBack)
  }

  /** Answers with what has come, be it nothing. */
  end(): void {
    this.isOver = true
    this.#alarm?.cancel()
    if (this.#onGone !== undefined) this.request.signal?.removeEventListener('abort', this.#onGone)
    this.#resolve(this.firings)
  }
}
