import { nameKey, type Place, type TimerName, type TimerRow } from '../../../timer/index.js'
import type { ClaimProgress, ClaimSettlement, Settlement } from '../../store.js'
import type { Packer } from './packer.js'
import { placeText } from './place-codec.js'
import { packEntry, packLetter } from './record-codec.js'
import { rowWith } from './row-codec.js'

const DONE = 1
const DEAD = 2
const FOLLOW_UP = 3
const DEAD_AND_FOLLOW_UP = 4
const RELEASED = 5

const noProgress: ClaimProgress = Object.freeze({ dueAt: 0, attempt: 0, occurrence: 0 })

/** Packs the outcomes of a settlement for the script `settle`: done, dead, follow-ups. Answers how many. */
export function packOutcomes(packer: Packer, { done, dead, followUps }: Settlement): number {
  for (const row of done) {
    packOutcome(packer, DONE, row, 0, noProgress)
    packer.int(0)
  }
  for (const letter of dead) {
    const { row, next } = letter
    packOutcome(
      packer,
      next === undefined ? DEAD : DEAD_AND_FOLLOW_UP,
      row,
      next?.position ?? 0,
      next ?? noProgress,
    )
    packLetter(packer, letter)
  }
  for (const followUp of followUps) {
    packOutcome(packer, FOLLOW_UP, followUp.row, followUp.position, followUp)
    packer.int(0)
  }
  return done.length + dead.length + followUps.length
}

/** Packs an outcome, except for its dead letter. */
function packOutcome(
  packer: Packer,
  kind: number,
  row: TimerName & Place,
  position: number,
  { dueAt, attempt, occurrence, details }: ClaimProgress,
): void {
  packer.byte(kind).double(position).double(dueAt).int(attempt).int(occurrence)
  packer.stringAfterShort(nameKey(row))
  packer.string(placeText(row))
  packDetails(packer, details)
}

/** The script's answer to one outcome. */
interface OutcomeAnswer {
  /** Whether the row was still there as the outcome names it. */
  readonly wasLive: boolean
  readonly next: TimerRow | undefined
}

export function parseOutcomes(settlement: Settlement, bytes: Buffer): OutcomeAnswer[] {
  const positions = [
    ...settlement.done.map(() => 0),
    ...settlement.dead.map(({ next }) => next?.position ?? 0),
    ...settlement.followUps.map(({ position }) => position),
  ]
  let at = 0
  return positions.map((position) => {
    const letter = String.fromCharCode(bytes[at++]!)
    if (letter !== '2') return { wasLive: letter === '1', next: undefined }
    const valueAt = at + 12
    const end = valueAt + bytes.readUInt32LE(at + 8)
    const next = rowWith({ position, revision: bytes.readDoubleLE(at) }, bytes.subarray(valueAt, end))
    at = end
    return { wasLive: true, next }
  })
}

/** Packs the outcome of a row claim for the script `settleClaimed`. */
export function packClaimSettlement(packer: Packer, settlement: ClaimSettlement): void {
  const { token } = settlement
  const progress = progressOf(settlement) ?? noProgress
  const dead = progress === noProgress ? DEAD : DEAD_AND_FOLLOW_UP
  const kind = { done: DONE, dead, 'follow-up': FOLLOW_UP, released: RELEASED }[settlement.outcome]
  packer.byte(kind).double(progress.dueAt).int(progress.attempt).int(progress.occurrence)
  packer.stringAfterShort(nameKey(token)).double(token.revision).double(token.nonce)
  packDetails(packer, progress.details)
  if (settlement.outcome === 'dead') packLetter(packer, settlement)
  else packer.int(0)
  const { notes = [] } = settlement
  packer.short(notes.length)
  for (const note of notes) packEntry(packer, { ...token, ...note })
}

/** How the timer continues after its claim. Undefined when it ends. */
function progressOf(settlement: ClaimSettlement): ClaimProgress | undefined {
  if (settlement.outcome === 'follow-up') return settlement.progress
  return settlement.outcome === 'dead' ? settlement.next : undefined
}

function packDetails(packer: Packer, details: string | undefined): void {
  packer.byte(details === undefined ? 0 : 1).blockAfterInt(() => packer.string(details ?? ''))
}
