/**
 * What belongs to the store and to no shard: its format, its settings, its members. KEYS[1] is the store's hash. The other
 * keys are that name with a suffix.
 */
const clockLua = String.raw`
local STORE = KEYS[1]
local SETTINGS, MEMBERS = STORE .. ':settings', STORE .. ':members'
local function microseconds()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) * 1000 end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local function clock() return math.floor(microseconds() / 1000) end
`

/** ARGV: now. Answers the time in microseconds. */
export const nowLua = String.raw`${clockLua}
return string.format('%.0f', microseconds())
`

/** ARGV: now, and for a new store the layout version, the number of shards, the strategy, the bucket width. Answers the format. */
export const formatLua = String.raw`${clockLua}
if redis.call('EXISTS', STORE) == 0 then
  redis.call('HSET', STORE, 'format', 'carillon', 'version', ARGV[2], 'shards', ARGV[3], 'strategy', ARGV[4],
    'width', ARGV[5])
end
return redis.call('HMGET', STORE, 'format', 'version', 'shards', 'strategy', 'width')
`

/** ARGV: now, the layout version to upgrade to. Answers how many members are alive if the store is older, else 0. */
export const liveMembersLua = String.raw`${clockLua}
local now, count = clock(), 0
if tonumber(redis.call('HGET', STORE, 'version')) < tonumber(ARGV[2]) then
  local all = redis.call('HVALS', MEMBERS)
  for index = 1, #all do
    if struct.unpack('<d', all[index]) > now then count = count + 1 end
  end
end
return count
`

/** ARGV: now, the layout version to which all shards were upgraded. */
export const setVersionLua = String.raw`${clockLua}
if tonumber(redis.call('HGET', STORE, 'version')) < tonumber(ARGV[2]) then
  redis.call('HSET', STORE, 'version', ARGV[2])
end
return 1
`

/** ARGV: now, name, the version it must have or an empty string, '1' and the value, or '0' to remove it. Answers its version. */
export const putSettingLua = String.raw`${clockLua}
local text = redis.call('HGET', SETTINGS, ARGV[2])
local version = text and struct.unpack('<d', text) or 0
if ARGV[3] ~= '' and tonumber(ARGV[3]) ~= version then return false end
-- Versions count per store, not per setting. So a setting that was removed and set again has a new version.
local after = redis.call('HINCRBY', STORE, 'settings', 1)
if ARGV[4] == '1' then
  redis.call('HSET', SETTINGS, ARGV[2], struct.pack('<d', after) .. ARGV[5])
else
  redis.call('HDEL', SETTINGS, ARGV[2])
end
return after
`

/** ARGV: now, id, ttlMs, details. Answers the time in microseconds, then id and details of every member in turn. */
export const heartbeatLua = String.raw`${clockLua}
local exact = microseconds()
local now, ttl = math.floor(exact / 1000), tonumber(ARGV[3])
redis.call('HSET', MEMBERS, ARGV[2], struct.pack('<d', now + ttl) .. ARGV[4])
local all = redis.call('HGETALL', MEMBERS)
local reply = { string.format('%.0f', exact) }
for index = 1, #all, 2 do
  local expiresAt = struct.unpack('<d', all[index + 1])
  -- This heartbeat was sent while the clock was ahead.
  if expiresAt > now + 2 * ttl then
    redis.call('HSET', MEMBERS, all[index], struct.pack('<d', now + ttl) .. string.sub(all[index + 1], 9))
  end
  if expiresAt > now then
    reply[#reply + 1] = all[index]
    reply[#reply + 1] = string.sub(all[index + 1], 9)
  else
    redis.call('HDEL', MEMBERS, all[index])
  end
end
return reply
`

/** ARGV: how many messages a mailbox keeps, how long, the mark of mail, then member and message in turn. */
export const postLua = String.raw`
local members, isNamed = {}, {}
for index = 4, #ARGV, 2 do
  local member = ARGV[index]
  redis.call('RPUSH', KEYS[1] .. ':mail:' .. member, ARGV[index + 1])
  if not isNamed[member] then
    isNamed[member] = true
    members[#members + 1] = member
  end
end
for index = 1, #members do
  local key = KEYS[1] .. ':mail:' .. members[index]
  redis.call('LTRIM', key, -tonumber(ARGV[1]), -1)
  redis.call('PEXPIRE', key, ARGV[2])
  redis.call('PUBLISH', KEYS[1] .. ':wake', ARGV[3] .. members[index])
end
return 1
`

/** ARGV: the instant. Removes a limited number of entries before it. Answers how many. */
export const pruneHistoryLua = String.raw`
local count = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[1])
if count > 5000 then count = 5000 end
if count > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, count - 1) end
return count
`
