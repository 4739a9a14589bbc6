import { StoreError } from '../error/index.js'
import { comparePlaces, firstPlace, isBefore, laterOf, type Place } from '../timer/index.js'
import type { Fence, Settlement, ShardClaim, ShardRow } from './store.js'

/**
 * The rules of the shard protocol that concern a shard's row, for stores that keep it as a value: what a claim,
 * a renewal, a raise of the epoch and a release make of it, and what is refused under it. Nothing here changes
 * anything: a store puts the answer where it keeps the row, in the same step as the rest of its write.
 */
export function newShardRow(shard: number): ShardRow {
  return {
    shard,
    epoch: 0,
    nonce: 0,
    owner: '',
    leaseUntil: 0,
    readLevel: firstPlace,
    settledLevel: firstPlace,
    lastSettlement: 0,
    suspects: { before: firstPlace, untilRevision: 0, dueUntil: 0 },
  }
}

/** The row after a claim; the same row when the claim was granted before, undefined when it is refused. */
export function claimed(
  row: ShardRow,
  claim: ShardClaim,
  now: number,
  lastRevision: number,
): ShardRow | undefined {
  if (row.owner === claim.owner && row.nonce === claim.nonce && row.epoch === claim.expectedEpoch + 1) {
    return row
  }
  if (row.epoch !== claim.expectedEpoch || (row.owner !== '' && row.leaseUntil > now)) return undefined
  return {
    ...row,
    epoch: row.epoch + 1,
    nonce: claim.nonce,
    owner: claim.owner,
    leaseUntil: now + claim.leaseMs,
    readLevel: row.settledLevel,
    suspects:
      row.owner === ''
        ? row.suspects
        : {
            before: laterOf(row.suspects.before, row.readLevel),
            untilRevision: lastRevision,
            dueUntil: now,
          },
  }
}

export function renewed(row: ShardRow, fence: Fence, leaseMs: number, now: number): ShardRow {
  checkFence(row, fence)
  return { ...row, leaseUntil: now + leaseMs }
}

/** The row after a raise of the epoch; the same row when it was raised before under this nonce. */
export function refenced(row: ShardRow, fence: Fence, nonce: number, leaseMs: number, now: number): ShardRow {
  if (row.nonce === nonce && row.epoch === fence.epoch + 1) return row
  checkFence(row, fence)
  return { ...row, epoch: fence.epoch + 1, nonce, leaseUntil: now + leaseMs }
}

export function released(row: ShardRow, fence: Fence): ShardRow {
  checkFence(row, fence)
  return { ...row, owner: '', nonce: 0, leaseUntil: 0 }
}

/** The row with the read level lowered: the owner has dropped what lies at or after `to`. */
export function lowered(row: ShardRow, fence: Fence, from: Place, to: Place): ShardRow {
  checkFence(row, fence)
  checkReadLevel(row, from)
  if (isBefore(from, to) || isBefore(to, row.settledLevel)) {
    throw new StoreError(
      'invalid-level',
      `the read level goes down to the settled level at most, asked was ${shownPlace(from)} to ${shownPlace(to)}`,
    )
  }
  return { ...row, readLevel: { position: to.position, revision: to.revision } }
}

export function checkFence(row: ShardRow, fence: Fence): void {
  if (fence.epoch !== row.epoch || fence.nonce !== row.nonce) {
    throw new StoreError(
      'fenced',
      `shard ${row.shard} is at epoch ${row.epoch} of ${row.owner || 'nobody'}, the call came with epoch ${fence.epoch}`,
    )
  }
  if (isBefore(row.settledLevel, fence.settledLevel)) {
    throw new StoreError(
      'fenced',
      `shard ${row.shard} went back in time: it is settled to ${shownPlace(row.settledLevel)}, its owner was told ${shownPlace(fence.settledLevel)}`,
    )
  }
}

/** Refuses a write that is to come after what waits in the inbox. */
export function checkInbox(row: ShardRow, isEmpty: boolean): void {
  if (!isEmpty) throw new StoreError('inbox-first', `requests wait in the inbox of shard ${row.shard}`)
}

/** Refuses a load whose owner believes in another read level. */
export function checkReadLevel(row: ShardRow, from: Place): void {
  if (comparePlaces(row.readLevel, from) === 0) return
  throw new StoreError(
    'fenced',
    `shard ${row.shard} is read to ${shownPlace(row.readLevel)}, its owner believes ${shownPlace(from)}`,
  )
}

/** Refuses a settlement whose level goes back, or beyond what was read, the store's clock or the last write. */
export function checkSettlement(
  row: ShardRow,
  settlement: Settlement,
  now: number,
  lastRevision: number,
): void {
  const { level } = settlement
  const { settledLevel, readLevel } = row
  const isRefused =
    isBefore(level, settledLevel) ||
    isBefore(readLevel, level) ||
    level.position > now ||
    level.revision > lastRevision + 1 ||
    settlement.followUps.some((followUp) => followUp.position < level.position) ||
    settlement.dead.some(({ next }) => next !== undefined && next.position < level.position)
  if (!isRefused) return
  throw new StoreError(
    'invalid-level',
    `shard ${row.shard} cannot settle to ${shownPlace(level)}: settled ${shownPlace(settledLevel)}, read ${shownPlace(readLevel)}, now ${now}`,
  )
}

function shownPlace(place: Place): string {
  return `${place.position}/${place.revision}`
}
