import type { Lane } from '../fire/lane.js'
import type { Offers } from './offers.js'

/** A kind whose due timers wait because no instance handles it. */
export interface UnhandledKind {
  readonly namespace: string
  readonly kind: string
  /** How many of its due timers wait in the memory of this instance. */
  readonly waiting: number
}

/** The kinds that no known instance handles, with the number of due timers that wait for that reason. */
export function unhandledKinds(
  shards: Iterable<{ readonly lanes: Iterable<Lane> }>,
  offers: Pick<Offers, 'isHandled'>,
): readonly UnhandledKind[] {
  const found = new Map<string, UnhandledKind>()
  for (const { lanes } of shards) {
    for (const { namespace, kind, waiting } of lanes) {
      if (waiting === 0 || offers.isHandled(namespace, kind)) continue
      const name = JSON.stringify([namespace, kind])
      found.set(name, { namespace, kind, waiting: waiting + (found.get(name)?.waiting ?? 0) })
    }
  }
  return [...found.values()]
}
