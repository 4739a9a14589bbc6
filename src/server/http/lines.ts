import { StringDecoder } from 'node:string_decoder'
import { RequestError } from '../../error/index.js'
import { MAX_LINE_LENGTH } from '../defaults.js'

/**
 * The lines of a stream, in arrays of at most `most` lines that have arrived. It reads on only when the next array is
 * requested, so a fast sender has to wait for the consumer.
 */
export async function* linesOf(source: AsyncIterable<Buffer>, most: number): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of source) {
    rest += decoder.write(chunk)
    const lines = rest.split('\n')
    rest = lines.pop()!
    if (rest.length > MAX_LINE_LENGTH)
      throw new RequestError('body-too-large', `a line may have at most ${MAX_LINE_LENGTH} characters`)
    yield* slices(lines, most)
  }
  yield* slices([rest + decoder.end()], most)
}

function* slices(lines: readonly string[], most: number): Generator<string[]> {
  const filled = lines.filter((line) => line.trim() !== '')
  for (let at = 0; at < filled.length; at += most) yield filled.slice(at, at + most)
}
