/**
 * The beginning of every script of a shard: its keys, the store's clock, places as strings, the shard row and its fence.
 * KEYS[1] is the shard's hash. All other keys are that name with a suffix, so they are in the same cluster slot. ARGV[1]
 * is the time of a test's clock, or an empty string for the server's clock.
 *
 * A place is 26 hexadecimal digits, 14 for the position and 12 for the revision. So the order of the strings is the order
 * of the places. `refuse` ends a script, and nothing may have been written before it.
 */
export const shardLua = String.raw`
local SHARD = KEYS[1]
local PARTS, NAMES = SHARD .. ':parts3', SHARD .. ':names'
local FIRST = '00000000000000000000000000'
local MAX_ARGS = 3000

local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function place(position, revision) return string.format('%014x%012x', position, revision) end
local function positionOf(text) return tonumber(string.sub(text, 1, 14), 16) end
local function revisionOf(text) return tonumber(string.sub(text, 15, 26), 16) end

local row = redis.call('HMGET', SHARD, 'epoch', 'nonce', 'owner', 'lease', 'read', 'settled', 'settlement',
  'rev', 'sbefore', 'srev', 'sdue', 'late')
local epoch, nonce, owner = tonumber(row[1] or '0'), row[2] or '0', row[3] or ''
local lease, read, settled = tonumber(row[4] or '0'), row[5] or FIRST, row[6] or FIRST
local revision, late = tonumber(row[8] or '0'), tonumber(row[12] or '0')

local function shardReply()
  return { string.format('%.0f', epoch), nonce, owner, string.format('%.0f', lease), read, settled,
    row[7] or '0', row[9] or FIRST, row[10] or '0', row[11] or '0', string.format('%.0f', late) }
end

-- The read level is about to be lowered. Rows below it may be due before their position.
local function raiseLate()
  late = math.max(late, positionOf(read) + (revisionOf(read) > 0 and 1 or 0))
end

local function refuse(code, message) return redis.error_reply(code .. ' ' .. message) end

local function shown(text) return string.format('%.0f/%.0f', positionOf(text), revisionOf(text)) end

-- Nil when the fence matches. ARGV[2] to ARGV[4]: epoch, nonce, the settled level that the owner knows.
local function checkFence()
  if tonumber(ARGV[2]) ~= epoch or ARGV[3] ~= nonce then
    return refuse('FENCED', string.format('the shard is at epoch %.0f, owned by %s, but the call has epoch %s', epoch,
      owner == '' and 'nobody' or owner, ARGV[2]))
  end
  if settled < ARGV[4] then
    return refuse('FENCED', 'the shard went back in time: its settled level is ' .. shown(settled) ..
      ', but it confirmed ' .. shown(ARGV[4]) .. ' to its owner')
  end
end

-- Calls a command with many arguments, some at a time: Lua's stack holds only some thousands.
local function callMany(command, key, list)
  local count = #list
  for from = 1, count, MAX_ARGS do
    redis.call(command, key, unpack(list, from, math.min(from + MAX_ARGS - 1, count)))
  end
end

local function getFields(key, fields)
  local count = #fields
  if count == 0 then return {} end
  if count <= MAX_ARGS then return redis.call('HMGET', key, unpack(fields)) end
  local all = {}
  for from = 1, count, MAX_ARGS do
    local some = redis.call('HMGET', key, unpack(fields, from, math.min(from + MAX_ARGS - 1, count)))
    for index = 1, #some do all[from + index - 1] = some[index] end
  end
  return all
end
`
