import type { WhenGiven } from '../../client/index.js'
import { checkOptions, InvalidInputError } from '../../error/index.js'
import { checkKey, checkTags, parseRetry } from '../../timer/index.js'
import type { TimerKind } from '../kind.js'
import { validated } from '../schema.js'
import { type SetManyRow, setOptionNames } from '../set-request.js'
import { dueAtOf, type When } from '../when.js'

/** Refuses what the library itself would, before anything is sent: so nothing of many is set when one is wrong. */
export async function checkRows<Payload>(
  kind: TimerKind<Payload>,
  rows: readonly SetManyRow<Payload>[],
  now: number,
): Promise<void> {
  const { schema, name } = kind
  for (const row of rows) {
    checkOptions(`a set of ${name}`, row, setOptionNames)
    const { key, retry, tags, payload } = row
    if (key !== undefined) checkKey(key)
    if (retry !== undefined) parseRetry(retry)
    if (tags !== undefined) checkTags(tags)
    dueAtOf(row, now, '')
    if (schema !== undefined) await validated(name, schema, payload)
  }
}

/** When a move is to; `in` is counted by the server. */
export function moveTimeOf(when: When | undefined, now: number): WhenGiven {
  if (when === undefined || when.on !== undefined) {
    throw new InvalidInputError(
      'invalid-when',
      'a move takes in or at; set the timer anew to give it a schedule',
    )
  }
  // Refused here as it would be there.
  dueAtOf(when, now, '')
  return when
}
