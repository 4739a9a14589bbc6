import type { KindTimes } from '../../delivery/index.js'

/** How a target answered: the class of its status, or that there was no answer. */
export type AnswerClass = '2xx' | '3xx' | '4xx' | '5xx' | 'none'

/** What an instance knows about the deliveries of a namespace. For monitoring. */
export interface DeliveryReport {
  readonly kinds: readonly KindDelivery[]
  /** Firings that workers have leased here. */
  readonly leased: number
  /** Workers that wait for firings here. */
  readonly waitingWorkers: number
}

/** How the timers of one kind are delivered. */
export interface KindDelivery {
  readonly kind: string
  readonly isPaused: boolean
  /** The breaker of its target is open, or tries the target. */
  readonly isBreakerOpen: boolean
  /** Any instance has a handler or a target for it. */
  readonly isHandled: boolean
  /** Messages to its target by the class of the answer. Undefined if there was none yet. */
  readonly answers: ReadonlyMap<AnswerClass, number> | undefined
  /** Undefined if no attempt that waited for something has ended yet. */
  readonly times: KindTimes | undefined
}

/** Counts the answers of targets by kind. */
export class AnswerCounts {
  readonly #byKind = new Map<string, Map<AnswerClass, number>>()

  /** `status` is undefined if there was no answer. */
  add(kind: string, status: number | undefined): void {
    let counts = this.#byKind.get(kind)
    if (counts === undefined) this.#byKind.set(kind, (counts = new Map()))
    const name = classOf(status)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }

  of(kind: string): ReadonlyMap<AnswerClass, number> | undefined {
    return this.#byKind.get(kind)
  }
}

function classOf(status: number | undefined): AnswerClass {
  if (status === undefined) return 'none'
  if (status < 300) return '2xx'
  if (status < 400) return '3xx'
  return status < 500 ? '4xx' : '5xx'
}
