import { parseSchedule } from '../../schedule/index.js'
import {
  checkKey,
  checkKind,
  checkNamespace,
  decodeDetails,
  decodePayload,
  parseRetry,
  type TimerRow,
} from '../../timer/index.js'

/** Why a stored timer could not fire; undefined if everything in its row can be read. */
export function faultOfRow(row: TimerRow): string | undefined {
  try {
    checkNamespace(row.namespace)
    checkKind(row.kind)
    checkKey(row.key)
    decodePayload(row.payload)
    const { on, retry } = decodeDetails(row.details)
    if (on !== undefined) parseSchedule(on)
    if (retry !== undefined) parseRetry(retry)
    const { dueAt, createdAt, attempt, occurrence } = row
    const wrong = Object.entries({ dueAt, createdAt, attempt, occurrence }).find(
      ([, value]) => !Number.isFinite(value) || value < 0,
    )
    return wrong && `its ${wrong[0]} is ${wrong[1]}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
