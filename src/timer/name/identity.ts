/** A new identity: a random integer from 1 to 2^53 - 1. Any process can draw one without asking the store. */
export function newIdentity(random: () => number): number {
  const high = Math.floor(random() * 2 ** 21)
  const low = Math.floor(random() * 2 ** 32)
  return high * 2 ** 32 + low || 1
}

// 36^5. It splits an identity into two small integers, which V8 writes in base 36 six times faster than a double.
const LOW = 60_466_176

/** An identity in base 36, the same as `toString(36)`. */
export function identityText(identity: number): string {
  if (identity < LOW) return identity.toString(36)
  const high = Math.floor(identity / LOW)
  return high.toString(36) + (identity - high * LOW).toString(36).padStart(5, '0')
}
