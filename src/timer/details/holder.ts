import { decodeDetails, encodeDetails } from './details.js'
import type { TimerRow } from '../timer-row.js'

/**
 * A process that runs an attempt although it does not own the shard: the attempt was handed over with the shard
 * (rule 7), or offered to the process (rule 9). The details of the row name the holder until the outcome is settled.
 */
export interface Holder {
  readonly member: string
  /** A random string that distinguishes two processes with the same member id. */
  readonly life: string
}

/**
 * The holder and the attempt that it runs: the one after those that the row counts. An owner of protocol 2 does not
 * know of holders. It leaves `heldBy` in place when it moves or retries the row, or writes its next occurrence. Then
 * these fields no longer match the row, and nobody holds it.
 */
export interface Hold extends Holder {
  readonly attempt: number
  readonly occurrence: number
  readonly dueAt: number
  /** Names the offer, if the attempt was offered to the holder before it had started (rule 9). */
  readonly offer?: string
}

type HeldRow = Pick<TimerRow, 'details' | 'attempt' | 'occurrence' | 'dueAt'>

// `heldBy` is the first field, so the start of the string shows whether there is a holder.
const HELD_PREFIX = '{"heldBy":'

/** The details of a row whose attempt goes on in another process than its owner's, or was offered to one. */
export function heldDetails(row: HeldRow, { member, life }: Holder, offer?: string): string {
  const { details, attempt, occurrence, dueAt } = row
  const heldBy: Hold = { member, life, attempt, occurrence, dueAt, ...(offer !== undefined && { offer }) }
  return encodeDetails({ heldBy, ...decodeDetails(freeDetails(details)) })
}

/** These details without a holder. */
export function freeDetails(details: string): string {
  if (!details.startsWith(HELD_PREFIX)) return details
  const { heldBy: _, ...rest } = decodeDetails(details)
  return encodeDetails(rest)
}

/** The process that runs the next attempt of the row; undefined if that is the owner's. */
export function holderOf({ details, attempt, occurrence, dueAt }: HeldRow): Hold | undefined {
  if (details === '' || !details.startsWith(HELD_PREFIX)) return undefined
  const { heldBy } = decodeDetails(details)
  const isCurrent = heldBy?.attempt === attempt && heldBy.occurrence === occurrence && heldBy.dueAt === dueAt
  return isCurrent ? heldBy : undefined
}

/** Whether the next attempt of the row was handed over or offered. */
export function isHeld(row: HeldRow): boolean {
  return row.details !== '' && holderOf(row) !== undefined
}
