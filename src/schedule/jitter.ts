/**
 * Where a timer stands within the jitter of its schedule: from 0 to `jitterMs`, exclusive, evenly spread over
 * all seeds and forever the same for one seed, on every machine. The whole schedule shifts by it, so the order
 * and the distance of its occurrences stay as they are.
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

// Seeds often differ in their last character only; without this their low bits would too.
function mixed(hash: number): number {
  let mixing = hash ^ (hash >>> 16)
  mixing = Math.imul(mixing, 0x85ebca6b)
  mixing ^= mixing >>> 13
  mixing = Math.imul(mixing, 0xc2b2ae35)
  return (mixing ^ (mixing >>> 16)) >>> 0
}
