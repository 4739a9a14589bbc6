/** What can be found out about a store without opening it, and so without changing it. */
export interface StoreSurvey {
  /** Undefined when the store does not exist yet. */
  readonly format: StoredFormat | undefined
  /** The format version that this program writes. */
  readonly knownVersion: number
  /** The process that has the store open exclusively; undefined when it can be opened. */
  readonly heldBy: string | undefined
  /** The checks that were made, each with its verdict. */
  readonly findings: readonly Finding[]
}

/** What a store was made for. */
export interface StoredFormat {
  readonly version: number
  readonly strategy: 'owned' | 'claim'
  readonly shardCount: number
}

/** The result of one check. */
export interface Finding {
  readonly name: string
  readonly verdict: 'ok' | 'warn' | 'fail'
  readonly found: string
  /** What to do about it, if it is not ok. */
  readonly advice?: string
}

/** A finding that is ok if `isOk`, and has the given verdict and advice otherwise. */
export function finding(
  name: string,
  found: string,
  isOk: boolean,
  otherwise: Required<Pick<Finding, 'advice' | 'verdict'>>,
): Finding {
  return isOk ? { name, verdict: 'ok', found } : { name, found, ...otherwise }
}
