import { Readable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import { CarillonError, type ErrorCode, RequestError } from '../../error/index.js'
import { Batch } from '../http/batch.js'
import { Turns } from '../../async/index.js'
import type { Clock } from '../../time/index.js'
import type { KeyWatch } from '../key-watch.js'
import { parseJson } from '../http/json-body.js'
import { isPassing } from '../http/refusal.js'
import { linesOf } from '../http/lines.js'
import { type Route, route } from '../http/route.js'
import { BatchAnswer, BatchRow } from '../http/schema/schema.js'
import type { NamedKinds } from '../http/set-input.js'
import { MAX_BATCH_BYTES, MAX_BATCH_ROWS, STREAMED_BATCH_ROWS } from '../defaults.js'

export function batchRoutes(kinds: NamedKinds, clock: Clock, keyWatch: KeyWatch): Route[] {
  const turns = new Turns(() => clock.turnEnd())
  return [
    route({
      method: 'POST',
      path: '/v1/batch',
      scope: 'write',
      group: 'Batches',
      summary: 'Set, move and cancel many timers. Each row gets its own answer.',
      description:
        'As application/json: an array of up to 5,000 rows. As application/x-ndjson: a stream of any length, one row ' +
        'per line, one answer per line. Read while you write: the server stops reading rows until answers are read.',
      body: Type.Array(BatchRow, { maxItems: MAX_BATCH_ROWS }),
      checksBody: isRows,
      bodyLimit: MAX_BATCH_BYTES,
      answer: Type.Array(BatchAnswer),
      refusals: [413],
      handle: async ({ timers, admission, body, request, reply, limits, once }) => {
        const batch = new Batch(timers, kinds, turns, request, limits, once?.setKey)
        if (!(body instanceof Readable)) return checkAnyDone(await batch.run(body))
        reply.type('application/x-ndjson')
        const check = (): void => keyWatch.check(admission.key)
        return Readable.from(answerLines(batch, body, turns, check))
      },
    }),
  ]
}

/** A batch of which nothing was done, because of an outage, fails as a whole: the same request may be sent again. */
function checkAnyDone(answers: BatchAnswer[]): BatchAnswer[] {
  const [first] = answers
  const code = first?.code as ErrorCode | undefined
  if (code === undefined || !answers.every((answer) => isPassing(answer.code as ErrorCode))) return answers
  throw new RequestError(code, `none of the ${answers.length} rows was done: ${first!.detail ?? code}`)
}

/** Checks only the outer array. `Batch` checks each row, so that a bad row fails alone. */
function isRows(body: unknown): boolean {
  return body instanceof Readable || (Array.isArray(body) && body.length <= MAX_BATCH_ROWS)
}

/** `check` throws once the key no longer counts: a stream may last for a minute. */
async function* answerLines(
  batch: Batch,
  source: Readable,
  turns: Turns,
  check: () => void,
): AsyncGenerator<string> {
  try {
    for await (const lines of linesOf(source, STREAMED_BATCH_ROWS, turns)) {
      check()
      const answers = await batch.run(lines.map(rowOf))
      yield answers.map((answer) => `${JSON.stringify(answer)}\n`).join('')
    }
  } catch (error) {
    // The status 200 is already sent, so the last line carries the error.
    const known =
      error instanceof CarillonError ? error : new RequestError('internal', 'the stream broke off')
    yield `${JSON.stringify({ outcome: 'failed', code: known.code, detail: known.message })}\n`
  }
}

/** Undefined for a line that is not JSON. `Batch` refuses it like any bad row. */
function rowOf(line: string): unknown {
  try {
    return parseJson(line)
  } catch {
    return undefined
  }
}
