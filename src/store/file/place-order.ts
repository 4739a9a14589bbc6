const DIGIT_BITS = 11
const DIGITS = 1 << DIGIT_BITS

/**
 * The order of `count` places by position, then by revision: a radix sort of positions, which lie within 2^32 of
 * each other, and then a look at those that share one.
 */
export function placeOrder(positions: Float64Array, revisions: Float64Array, count: number): Uint32Array {
  let least = Infinity
  let most = -Infinity
  let isSorted = true
  for (let i = 0; i < count; i++) {
    const position = positions[i]!
    if (position < most || (position === most && revisions[i]! < revisions[i - 1]!)) isSorted = false
    if (position < least) least = position
    if (position > most) most = position
  }
  let order = new Uint32Array(count)
  for (let i = 0; i < count; i++) order[i] = i
  if (isSorted) return order
  const keys = new Uint32Array(count)
  for (let i = 0; i < count; i++) keys[i] = positions[i]! - least
  let other = new Uint32Array(count)
  const starts = new Uint32Array(DIGITS)
  for (let shift = 0; shift < 32 && 2 ** shift <= most - least; shift += DIGIT_BITS) {
    starts.fill(0)
    for (let i = 0; i < count; i++) starts[(keys[i]! >>> shift) & (DIGITS - 1)]!++
    for (let digit = 0, sum = 0; digit < DIGITS; digit++) {
      const inDigit = starts[digit]!
      starts[digit] = sum
      sum += inDigit
    }
    for (let i = 0; i < count; i++) {
      const index = order[i]!
      other[starts[(keys[index]! >>> shift) & (DIGITS - 1)]!++] = index
    }
    const sorted = other
    other = order
    order = sorted
  }
  sortTies(order, keys, revisions)
  return order
}

function sortTies(order: Uint32Array, keys: Uint32Array, revisions: Float64Array): void {
  for (let from = 0; from < order.length;) {
    const key = keys[order[from]!]
    let isSorted = true
    let end = from + 1
    for (; end < order.length && keys[order[end]!] === key; end++) {
      if (revisions[order[end]!]! < revisions[order[end - 1]!]!) isSorted = false
    }
    if (!isSorted) order.subarray(from, end).sort((a, b) => revisions[a]! - revisions[b]!)
    from = end
  }
}
