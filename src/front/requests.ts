import { checkOptions, checkWhole, InvalidInputError, shown } from '../error/index.js'
import type { HistoryNote, RequestedOperation } from '../store/index.js'
import type { Clock } from '../time/index.js'
import { checkKey, parseHandle, type TimerHandle } from '../timer/index.js'
import { type HistoryPolicy, noteOf, type TimerEvent } from './history-policy.js'
import type { AnyKind } from './kind.js'
import type { Kinds } from './kinds.js'
import type { Named } from './selection.js'
import { dueAtOf, type When } from './when.js'

interface Condition {
  readonly ifRevision?: number
}

/** Turns what callers name and ask for into operations for the engine, with the notes that the history gets. */
export class Requests {
  readonly #namespace: string
  readonly #clock: Clock
  readonly #history: HistoryPolicy
  readonly #kinds: Kinds

  constructor(parts: { namespace: string; clock: Clock; history: HistoryPolicy; kinds: Kinds }) {
    this.#namespace = parts.namespace
    this.#clock = parts.clock
    this.#history = parts.history
    this.#kinds = parts.kinds
  }

  /**
   * The timer of a kind and key; without a key, the one of a handle. At once where nobody has to be asked, so that
   * calls which are not awaited keep their order.
   */
  named(of: AnyKind | TimerHandle, key: string | undefined): Named | Promise<Named> {
    if (key !== undefined) {
      checkKey(key)
      const namespace = this.#namespace
      const kind = this.#kinds.knownNameOf(of)
      if (kind !== undefined) return { namespace, kind, key }
      return this.#kinds.nameOf(of).then((name) => ({ namespace, kind: name, key }))
    }
    if (typeof of === 'string') return this.#ownHandle(of)
    this.#kinds.use(of)
    throw new InvalidInputError(
      'invalid-key',
      `name the key of the ${of.name}, or give a handle, got ${shown(key)}`,
    )
  }

  move(name: Named, dueAt: number, condition: Condition = {}): RequestedOperation {
    return { type: 'move', ...name, dueAt, ...conditionOf(condition), ...this.noted('moved', { dueAt }) }
  }

  cancel(name: Named, condition: Condition = {}): RequestedOperation {
    return { type: 'cancel', ...name, ...conditionOf(condition), ...this.noted('cancelled', {}) }
  }

  /** The due time that a move asks for. */
  dueAt(when: When | undefined): number {
    if (when === undefined) throw new InvalidInputError('invalid-when', 'say when: { in } or { at }')
    if (when.on !== undefined) {
      throw new InvalidInputError(
        'invalid-when',
        'a move takes in or at; set the timer anew to give it a schedule',
      )
    }
    return dueAtOf(when, this.#clock.now(), '')
  }

  noted(event: TimerEvent['event'], facts: { readonly dueAt?: number }): { readonly note?: HistoryNote } {
    return this.#history === 'all' ? { note: noteOf(this.#clock.now(), event, facts) } : {}
  }

  #ownHandle(handle: TimerHandle): Named {
    const name = parseHandle(handle)
    if (name.namespace === this.#namespace) return name
    throw new InvalidInputError(
      'invalid-handle',
      `this is a handle of the namespace ${shown(name.namespace)}, these are the timers of ${shown(this.#namespace)}`,
    )
  }
}

function conditionOf(condition: Condition): Condition {
  checkOptions('a change', condition, ['ifRevision'])
  const { ifRevision } = condition
  if (ifRevision === undefined) return {}
  checkWhole('ifRevision', ifRevision, 0)
  return { ifRevision }
}
