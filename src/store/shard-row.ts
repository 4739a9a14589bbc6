import { StoreError } from '../error/index.js'
import { comparePlaces, firstPlace, isBefore, laterOf, type Place } from '../timer/index.js'
import type { Fence, FollowUp, Settlement, AcquireRequest, ShardRow } from './store.js'

/**
 * The rules of the shard protocol for the shard row, as pure functions: the row after an acquire, a renewal, a new
 * epoch, a release, a lowering and a settlement, and what a store must refuse. A store that keeps the row as a value
 * calls them and stores the result in the same atomic step as the rest of its write.
 *
 * Proven by the chapters 'shards' and 'fences' of the store contract and the mutants 'takeover from the read level', 'a shard is acquired before its lease is over', 'write does not check the fence' and 'a takeover forgets how far the last owner had read'.
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
    lateBefore: 0,
    lastSettlement: 0,
    suspects: { before: firstPlace, untilRevision: 0, dueUntil: 0 },
  }
}

/** The row after an acquire: the same row if this request was granted before, undefined if it is refused. */
export function acquired(
  row: ShardRow,
  claim: AcquireRequest,
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
    lateBefore: Math.max(row.lateBefore, endOf(row.readLevel)),
    suspects:
      row.owner === ''
        ? row.suspects
        : {
            before: laterOf(row.suspects.before, row.readLevel),
            untilRevision: lastRevision,
            dueUntil: row.leaseUntil,
          },
  }
}

export function renewed(row: ShardRow, fence: Fence, leaseMs: number, now: number): ShardRow {
  checkFence(row, fence)
  return { ...row, leaseUntil: now + leaseMs }
}

/** The row under a new epoch: the same row if the epoch was raised before with this nonce. */
export function refenced(row: ShardRow, fence: Fence, nonce: number, leaseMs: number, now: number): ShardRow {
  if (row.nonce === nonce && row.epoch === fence.epoch + 1) return row
  checkFence(row, fence)
  return { ...row, epoch: fence.epoch + 1, nonce, leaseUntil: now + leaseMs }
}

export function released(row: ShardRow, fence: Fence): ShardRow {
  checkFence(row, fence)
  return { ...row, owner: '', nonce: 0, leaseUntil: 0 }
}

/** The row with a lower read level: the owner has dropped the rows at or after `to`. */
export function lowered(row: ShardRow, fence: Fence, from: Place, to: Place): ShardRow {
  checkFence(row, fence)
  checkReadLevel(row, from)
  if (isBefore(from, to) || isBefore(to, row.settledLevel)) {
    throw new StoreError(
      'invalid-level',
      `cannot lower the read level from ${shownPlace(from)} to ${shownPlace(to)}: it may only fall, and not below the settled level`,
    )
  }
  return {
    ...row,
    readLevel: { position: to.position, revision: to.revision },
    lateBefore: Math.max(row.lateBefore, endOf(from)),
  }
}

/** The row after a settlement. */
export function settled(row: ShardRow, { id, level, followUps, dead }: Settlement): ShardRow {
  let { lateBefore } = row
  const raise = ({ position, dueAt }: Omit<FollowUp, 'row'>): void => {
    if (position > dueAt) lateBefore = Math.max(lateBefore, position + 1)
  }
  followUps.forEach(raise)
  for (const { next } of dead) if (next !== undefined) raise(next)
  const settledLevel = { position: level.position, revision: level.revision }
  return { ...row, settledLevel, lateBefore, lastSettlement: id }
}

/** The first position whose rows are all at or above the level. */
function endOf({ position, revision }: Place): number {
  return revision > 0 ? position + 1 : position
}

export function checkFence(row: ShardRow, fence: Fence): void {
  if (fence.epoch !== row.epoch || fence.nonce !== row.nonce) {
    throw new StoreError(
      'fenced',
      `shard ${row.shard} is at epoch ${row.epoch}, owned by ${row.owner || 'nobody'}, but the call has epoch ${fence.epoch}`,
    )
  }
  if (isBefore(row.settledLevel, fence.settledLevel)) {
    throw new StoreError(
      'fenced',
      `shard ${row.shard} went back in time: its settled level is ${shownPlace(row.settledLevel)}, but it confirmed ${shownPlace(fence.settledLevel)} to its owner`,
    )
  }
}

/** Refuses a write with `ifInboxEmpty` while a request is in the inbox. */
export function checkInbox(row: ShardRow, isEmpty: boolean): void {
  if (!isEmpty)
    throw new StoreError('inbox-first', `the inbox of shard ${row.shard} has requests that come first`)
}

/** Refuses a load or lowering whose owner has another read level in mind. */
export function checkReadLevel(row: ShardRow, from: Place): void {
  if (comparePlaces(row.readLevel, from) === 0) return
  throw new StoreError(
    'fenced',
    `the read level of shard ${row.shard} is ${shownPlace(row.readLevel)}, but the call expects ${shownPlace(from)}`,
  )
}

/**
 * Refuses a settlement whose level falls, or is above the read level, the store's clock or the last write. A level that
 * does not change may be ahead of the clock: the clock was ahead once and was set right since.
 */
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
    (level.position > now && isBefore(settledLevel, level)) ||
    level.revision > lastRevision + 1 ||
    settlement.followUps.some((followUp) => followUp.position < level.position) ||
    settlement.dead.some(({ next }) => next !== undefined && next.position < level.position)
  if (!isRefused) return
  throw new StoreError(
    'invalid-level',
    `shard ${row.shard} cannot settle up to ${shownPlace(level)}: its settled level is ${shownPlace(settledLevel)}, its read level is ${shownPlace(readLevel)}, and the time is ${now}`,
  )
}

function shownPlace(place: Place): string {
  return `${place.position}/${place.revision}`
}
