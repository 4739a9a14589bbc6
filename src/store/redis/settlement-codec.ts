import { nameText, type Place, type TimerName, type TimerRow } from '../../timer/index.js'
import type { ClaimProgress, ClaimSettlement, Settlement } from '../store.js'
import type { Packer } from './packer.js'
import { placeText } from './place-text.js'
import { packEntry, packLetter } from './record-codec.js'
import { rowWith } from './row-codec.js'

const DONE = 1
const DEAD = 2
const FOLLOWED = 3
const DEAD_AND_FOLLOWED = 4
const RELEASED = 5

const nowhere: ClaimProgress = Object.freeze({ dueAt: 0, attempt: 0, occurrence: 0 })

/** The outcomes of a settlement as the script `settle` unpacks them: done, dead, to follow. Answers how many. */
export function packOutcomes(packer: Packer, { done, dead, followUps }: Settlement): number {
  for (const row of done) {
    packOutcome(packer, DONE, row, 0, nowhere)
    packer.int(0)
  }
  for (const letter of dead) {
    const { row, next } = letter
    packOutcome(
      packer,
      next === undefined ? DEAD : DEAD_AND_FOLLOWED,
      row,
      next?.position ?? 0,
      next ?? nowhere,
    )
    packLetter(packer, letter)
  }
  for (const followUp of followUps) {
    packOutcome(packer, FOLLOWED, followUp.row, followUp.position, followUp)
    packer.int(0)
  }
  return done.length + dead.length + followUps.length
}

/** All of an outcome but its letter. */
function packOutcome(
  packer: Packer,
  kind: number,
  row: TimerName & Place,
  position: number,
  { dueAt, attempt, occurrence, details }: ClaimProgress,
): void {
  packer.byte(kind).double(position).double(dueAt).int(attempt).int(occurrence)
  packer.textAfterShort(nameText(row))
  packer.text(placeText(row))
  packDetails(packer, details)
}

/** How an outcome was answered. */
interface SettledRow {
  /** Whether its row stood. */
  readonly stood: boolean
  readonly next: TimerRow | undefined
}

export function parseOutcomes(settlement: Settlement, bytes: Buffer): SettledRow[] {
  const positions = [
    ...settlement.done.map(() => 0),
    ...settlement.dead.map(({ next }) => next?.position ?? 0),
    ...settlement.followUps.map(({ position }) => position),
  ]
  let at = 0
  return positions.map((position) => {
    const letter = String.fromCharCode(bytes[at++]!)
    if (letter !== '2') return { stood: letter === '1', next: undefined }
    const valueAt = at + 12
    const end = valueAt + bytes.readUInt32LE(at + 8)
    const next = rowWith({ position, revision: bytes.readDoubleLE(at) }, bytes.subarray(valueAt, end))
    at = end
    return { stood: true, next }
  })
}

/** An outcome of a lease as the script `settleClaimed` unpacks it. */
export function packClaimSettlement(packer: Packer, settlement: ClaimSettlement): void {
  const { receipt } = settlement
  const following = followingOf(settlement) ?? nowhere
  const dead = following === nowhere ? DEAD : DEAD_AND_FOLLOWED
  const kind = { done: DONE, dead, 'follow-up': FOLLOWED, released: RELEASED }[settlement.outcome]
  packer.byte(kind).double(following.dueAt).int(following.attempt).int(following.occurrence)
  packer.textAfterShort(nameText(receipt)).double(receipt.revision).double(receipt.nonce)
  packDetails(packer, following.details)
  if (settlement.outcome === 'dead') packLetter(packer, settlement)
  else packer.int(0)
  const { notes = [] } = settlement
  packer.short(notes.length)
  for (const note of notes) packEntry(packer, { ...receipt, ...note })
}

/** How the timer goes on after its lease; undefined when it does not. */
function followingOf(settlement: ClaimSettlement): ClaimProgress | undefined {
  if (settlement.outcome === 'follow-up') return settlement.progress
  return settlement.outcome === 'dead' ? settlement.next : undefined
}

function packDetails(packer: Packer, details: string | undefined): void {
  packer.byte(details === undefined ? 0 : 1).blockAfterInt(() => packer.text(details ?? ''))
}
