/** A new identity: a random whole number from 1 to 2^53 - 1, so that nobody has to be asked for one. */
export function newIdentity(random: () => number): number {
  const high = Math.floor(random() * 2 ** 21)
  const low = Math.floor(random() * 2 ** 32)
  return high * 2 ** 32 + low || 1
}
