/** What can be known of a store without opening it, and so without changing anything. */
export interface StoreSurvey {
  /** Undefined when there is no store yet. */
  readonly format: StoredFormat | undefined
  /** The version that this program brings a store to. */
  readonly knownVersion: number
  /** Whoever has it for itself alone, so that it cannot be opened; undefined when it can. */
  readonly heldBy: string | undefined
  /** What was looked at, each with its verdict. */
  readonly findings: readonly Finding[]
}

export interface StoredFormat {
  readonly version: number
  readonly strategy: 'owned' | 'claim'
  readonly shardCount: number
}

/** Something that was looked at. */
export interface Finding {
  readonly name: string
  readonly verdict: 'ok' | 'warn' | 'fail'
  readonly found: string
  /** What to do; for all that is not ok. */
  readonly advice?: string
}

/** A finding that is ok when it is as wanted. */
export function finding(
  name: string,
  found: string,
  isOk: boolean,
  otherwise: Required<Pick<Finding, 'advice' | 'verdict'>>,
): Finding {
  return isOk ? { name, verdict: 'ok', found } : { name, found, ...otherwise }
}
