import type { ErrorCode } from '../../../error/index.js'
import type { Store } from '../../../store/index.js'
import { type CallFate, type CallFilter, type Fault, isMeant } from './fault.js'
import type { Travel } from './plan.js'
import type { Random } from '../../random.js'

/** What happens to one call to the store, in milliseconds after it was sent. */
export interface Fate {
  /** When it commits; undefined when it never reaches the store. */
  readonly commitAfterMs: number | undefined
  /** When the caller gets `error`, or the true answer without one. */
  readonly answerAfterMs: number
  readonly error: ErrorCode | undefined
}

/** The faults that are active at each instance. It decides what happens to calls, wake-ups and attempts. */
export class Chaos {
  readonly #travel: Travel
  readonly #troubles: Trouble[]
  /** Whether the store is without power. */
  isStoreDown = false
  #isCalm = false

  constructor(travel: Travel, instances: number) {
    this.#travel = travel
    this.#troubles = Array.from({ length: instances }, () => ({
      partitions: [],
      calls: [],
      wakes: [],
      handlers: [],
      blocks: [],
      closed: [],
      armed: [],
    }))
  }

  get isCalm(): boolean {
    return this.#isCalm
  }

  /** Ends all faults for good. */
  calm(): void {
    this.#isCalm = true
  }

  begin(fault: Fault): void {
    const trouble = this.#troubles[fault.instance]!
    if (fault.type === 'partition') trouble.partitions.push(fault)
    if (fault.type === 'wakes') trouble.wakes.push(fault)
    if (fault.type === 'closed') trouble.closed.push(fault)
    if (fault.type === 'calls') trouble.calls.push({ fault, left: fault.count })
    if (fault.type === 'blocks') trouble.blocks.push({ fault, left: fault.count })
    if (fault.type === 'handlers') trouble.handlers.push({ fault, left: fault.count })
  }

  end(fault: Fault): void {
    const trouble = this.#troubles[fault.instance]!
    trouble.partitions = trouble.partitions.filter((other) => other !== fault)
    trouble.wakes = trouble.wakes.filter((other) => other !== fault)
    trouble.closed = trouble.closed.filter((other) => other !== fault)
  }

  /** Calls `strike` right after this instance sends the next matching call. */
  arm(instance: number, upon: CallFilter, strike: () => void): void {
    this.#troubles[instance]!.armed.push({ upon, strike })
  }

  /** A call was sent. */
  sent(instance: number, call: keyof Store): void {
    const { armed } = this.#troubles[instance]!
    const index = this.#isCalm ? -1 : armed.findIndex(({ upon }) => isMeant(upon, call))
    if (index >= 0) for (const { strike } of armed.splice(index, 1)) strike()
  }

  fateOf(instance: number, call: keyof Store, random: Random): Fate {
    const { minMs, maxMs, timeoutMs } = this.#travel
    const there = Math.round(random.between(minMs, maxMs))
    const back = random.chance(0.5) ? 0 : Math.round(random.between(minMs, maxMs))
    const good: Fate = { commitAfterMs: there, answerAfterMs: there + back, error: undefined }
    if (this.#isCalm) return good
    if (this.isStoreDown)
      return { commitAfterMs: undefined, answerAfterMs: there, error: 'store-unavailable' }
    const trouble = this.#troubles[instance]!
    switch (trouble.partitions.at(-1)?.mode) {
      case 'refused':
        return { commitAfterMs: undefined, answerAfterMs: there, error: 'store-unavailable' }
      case 'silent':
        return { commitAfterMs: undefined, answerAfterMs: timeoutMs, error: 'unknown-outcome' }
      case 'deaf':
        return { commitAfterMs: there, answerAfterMs: timeoutMs, error: 'unknown-outcome' }
      case undefined:
    }
    const struck = trouble.calls.find(({ fault }) => isMeant(fault.calls, call))
    if (struck === undefined) return good
    if (--struck.left === 0) trouble.calls.splice(trouble.calls.indexOf(struck), 1)
    return this.#inTime(badFate(struck.fault.fate, struck.fault.delayMs, good))
  }

  /** How long a wake-up takes; undefined when it is lost. */
  wakeDelayMs(instance: number, random: Random): number | undefined {
    const late = this.#isCalm ? undefined : this.#troubles[instance]!.wakes.at(-1)
    if (late === undefined) return Math.round(random.between(this.#travel.minMs, this.#travel.maxMs))
    return late.delayMs
  }

  /** Whether no timer of this kind may start. */
  isClosed(instance: number, kind: string): boolean {
    return !this.#isCalm && this.#troubles[instance]!.closed.some((fault) => fault.kind === kind)
  }

  /** How long the next attempt takes; undefined when no fault concerns it. */
  attemptMs(instance: number): number | 'forever' | undefined {
    const trouble = this.#troubles[instance]!
    const struck = this.#isCalm ? undefined : trouble.handlers[0]
    if (struck === undefined) return undefined
    if (--struck.left === 0) trouble.handlers.shift()
    return struck.fault.takesMs ?? 'forever'
  }

  /** How long the next attempt blocks its process; undefined when it does not. */
  blockMs(instance: number): number | undefined {
    const trouble = this.#troubles[instance]!
    const struck = this.#isCalm ? undefined : trouble.blocks[0]
    if (struck === undefined) return undefined
    if (--struck.left === 0) trouble.blocks.shift()
    return struck.fault.forMs
  }

  /** The caller gives up after its timeout; the call may still arrive. */
  #inTime(fate: Fate): Fate {
    const { timeoutMs } = this.#travel
    if (fate.answerAfterMs <= timeoutMs) return fate
    return { ...fate, answerAfterMs: timeoutMs, error: 'unknown-outcome' }
  }
}

interface Trouble {
  readonly armed: { readonly upon: CallFilter; readonly strike: () => void }[]
  partitions: (Fault & { type: 'partition' })[]
  closed: (Fault & { type: 'closed' })[]
  readonly calls: { readonly fault: Fault & { type: 'calls' }; left: number }[]
  wakes: (Fault & { type: 'wakes' })[]
  readonly handlers: { readonly fault: Fault & { type: 'handlers' }; left: number }[]
  readonly blocks: { readonly fault: Fault & { type: 'blocks' }; left: number }[]
}

function badFate(fate: CallFate, delayMs: number, good: Fate): Fate {
  switch (fate) {
    case 'error-before':
      return { ...good, commitAfterMs: undefined, error: 'store-unavailable' }
    case 'error-after':
      return { ...good, error: 'unknown-outcome' }
    case 'late-commit':
      return { ...good, commitAfterMs: good.answerAfterMs + delayMs, error: 'unknown-outcome' }
    case 'slow-commit':
      return {
        commitAfterMs: good.commitAfterMs! + delayMs,
        answerAfterMs: good.answerAfterMs + delayMs,
        error: undefined,
      }
    case 'slow-answer':
      return { ...good, answerAfterMs: good.answerAfterMs + delayMs }
  }
}
