/**
 * Where a row stands in its shard's order: by position, then by revision. No two rows of a shard share a place,
 * and a row that is written anew gets a new one, so a place is also the name of one version of a timer. A level
 * is a place too: it lies before the row it names and after all that precede it, which lets a level stop in the
 * middle of a crowded millisecond.
 */
export interface Place {
  /** Epoch milliseconds: normally the due time, never below the settled level at the time of writing. */
  readonly position: number
  /** The number the store gave the row when it committed it; rises with every write to the shard. */
  readonly revision: number
}

/** Before every row. */
export const firstPlace: Place = Object.freeze({ position: 0, revision: 0 })

/** The level before every row of `position`. */
export function levelAt(position: number): Place {
  return { position, revision: 0 }
}

/** The level just after `place`. */
export function levelAfter(place: Place): Place {
  return { position: place.position, revision: place.revision + 1 }
}

/** Negative when `a` comes before `b`, 0 when they are the same, positive otherwise. */
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
