const SLOTS = 16_384
const POLYNOMIAL = 0x1021

/** The slot of a key in a Redis Cluster: CRC16 (XMODEM) of the part in its first braces, or of the whole key. */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open < 0 ? -1 : key.indexOf('}', open + 1)
  const hashed = Buffer.from(close > open + 1 ? key.slice(open + 1, close) : key)
  let crc = 0
  for (const byte of hashed) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ POLYNOMIAL : crc << 1) & 0xffff
  }
  return crc % SLOTS
}
