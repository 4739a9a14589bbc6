import { StringDecoder } from 'node:string_decoder'
import { RequestError } from '../error/index.js'

const LONGEST_LINE = 1_048_576

/**
 * The lines of a stream, as many at a time as have come, up to `most`. It reads on only when it is asked for more, so
 * that whoever sends faster than lines are dealt with has to wait.
 */
export async function* linesOf(source: AsyncIterable<Buffer>, most: number): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of source) {
    rest += decoder.write(chunk)
    const lines = rest.split('\n')
    rest = lines.pop()!
    if (rest.length > LONGEST_LINE)
      throw new RequestError('body-too-large', `a line may have ${LONGEST_LINE} characters`)
    yield* slices(lines, most)
  }
  yield* slices([rest + decoder.end()], most)
}

function* slices(lines: readonly string[], most: number): Generator<string[]> {
  const filled = lines.filter((line) => line.trim() !== '')
  for (let at = 0; at < filled.length; at += most) yield filled.slice(at, at + most)
}
