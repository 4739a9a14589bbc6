/** A new identity: a random whole number from 1 to 2^53 - 1, so that nobody has to be asked for one. */
export function newIdentity(random: () => number): number {
  const high = Math.floor(random() * 2 ** 21)
  const low = Math.floor(random() * 2 ** 32)
  return high * 2 ** 32 + low || 1
}

// 36 to the fifth: both halves of an identity are small integers then, which V8 writes six times faster in base
// 36 than a double.
const LOW = 60_466_176

/** An identity in base 36, as `toString(36)` would write it. */
export function identityText(identity: number): string {
  if (identity < LOW) return identity.toString(36)
  const high = Math.floor(identity / LOW)
  return high.toString(36) + (identity - high * LOW).toString(36).padStart(5, '0')
}
