import { shardLua } from './shard.lua.js'

/** ARGV: now, owner, nonce, leaseMs, the epoch that the new owner saw. Answers nothing when it is refused. */
export const acquireLua = String.raw`${shardLua}
local now, expected = clock(), tonumber(ARGV[5])
if owner == ARGV[2] and nonce == ARGV[3] and epoch == expected + 1 then return shardReply() end
if epoch ~= expected or (owner ~= '' and lease > now) then return false end
if owner ~= '' then
  local before = row[9] or FIRST
  if before < read then before = read end
  row[9], row[10], row[11] = before, string.format('%.0f', revision), string.format('%.0f', lease)
end
raiseLate()
epoch, nonce, owner, lease, read = epoch + 1, ARGV[3], ARGV[2], now + tonumber(ARGV[4]), settled
redis.call('HSET', SHARD, 'epoch', string.format('%.0f', epoch), 'nonce', nonce, 'owner', owner,
  'lease', string.format('%.0f', lease), 'read', read, 'sbefore', row[9] or FIRST, 'srev', row[10] or '0',
  'sdue', row[11] or '0', 'late', string.format('%.0f', late))
return shardReply()
`

/** ARGV: now, the fence, leaseMs. */
export const renewLua = String.raw`${shardLua}
local refusal = checkFence()
if refusal then return refusal end
lease = clock() + tonumber(ARGV[5])
redis.call('HSET', SHARD, 'lease', string.format('%.0f', lease))
return shardReply()
`

/** ARGV: now, the fence, the new nonce, leaseMs. */
export const refenceLua = String.raw`${shardLua}
if nonce == ARGV[5] and epoch == tonumber(ARGV[2]) + 1 then return shardReply() end
local refusal = checkFence()
if refusal then return refusal end
epoch, nonce, lease = epoch + 1, ARGV[5], clock() + tonumber(ARGV[6])
redis.call('HSET', SHARD, 'epoch', string.format('%.0f', epoch), 'nonce', nonce,
  'lease', string.format('%.0f', lease))
return shardReply()
`

/** ARGV: now, the fence. */
export const releaseLua = String.raw`${shardLua}
local refusal = checkFence()
if refusal then return refusal end
redis.call('HSET', SHARD, 'owner', '', 'nonce', '0', 'lease', '0')
return shardReply()
`

/** ARGV: now, the fence, the read level that the owner expects, the level to lower it to. */
export const lowerLua = String.raw`${shardLua}
local refusal = checkFence()
if refusal then return refusal end
if read ~= ARGV[5] then
  return refuse('FENCED', 'the read level is ' .. shown(read) .. ', but the call expects ' .. shown(ARGV[5]))
end
if ARGV[6] > read or ARGV[6] < settled then
  return refuse('LEVEL', 'cannot lower the read level from ' .. shown(read) .. ' to ' .. shown(ARGV[6]) ..
    ': it can go down to the settled level ' .. shown(settled))
end
raiseLate()
redis.call('HSET', SHARD, 'read', ARGV[6], 'late', string.format('%.0f', late))
return shardReply()
`
