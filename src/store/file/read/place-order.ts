const MAX_DIGIT_BITS = 11

/** Numbered places, the input of `placeOrder`. */
export interface Places {
  readonly size: number
  position(number: number): number
  revision(number: number): number
}

/**
 * Sorts places by position, then by revision, and returns their numbers in that order. A radix sort orders the
 * positions, which lie within 2^32 of each other. Then places with the same position are sorted by revision.
 */
export function placeOrder(places: Places): Uint32Array {
  const { size } = places
  let least = Infinity
  let most = -Infinity
  for (let number = 0; number < size; number++) {
    const position = places.position(number)
    if (position < least) least = position
    if (position > most) most = position
  }
  let keys = new Uint32Array(size)
  let order = new Uint32Array(size)
  let isSorted = true
  for (let number = 0; number < size; number++) {
    const key = places.position(number) - least
    if (number > 0 && key < keys[number - 1]!) isSorted = false
    keys[number] = key
    order[number] = number
  }
  if (!isSorted) [keys, order] = radixSorted(keys, order, most - least)
  sortTies(order, keys, places)
  return order
}

/** Sorts keys and numbers together. The keys move along, so each pass reads memory in order. */
function radixSorted(
  keys: Uint32Array<ArrayBuffer>,
  order: Uint32Array<ArrayBuffer>,
  most: number,
): [keys: Uint32Array<ArrayBuffer>, order: Uint32Array<ArrayBuffer>] {
  const { length } = keys
  const bits = 32 - Math.clz32(most)
  const passes = Math.ceil(bits / MAX_DIGIT_BITS)
  const digitBits = Math.ceil(bits / passes)
  const mask = (1 << digitBits) - 1
  const starts = new Uint32Array(1 << digitBits)
  let otherKeys = new Uint32Array(length)
  let otherOrder = new Uint32Array(length)
  for (let pass = 0, shift = 0; pass < passes; pass++, shift += digitBits) {
    starts.fill(0)
    for (let i = 0; i < length; i++) starts[(keys[i]! >>> shift) & mask]!++
    for (let digit = 0, sum = 0; digit <= mask; digit++) {
      const inDigit = starts[digit]!
      starts[digit] = sum
      sum += inDigit
    }
    for (let i = 0; i < length; i++) {
      const key = keys[i]!
      const at = starts[(key >>> shift) & mask]!++
      otherKeys[at] = key
      otherOrder[at] = order[i]!
    }
    ;[keys, otherKeys] = [otherKeys, keys]
    ;[order, otherOrder] = [otherOrder, order]
  }
  return [keys, order]
}

function sortTies(order: Uint32Array, keys: Uint32Array, places: Places): void {
  for (let from = 0; from < order.length;) {
    const key = keys[from]
    let end = from + 1
    while (end < order.length && keys[end] === key) end++
    if (end - from > 1) sortByRevision(order.subarray(from, end), places)
    from = end
  }
}

function sortByRevision(order: Uint32Array, places: Places): void {
  for (let i = 1; i < order.length; i++) {
    if (places.revision(order[i]!) < places.revision(order[i - 1]!)) {
      order.sort((a, b) => places.revision(a) - places.revision(b))
      return
    }
  }
}
