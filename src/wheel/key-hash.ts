// Shares the 64 bits of a number, to read them as two words.
const number = new Float64Array(1)
const words = new Int32Array(number.buffer)

/**
 * 32 well-mixed bits of a string or a number; keys that are `===` have the same. It is quick rather than
 * strong: whoever uses it must stay correct, and not slow, when many keys share a hash.
 */
export function hashKey(key: string | number): number {
  return typeof key === 'string' ? hashString(key) : hashNumber(key)
}

function hashString(key: string): number {
  let hash = 0x811c_9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x0100_0193)
  return mixed(hash)
}

function hashNumber(key: number): number {
  const integer = key | 0
  if (integer === key) return mixed(integer)
  number[0] = key
  return mixed(words[0]! ^ Math.imul(words[1]!, 0x85eb_ca6b))
}

function mixed(bits: number): number {
  let hash = bits ^ (bits >>> 16)
  hash = Math.imul(hash, 0x21f0_aaad)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x735a_2d97)
  return hash ^ (hash >>> 15)
}
