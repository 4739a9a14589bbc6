import type { Clock, Wake } from '../../time/index.js'
import type { LeasedFiring } from './leased-firing.js'
import type { LeasedKind } from './leased-kind.js'

/** The request of a worker. */
export interface LeaseRequest {
  readonly kinds: readonly string[]
  /** The most firings that it takes. */
  readonly max: number
  /** How long to wait for the first one. */
  readonly waitMs: number
  /** How long the leases are to last; undefined for the target's duration. */
  readonly leaseMs: number | undefined
  /** Ends the wait: the worker is gone. */
  readonly signal: AbortSignal | undefined
}

/** A worker whose request is not answered yet. */
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

  /** How many more firings it takes. */
  get wants(): number {
    return this.request.max - this.firings.length
  }

  get isWaiting(): boolean {
    return this.#alarm !== undefined
  }

  /** Calls back when the wait is over, or the worker is gone. */
  wait(clock: Clock, callBack: () => void): void {
    this.#alarm = clock.wakeAfter(this.request.waitMs, callBack, { keepAlive: false })
    this.#onGone = callBack
    this.request.signal?.addEventListener('abort', callBack)
  }

  /** Answers with the firings that it got, even if there are none. */
  end(): void {
    this.isOver = true
    this.#alarm?.cancel()
    if (this.#onGone !== undefined) this.request.signal?.removeEventListener('abort', this.#onGone)
    this.#resolve(this.firings)
  }
}
