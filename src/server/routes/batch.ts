import { Readable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import { CarillonError, RequestError } from '../../error/index.js'
import { Batch } from '../batch.js'
import { parseJson } from '../json-body.js'
import { linesOf } from '../lines.js'
import { type Route, route } from '../route.js'
import { BatchAnswer, BatchRow } from '../schema.js'
import type { NamedKinds } from '../set-input.js'

const MOST_ROWS = 5000
const AT_ONCE = 1000

export function batchRoutes(kinds: NamedKinds): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/batch',
      scope: 'write',
      group: 'Batches',
      summary: 'Set, move and cancel many timers: a list, with one answer for each.',
      description:
        'As application/json a list of up to 5,000 rows. As application/x-ndjson a stream of any length, a row in ' +
        'each line and an answer in each line: read while you write, the server takes no more than it has answered.',
      body: Type.Array(BatchRow, { maxItems: MOST_ROWS }),
      checksBody: isRows,
      bodyLimit: 8_388_608,
      answer: Type.Array(BatchAnswer),
      refusals: [413],
      handle: async ({ timers, body, request, reply }) => {
        const batch = new Batch(timers, kinds, request)
        if (!(body instanceof Readable)) return await batch.run(body)
        reply.type('application/x-ndjson')
        return Readable.from(answerLines(batch, body))
      },
    }),
  ]
}

/** Rows are checked one by one, so that each has its answer. */
function isRows(body: unknown): boolean {
  return body instanceof Readable || (Array.isArray(body) && body.length <= MOST_ROWS)
}

async function* answerLines(batch: Batch, source: Readable): AsyncGenerator<string> {
  try {
    for await (const lines of linesOf(source, AT_ONCE)) {
      const answers = await batch.run(lines.map(rowOf))
      yield answers.map((answer) => `${JSON.stringify(answer)}\n`).join('')
    }
  } catch (error) {
    // The status has gone out already: the last line says what went wrong.
    const known =
      error instanceof CarillonError ? error : new RequestError('internal', 'the stream could not be read on')
    yield `${JSON.stringify({ outcome: 'failed', code: known.code, detail: known.message })}\n`
  }
}

/** What cannot be read as JSON is refused as a row. */
function rowOf(line: string): unknown {
  try {
    return parseJson(line)
  } catch {
    return undefined
  }
}
