const ARMED = 1 << 4
const LAZY = 1 << 3
const WIDE = 1 << 2
const OVERDUE = 1 << 1

/**
 * How a timer is laid out in the record table. Modules take these names out of the object at their top, for
 * speed: V8 folds a module's own constants into its code, but loads an imported one each time it is used.
 */
export const recordLayout = Object.freeze({
  /** The most timers one wheel can hold. */
  MAX_TIMERS: 2 ** 27,
  /** The bits of a handle that are its index. */
  INDEX: 2 ** 27 - 1,
  /** A handle is a generation, as it stands in a state, times this, and an index. */
  STATE_SPAN: 2 ** 22,
  /** Stands for a token of more than 31 bits, which is kept elsewhere; no token is negative. */
  WIDE_TOKEN: -1,

  /**
   * A record is two words, at twice its index: the low 32 bits of the due tick, and at this offset its state,
   * which is its generation and flags. Tokens are apart, because only firing needs them.
   */
  STATE: 1,

  GENERATION: 0x7fff_ffe0,
  ONE_GENERATION: 1 << 5,
  /** The token is the record's own index: it is kept nowhere else. */
  OWN: 1 << 0,
  /** Due at or before the wheel's tick: it is in the overdue list, and its due word is its mark there. */
  OVERDUE,
  /** The due tick is 2^31 ticks or more away: the whole of it is in `wideDues`. */
  WIDE,
  /** Moved later without a new entry: the old entry will find it. Never together with WIDE or OVERDUE. */
  LAZY,
  /** How far LAZY is from the highest bit. */
  ABOVE_LAZY: 28,
  /**
   * Pending. It stands right below the generation, so that a record that is not armed, with this bit turned over,
   * is half a generation away from every handle: one comparison finds both the wrong life and what is no handle.
   */
  ARMED,
  /** Set only while a chunk is rewritten, on those it has met. */
  SEEN: 1 << 31,
  FLAGS: ARMED | LAZY | WIDE | OVERDUE,
} as const)
