/**
 * What is the store's and no shard's: what it is, its settings, its members. KEYS[1] is the store's hash; the
 * other keys are that name and something after it.
 */
const clockLua = String.raw`
local STORE = KEYS[1]
local SETTINGS, MEMBERS = STORE .. ':settings', STORE .. ':members'
local function clock()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
`

/** ARGV: now. */
export const nowLua = String.raw`${clockLua}
return string.format('%.0f', clock())
`

/** ARGV: now, version of the layout, how many shards, strategy, width of a bucket: for a store that is not there yet. */
export const formatLua = String.raw`${clockLua}
if redis.call('EXISTS', STORE) == 0 then
  redis.call('HSET', STORE, 'format', 'carillon', 'version', ARGV[2], 'shards', ARGV[3], 'strategy', ARGV[4],
    'width', ARGV[5])
end
return redis.call('HMGET', STORE, 'format', 'version', 'shards', 'strategy', 'width')
`

/** ARGV: now, the version of the layout to be brought to. Answers how many instances keep it from that. */
export const hinderedLua = String.raw`${clockLua}
local now, count = clock(), 0
if tonumber(redis.call('HGET', STORE, 'version')) < tonumber(ARGV[2]) then
  local all = redis.call('HVALS', MEMBERS)
  for index = 1, #all do
    if struct.unpack('<d', all[index]) > now then count = count + 1 end
  end
end
return count
`

/** ARGV: now, the version of the layout that all shards have been brought to. */
export const upgradedLua = String.raw`${clockLua}
if tonumber(redis.call('HGET', STORE, 'version')) < tonumber(ARGV[2]) then
  redis.call('HSET', STORE, 'version', ARGV[2])
end
return 1
`

/** ARGV: now, name, the version it must stand at or nothing, '1' and the value or '0'. Answers its version. */
export const putSettingLua = String.raw`${clockLua}
local text = redis.call('HGET', SETTINGS, ARGV[2])
local version = text and struct.unpack('<d', text) or 0
if ARGV[3] ~= '' and tonumber(ARGV[3]) ~= version then return false end
-- Versions are the store's, not the setting's: one that went and came again is not mistaken for the old one.
local after = redis.call('HINCRBY', STORE, 'settings', 1)
if ARGV[4] == '1' then
  redis.call('HSET', SETTINGS, ARGV[2], struct.pack('<d', after) .. ARGV[5])
else
  redis.call('HDEL', SETTINGS, ARGV[2])
end
return after
`

/** ARGV: now, id, ttlMs, details. Answers the time, and id and details of every member in turn. */
export const heartbeatLua = String.raw`${clockLua}
local now = clock()
redis.call('HSET', MEMBERS, ARGV[2], struct.pack('<d', now + tonumber(ARGV[3])) .. ARGV[4])
local all = redis.call('HGETALL', MEMBERS)
local reply = { string.format('%.0f', now) }
for index = 1, #all, 2 do
  if struct.unpack('<d', all[index + 1]) > now then
    reply[#reply + 1] = all[index]
    reply[#reply + 1] = string.sub(all[index + 1], 9)
  else
    redis.call('HDEL', MEMBERS, all[index])
  end
end
return reply
`

/** ARGV: the instant. Drops a bounded number of entries before it; answers how many. */
export const pruneHistoryLua = String.raw`
local count = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[1])
if count > 5000 then count = 5000 end
if count > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, count - 1) end
return count
`
