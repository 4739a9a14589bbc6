import type { RedisFormat } from '../format.js'
import { type RedisTuning, SPLIT_PARTS } from '../defaults.js'
import { Script } from './script.js'
import {
  claimDueLua,
  cutShortLua,
  extendLua,
  longLeasesLua,
  nextDueLua,
  peekDueLua,
  settleClaimedLua,
} from './claims.lua.js'
import { answersLua, appendLua, areFreeLua, areWaitingLua, requestsLua } from './inbox.lua.js'
import { acquireLua, lowerLua, refenceLua, releaseLua, renewLua } from './ownership.lua.js'
import { partsLua } from './parts.lua.js'
import { countKindsLua } from './kinds.lua.js'
import { countLua, findLua, listLua, loadLua, tallyLua, usageLua } from './read.lua.js'
import { removeDeadLua } from './records.lua.js'
import { settleLua, sweepLua } from './settle.lua.js'
import { writeLua } from './write.lua.js'

export type ShardScripts = ReturnType<typeof shardScripts>

/**
 * The scripts of a shard. Leases, loads, settlements and cancels work when Redis has reached `maxmemory`, so what is stored
 * fires, and cancels make space. Only sets and moves are refused. The bucket width is part of the store's format. The sizes of
 * parts and chunks are not.
 */
export function shardScripts({ bucketMs, strategy }: RedisFormat, { partRows, chunkRows }: RedisTuning) {
  // A store of mode `claim` claims rows one by one, so it makes no chunks.
  const parts = partsLua(bucketMs, partRows, SPLIT_PARTS, strategy === 'claim' ? Infinity : chunkRows)
  return Object.freeze({
    acquire: Script.writingWhenFull(acquireLua),
    renew: Script.writingWhenFull(renewLua),
    refence: Script.writingWhenFull(refenceLua),
    release: Script.writingWhenFull(releaseLua),
    lower: Script.writingWhenFull(lowerLua),
    load: Script.writingWhenFull(loadLua, true),
    write: Script.writing(writeLua(parts)),
    writeWhenFull: Script.writingWhenFull(writeLua(parts)),
    settle: Script.writingWhenFull(settleLua(parts)),
    sweep: Script.writingWhenFull(sweepLua),
    append: Script.writing(appendLua),
    appendWhenFull: Script.writingWhenFull(appendLua),
    requests: Script.reading(requestsLua),
    answers: Script.reading(answersLua),
    areFree: Script.reading(areFreeLua),
    areWaiting: Script.reading(areWaitingLua),
    peekDue: Script.reading(peekDueLua(parts)),
    nextDue: Script.reading(nextDueLua),
    claimDue: Script.writingWhenFull(claimDueLua(parts)),
    extend: Script.writingWhenFull(extendLua(parts)),
    longLeases: Script.reading(longLeasesLua(parts)),
    cutShort: Script.writingWhenFull(cutShortLua(parts)),
    settleClaimed: Script.writingWhenFull(settleClaimedLua(parts)),
    find: Script.reading(findLua(parts, 'liveEntry')),
    findSettled: Script.reading(findLua(parts, 'settledEntry')),
    list: Script.withLargeReply(listLua, false),
    count: Script.reading(countLua),
    countKinds: Script.reading(countKindsLua),
    usage: Script.reading(usageLua),
    tally: Script.reading(tallyLua),
    removeDead: Script.writingWhenFull(removeDeadLua),
  })
}
