import { inboxLua } from './inbox.lua.js'
import { shardLua } from './shard.lua.js'

/**
 * Brings a shard of layout 1 or 2 to layout 3. Layout 2 got another inbox: before, each request and each answer lay by
 * itself. Layout 3 got chunks, which whoever knows only layout 2 would pass over and take for settled: so the sorted set
 * of parts has another name, and what they would look into is no longer one. Does nothing where that was done.
 */
export const upgradeLua = String.raw`${shardLua}${inboxLua}
local before = SHARD .. ':parts'
if redis.call('TYPE', before).ok == 'zset' then redis.call('RENAME', before, PARTS) end
redis.call('SET', before, 'of layout 3: see parts3')
local ids = redis.call('ZRANGE', SHARD .. ':inbox', 0, -1)
local bodies = fetched(SHARD .. ':requests', ids)
for from = 1, #ids, 250 do
  local marks, requests = {}, {}
  for index = from, math.min(from + 249, #ids) do
    local id, body = ids[index], bodies[index]
    local deadline = string.sub(body, 1, 8)
    marks[#marks + 1] = id
    marks[#marks + 1] = deadline
    local request = deadline .. struct.pack('<Bc0', #id, id) .. '\0' .. string.sub(body, 9)
    requests[#requests + 1] = struct.pack('<I4', #request) .. request
  end
  many('HSET', ASKED, marks)
  redis.call('RPUSH', INBOX, cmsgpack.pack(marks), table.concat(requests))
end
local answers = redis.call('HGETALL', SHARD .. ':answers')
for index = 1, #answers, 2 do answer(answers[index], string.sub(answers[index + 1], 1, 8), string.sub(answers[index + 1], 9)) end
flushAnswers(clock())
redis.call('UNLINK', SHARD .. ':inbox', SHARD .. ':requests', SHARD .. ':answers', SHARD .. ':answerorder')
return 1
`
