import type { RedisFormat } from './format.js'
import type { RedisTuning } from './redis-store-options.js'
import { Script } from './script.js'
import { claimDueLua, extendLua, nextDueLua, peekDueLua, settleClaimedLua } from './scripts/claims.lua.js'
import { answersLua, appendLua, requestsLua } from './scripts/inbox.lua.js'
import { claimLua, lowerLua, refenceLua, releaseLua, renewLua } from './scripts/ownership.lua.js'
import { partsLua } from './scripts/parts.lua.js'
import { countLua, findLua, listLua, loadLua, tallyLua, usageLua } from './scripts/read.lua.js'
import { removeDeadLua } from './scripts/records.lua.js'
import { settleLua, sweepLua } from './scripts/settle.lua.js'
import { writeLua } from './scripts/write.lua.js'

// A part that is cut by time becomes this many: so much may come before they have to be cut again.
const PIECES = 32

export type ShardScripts = ReturnType<typeof shardScripts>

/** The scripts of a shard. The width of its buckets is part of a store's format; how large its parts and chunks are is not. */
export function shardScripts({ bucketMs, strategy }: RedisFormat, { partRows, chunkRows }: RedisTuning) {
  // Claims take every row by itself.
  const parts = partsLua(bucketMs, partRows, PIECES, strategy === 'claim' ? Infinity : chunkRows)
  return Object.freeze({
    claim: Script.writing(claimLua),
    renew: Script.writing(renewLua),
    refence: Script.writing(refenceLua),
    release: Script.writing(releaseLua),
    lower: Script.writing(lowerLua),
    load: Script.paging(loadLua, true),
    write: Script.writing(writeLua(parts)),
    settle: Script.writing(settleLua(parts)),
    sweep: Script.writing(sweepLua),
    append: Script.writing(appendLua),
    requests: Script.reading(requestsLua),
    answers: Script.reading(answersLua),
    peekDue: Script.reading(peekDueLua(parts)),
    nextDue: Script.reading(nextDueLua),
    claimDue: Script.writing(claimDueLua(parts)),
    extend: Script.writing(extendLua(parts)),
    settleClaimed: Script.writing(settleClaimedLua(parts)),
    find: Script.reading(findLua(parts)),
    list: Script.paging(listLua, false),
    count: Script.reading(countLua),
    usage: Script.reading(usageLua),
    tally: Script.reading(tallyLua),
    removeDead: Script.writing(removeDeadLua),
  })
}
