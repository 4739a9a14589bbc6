import { shardLua } from './shard.lua.js'

/**
 * Requests and what became of them. INBOX has the ids of requests in the order of arrival, REQUESTS the requests,
 * each after its deadline; ANSWERS has outcomes, each after its deadline, and ANSWERORDER their ids by deadline.
 */
export const inboxLua = String.raw`
local INBOX, REQUESTS = SHARD .. ':inbox', SHARD .. ':requests'
local ANSWERS, ANSWERORDER = SHARD .. ':answers', SHARD .. ':answerorder'

local function forget(now)
  local over = redis.call('ZRANGEBYSCORE', ANSWERORDER, '-inf', now, 'LIMIT', 0, 500)
  if #over == 0 then return end
  redis.call('HDEL', ANSWERS, unpack(over))
  redis.call('ZREM', ANSWERORDER, unpack(over))
end

local function answer(id, deadline, outcome)
  redis.call('HDEL', REQUESTS, id)
  redis.call('ZREM', INBOX, id)
  redis.call('HSET', ANSWERS, id, struct.pack('<d', deadline) .. outcome)
  redis.call('ZADD', ANSWERORDER, deadline, id)
end
`

/** ARGV: now, how many requests, the requests. Answers a letter for each: appended, before, expired. */
export const appendLua = String.raw`${shardLua}${inboxLua}
local now, blob, at, letters = clock(), ARGV[3], 1, {}
for index = 1, tonumber(ARGV[2]) do
  local id, deadline, body
  id, deadline, body, at = struct.unpack('<Bc0dI4c0', blob, at)
  local before = redis.call('HGET', ANSWERS, id)
  if before and struct.unpack('<d', before) > now then
    letters[index] = 'b'
  elseif redis.call('HEXISTS', REQUESTS, id) == 1 then
    letters[index] = 'a'
  elseif deadline <= now then
    letters[index] = 'e'
  else
    redis.call('HSET', REQUESTS, id, struct.pack('<d', deadline) .. body)
    redis.call('ZADD', INBOX, redis.call('HINCRBY', SHARD, 'arrivals', 1), id)
    letters[index] = 'a'
  end
end
forget(now)
return table.concat(letters)
`

/** ARGV: now, the fence, how many. Answers ids and requests in turn. */
export const requestsLua = String.raw`${shardLua}${inboxLua}
local refusal = fenced()
if refusal then return refusal end
local ids = redis.call('ZRANGE', INBOX, 0, tonumber(ARGV[5]) - 1)
local bodies, reply = fetched(REQUESTS, ids), {}
for index = 1, #ids do
  reply[2 * index - 1] = ids[index]
  reply[2 * index] = bodies[index]
end
return reply
`

/** ARGV: now, the ids. */
export const answersLua = String.raw`${shardLua}${inboxLua}
local now, ids = clock(), {}
for index = 2, #ARGV do ids[index - 1] = ARGV[index] end
local found = fetched(ANSWERS, ids)
for index = 1, #found do
  local text = found[index]
  found[index] = text and struct.unpack('<d', text) > now and string.sub(text, 9) or ''
end
return found
`
