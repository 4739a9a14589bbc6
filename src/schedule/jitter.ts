/**
 * Returns a timer's delay within the jitter of its schedule, from 0 up to, not including, `jitterMs`. Delays
 * are spread evenly over all seeds. A seed has the same delay forever, on every machine. The whole schedule
 * shifts by it, so the order and distances of its occurrences stay the same.
 */
export function jitterOf(seed: string, jitterMs: number): number {
  let high = 0x811c9dc5
  let low = 0x9e3779b9
  for (let i = 0; i < seed.length; i++) {
    const unit = seed.charCodeAt(i)
    high = Math.imul(high ^ unit, 0x01000193)
    low = Math.imul(low ^ unit, 0x85ebca6b) ^ (low >>> 13)
  }
  const fraction = (mixed(high) * 0x20_0000 + (mixed(low ^ seed.length) >>> 11)) / 2 ** 53
  return Math.floor(fraction * jitterMs)
}

// Seeds often differ only in their last character. Mixing spreads that difference over all bits of the hash.
function mixed(hash: number): number {
  let mixing = hash ^ (hash >>> 16)
  mixing = Math.imul(mixing, 0x85ebca6b)
  mixing ^= mixing >>> 13
  mixing = Math.imul(mixing, 0xc2b2ae35)
  return (mixing ^ (mixing >>> 16)) >>> 0
}
