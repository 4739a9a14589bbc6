import { StringDecoder } from 'node:string_decoder'
import type { Turns } from '../../async/index.js'
import { RequestError } from '../../error/index.js'
import { MAX_LINE_LENGTH, PIECES_PER_TURN } from '../defaults.js'

/**
 * The lines of a stream, in arrays of at most `most` lines that have arrived. It reads on only when the next array is
 * requested, so a fast sender has to wait for the consumer. Each character is looked at once, and a stream of many small
 * pieces gives others a turn.
 */
export async function* linesOf(
  source: AsyncIterable<Buffer>,
  most: number,
  turns: Turns,
): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8')
  // The line that is not complete yet, in pieces.
  let pieces: string[] = []
  let length = 0
  let read = 0
  for await (const chunk of source) {
    if (++read % PIECES_PER_TURN === 0) await turns.next()
    const text = decoder.write(chunk)
    const end = text.lastIndexOf('\n')
    length = end === -1 ? length + text.length : text.length - end - 1
    if (length > MAX_LINE_LENGTH)
      throw new RequestError('body-too-large', `a line may have at most ${MAX_LINE_LENGTH} characters`)
    if (end === -1) {
      pieces.push(text)
      // Thousands of tiny strings would take far more memory than their characters.
      if (pieces.length === PIECES_PER_TURN) pieces = [pieces.join('')]
      continue
    }
    const lines = (pieces.join('') + text.slice(0, end)).split('\n')
    pieces = [text.slice(end + 1)]
    yield* slices(lines, most)
  }
  yield* slices([pieces.join('') + decoder.end()], most)
}

function* slices(lines: readonly string[], most: number): Generator<string[]> {
  const filled = lines.filter((line) => line.trim() !== '')
  for (let at = 0; at < filled.length; at += most) yield filled.slice(at, at + most)
}
