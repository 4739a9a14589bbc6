/**
 * What every script of a shard begins with: the names of its keys, the store's clock, places as text, the shard's
 * row and its fence. KEYS[1] is the shard's hash; all other keys are that name and something after it, in the
 * same slot. ARGV[1] is the time by a clock other than the server's, for tests; empty for the server's own.
 *
 * A place is 26 hexadecimal digits, 14 of the position and 12 of the revision, so that the order of texts is the
 * order of places. `refuse` ends a script; nothing may have been written before it.
 */
export const shardLua = String.raw`
local SHARD = KEYS[1]
local PARTS, NAMES = SHARD .. ':parts3', SHARD .. ':names'
local FIRST = '00000000000000000000000000'
local AT_ONCE = 3000

local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function place(position, revision) return string.format('%014x%012x', position, revision) end
local function positionOf(text) return tonumber(string.sub(text, 1, 14), 16) end
local function revisionOf(text) return tonumber(string.sub(text, 15, 26), 16) end

local row = redis.call('HMGET', SHARD, 'epoch', 'nonce', 'owner', 'lease', 'read', 'settled', 'settlement',
  'rev', 'sbefore', 'srev', 'sdue')
local epoch, nonce, owner = tonumber(row[1] or '0'), row[2] or '0', row[3] or ''
local lease, read, settled = tonumber(row[4] or '0'), row[5] or FIRST, row[6] or FIRST
local revision = tonumber(row[8] or '0')

local function shardReply()
  return { string.format('%.0f', epoch), nonce, owner, string.format('%.0f', lease), read, settled,
    row[7] or '0', row[9] or FIRST, row[10] or '0', row[11] or '0' }
end

local function refuse(code, message) return redis.error_reply(code .. ' ' .. message) end

local function shown(text) return string.format('%.0f/%.0f', positionOf(text), revisionOf(text)) end

-- Undefined when the fence holds. ARGV[2] to ARGV[4]: epoch, nonce, the settled level its owner was told.
local function fenced()
  if tonumber(ARGV[2]) ~= epoch or ARGV[3] ~= nonce then
    return refuse('FENCED', string.format('it is at epoch %.0f of %s, the call came with epoch %s', epoch,
      owner == '' and 'nobody' or owner, ARGV[2]))
  end
  if settled < ARGV[4] then
    return refuse('FENCED', 'it went back in time: it is settled to ' .. shown(settled) ..
      ', its owner was told ' .. shown(ARGV[4]))
  end
end

-- Calls a command with many arguments, some at a time: Lua has room for some thousands on its stack.
local function many(command, key, list)
  local count = #list
  for from = 1, count, AT_ONCE do
    redis.call(command, key, unpack(list, from, math.min(from + AT_ONCE - 1, count)))
  end
end

local function fetched(key, fields)
  local count = #fields
  if count == 0 then return {} end
  if count <= AT_ONCE then return redis.call('HMGET', key, unpack(fields)) end
  local all = {}
  for from = 1, count, AT_ONCE do
    local some = redis.call('HMGET', key, unpack(fields, from, math.min(from + AT_ONCE - 1, count)))
    for index = 1, #some do all[from + index - 1] = some[index] end
  end
  return all
end
`
