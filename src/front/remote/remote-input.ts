import type { WhenGiven } from '../../client/index.js'
import { checkOptions } from '../../error/index.js'
import { checkKey, checkTags, keyOfRow, parseRetry } from '../../timer/index.js'
import { noScheduleInMove } from '../change/operations.js'
import type { UnknownKind } from '../kind/kind.js'
import { validated } from '../kind/schema.js'
import { notAfterOf, type SetManyRow, setOptionNames } from '../set/set-request.js'
import { dueAtOf, type When } from '../when.js'

/** Refuses the same rows as the library, before anything is sent: one wrong row stops the whole call. */
export async function checkRows(
  kind: UnknownKind,
  rows: readonly SetManyRow<unknown>[],
  now: number,
): Promise<void> {
  const { schema, name } = kind
  for (const row of rows) {
    checkOptions(`a set of ${name}`, row, setOptionNames)
    const { retry, tags, payload } = row
    const key = keyOfRow(kind, row)
    if (key !== undefined) checkKey(key)
    if (retry !== undefined) parseRetry(retry)
    if (row.notAfter !== undefined) notAfterOf(row)
    if (tags !== undefined) checkTags(tags)
    dueAtOf(row, now, '')
    if (schema !== undefined) await validated(name, schema, payload)
  }
}

/** The new time for a move. The server counts `in` from its own clock. */
export function moveTimeOf(when: When | undefined, now: number): WhenGiven {
  if (when === undefined || when.on !== undefined) throw noScheduleInMove()
  // Refuses an invalid time here, as the server would.
  dueAtOf(when, now, '')
  return when
}
