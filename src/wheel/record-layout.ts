const ARMED = 1 << 4
const LAZY = 1 << 3
const WIDE = 1 << 2
const OVERDUE = 1 << 1

/**
 * The layout of a timer in the record table. Modules destructure this object at their top, for speed: V8 folds a
 * module's own constants into its code, but loads an imported one each time it is used.
 */
export const recordLayout = Object.freeze({
  /** The most timers one wheel can hold. */
  MAX_TIMERS: 2 ** 27,
  /** The bits of a handle that are its index. */
  INDEX: 2 ** 27 - 1,
  /** A handle is a generation (as stored in a state) times this, plus an index. */
  STATE_SPAN: 2 ** 22,
  /** Replaces a token of more than 31 bits, which is stored elsewhere. No token is negative. */
  WIDE_TOKEN: -1,

  /**
   * A record is two words, at twice its index: the low 32 bits of the due tick, and at this offset the state
   * (generation and flags). Tokens are in an array of their own, because only firing needs them.
   */
  STATE: 1,

  GENERATION: 0x7fff_ffe0,
  ONE_GENERATION: 1 << 5,
  /** The token is the record's own index and is not stored. */
  OWN: 1 << 0,
  /** Due at or before the wheel's tick. It is in the overdue list, and its due word is its mark there. */
  OVERDUE,
  /** The due tick is 2^31 ticks or more away. It is in `wideDues`. */
  WIDE,
  /** Moved later without a new entry: the old entry will come up and find it. Excludes WIDE and OVERDUE. */
  LAZY,
  /** How far LAZY is from the highest bit. */
  ABOVE_LAZY: 28,
  /**
   * Pending. This bit is right below the generation. With the bit inverted, a record that is not armed is half a
   * generation away from every handle. So one comparison finds both a stale handle and an invalid one.
   */
  ARMED,
  /** Set only while a chunk is rewritten, on the records that were met so far. */
  SEEN: 1 << 31,
  FLAGS: ARMED | LAZY | WIDE | OVERDUE,
} as const)
