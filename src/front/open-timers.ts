import type { TimerFiring } from '../delivery/index.js'
import type { EngineEvent, EngineSettings } from '../engine/index.js'
import { checkOptions, InvalidInputError, shown } from '../error/index.js'
import { openStore, type Store } from '../store/index.js'
import { type Clock, systemClock } from '../time/index.js'
import { checkNamespace } from '../timer/index.js'
import { Timers } from './timers.js'

export interface TimersOptions {
  /** Where timers are kept: `'memory:'`, `'file:./folder'`, or a store that is open already. */
  readonly store: string | Store
  /** Timers of different namespaces know nothing of each other. Default `'default'`. */
  readonly namespace?: string
  readonly clock?: Clock
  /** From 0 to 1, as `Math.random`, which is the default. */
  readonly random?: () => number
  /** How the engine behaves; the names and defaults are in docs/engine.md. */
  readonly engine?: Partial<EngineSettings>
  readonly onEvent?: (event: EngineEvent) => void
  /** Told of every attempt that failed. Default: nobody is. */
  readonly onFailure?: (firing: TimerFiring, error: unknown) => void
}

const known = ['store', 'namespace', 'clock', 'random', 'engine', 'onEvent', 'onFailure']

/** Opens timers on a store. They can be set at once; they fire after `start()`. */
export async function openTimers(options: TimersOptions): Promise<Timers> {
  checkOptions('openTimers', options, known)
  const { namespace = 'default', clock = systemClock, random = Math.random } = options
  checkNamespace(namespace)
  if (options.store === undefined) {
    throw new InvalidInputError(
      'invalid-store-url',
      `openTimers needs a store such as 'memory:' or 'file:./timers', got ${shown(options.store)}`,
    )
  }
  const ownsStore = typeof options.store === 'string'
  const store = typeof options.store === 'string' ? await openStore(options.store, { clock }) : options.store
  const timers = new Timers({
    store,
    ownsStore,
    clock,
    random,
    namespace,
    settings: options.engine ?? {},
    onEvent: options.onEvent ?? (() => undefined),
    onFailure: options.onFailure ?? (() => undefined),
  })
  try {
    await timers.open()
  } catch (error) {
    if (ownsStore) await store.stop()
    throw error
  }
  return timers
}
