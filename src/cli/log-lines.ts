import { MAX_LOG_BUFFER_BYTES } from './defaults.js'

/** What the lines are written to: `process.stderr`, or a stream like it. */
export interface LogStream {
  /** The bytes that wait because the reader is slow. */
  readonly writableLength: number
  write(text: string): unknown
}

/**
 * Writes log lines to a stream. While its reader is so slow that many bytes wait, lines are dropped and counted: a log
 * must not take the memory of the server. The next line that is written is preceded by the number.
 *
 * Proven by test/cli/log-lines.test.ts.
 */
export class LogLines {
  readonly #stream: LogStream
  #dropped = 0

  constructor(stream: LogStream) {
    this.#stream = stream
  }

  write(line: string): void {
    if (this.#stream.writableLength > MAX_LOG_BUFFER_BYTES) {
      this.#dropped++
      return
    }
    if (this.#dropped > 0) {
      const msg = `${this.#dropped} log lines were dropped, because the reader of the log is too slow`
      this.#dropped = 0
      this.#stream.write(line.startsWith('{') ? `${JSON.stringify({ level: 40, msg })}\n` : `warn ${msg}\n`)
    }
    this.#stream.write(line)
  }
}
