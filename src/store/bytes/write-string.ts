const encoder = new TextEncoder()

/** Writes a string as UTF-8 and answers the offset after it. The buffer needs three bytes for each code unit. */
export function writeString(bytes: Buffer, from: number, text: string): number {
  // The encoder is faster for long strings, a loop for short ASCII strings.
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
