/**
 * The place of a row in its shard's order: by position, then by revision. No two rows of a shard share a place, and
 * every write gives a row a new one, so a place names one version of a timer. A level is a place too: it lies right
 * before the row with this place. So a level can lie between two rows of the same millisecond.
 */
export interface Place {
  /** Epoch milliseconds: normally the due time, never below the settled level at the time of writing. */
  readonly position: number
  /** The number that the store gave the row at commit. It rises with every write to the shard. */
  readonly revision: number
}

/** Before every row. */
export const firstPlace: Place = Object.freeze({ position: 0, revision: 0 })

/** After every row. */
export const lastPlace: Place = Object.freeze({ position: Number.MAX_SAFE_INTEGER, revision: 0 })

/** The level before every row of `position`. */
export function levelAt(position: number): Place {
  return { position, revision: 0 }
}

/** The level just after `place`. */
export function levelAfter(place: Place): Place {
  return { position: place.position, revision: place.revision + 1 }
}

/** Negative if `a` comes before `b`, 0 if they are equal, positive otherwise. */
export function comparePlaces(a: Place, b: Place): number {
  return a.position === b.position ? a.revision - b.revision : a.position - b.position
}

export function isBefore(a: Place, b: Place): boolean {
  return comparePlaces(a, b) < 0
}

export function earlierOf(a: Place, b: Place): Place {
  return isBefore(b, a) ? b : a
}

export function laterOf(a: Place, b: Place): Place {
  return isBefore(a, b) ? b : a
}
