/** The severities of messages of a German PostgreSQL. */
export const germanSeverities: Readonly<Record<string, string>> = {
  ERROR: 'FEHLER',
  FATAL: 'FATAL',
  PANIC: 'PANIK',
  WARNING: 'WARNUNG',
  NOTICE: 'HINWEIS',
  LOG: 'LOG',
  INFO: 'INFO',
  DEBUG: 'DEBUG',
}

/** The severities of a Russian PostgreSQL, which also translates FATAL. */
export const russianSeverities: Readonly<Record<string, string>> = {
  ...germanSeverities,
  ERROR: 'ОШИБКА',
  FATAL: 'ВАЖНО',
  PANIC: 'ПАНИКА',
}

const HEADER_BYTES = 5
const ERROR_RESPONSE = 0x45
const NOTICE_RESPONSE = 0x4e
const SEVERITY = 0x53

/**
 * Translates the localised severity (field S) in the messages of a PostgreSQL server on one connection. Everything else
 * passes unchanged, including field V. Call the function with each chunk in order, and send on what it returns.
 */
export function translatedSeverity(words: Readonly<Record<string, string>>): (chunk: Buffer) => Buffer {
  let held: Buffer = Buffer.alloc(0)
  // How many bytes of a message that needs no translation are still to come.
  let passing = 0
  return (chunk) => {
    const out: Buffer[] = []
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    for (;;) {
      const passed = Math.min(passing, held.length)
      out.push(held.subarray(0, passed))
      held = held.subarray(passed)
      passing -= passed
      if (held.length < HEADER_BYTES) break
      const length = 1 + held.readUInt32BE(1)
      if (held[0] !== ERROR_RESPONSE && held[0] !== NOTICE_RESPONSE) {
        passing = length
        continue
      }
      if (held.length < length) break
      out.push(translatedMessage(held.subarray(0, length), words))
      held = held.subarray(length)
    }
    return Buffer.concat(out)
  }
}

function translatedMessage(message: Buffer, words: Readonly<Record<string, string>>): Buffer {
  const fields: Buffer[] = []
  for (let at = HEADER_BYTES; message[at] !== 0;) {
    const end = message.indexOf(0, at)
    const text = message.toString('utf8', at + 1, end)
    const translated = message[at] === SEVERITY ? (words[text] ?? text) : text
    fields.push(Buffer.from([message[at]!]), Buffer.from(`${translated}\0`))
    at = end + 1
  }
  const body = Buffer.concat([...fields, Buffer.from([0])])
  const header = Buffer.alloc(HEADER_BYTES)
  header[0] = message[0]!
  header.writeUInt32BE(4 + body.length, 1)
  return Buffer.concat([header, body])
}
