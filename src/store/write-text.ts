const encoder = new TextEncoder()

/** Writes a text as UTF-8 and answers where it ends. There must be room for three bytes for each of its code units. */
export function writeText(bytes: Buffer, from: number, text: string): number {
  // The encoder is quick with long texts, a loop with short ones of plain letters.
  const { length } = text
  if (length < 48) {
    let at = 0
    for (; at < length; at++) {
      const code = text.charCodeAt(at)
      if (code > 0x7f) break
      bytes[from + at] = code
    }
    if (at === length) return from + at
  }
  return from + encoder.encodeInto(text, bytes.subarray(from)).written
}
