import { inboxLua } from './inbox.lua.js'
import { shardLua } from './shard.lua.js'

/**
 * Upgrades a shard of layout 1 or 2 to layout 3. Does nothing on a shard that was upgraded before.
 *
 * - Layout 2 changed the inbox: before, each request and each answer was stored separately.
 * - Layout 3 added chunks. A process that knows only layout 2 would not see them and take their rows for settled. So the
 *   sorted set of parts got a new name, and the old key is now a string: such a process gets an error.
 */
export const upgradeLua = String.raw`${shardLua}${inboxLua}
local before = SHARD .. ':parts'
if redis.call('TYPE', before).ok == 'zset' then redis.call('RENAME', before, PARTS) end
redis.call('SET', before, 'of layout 3: see parts3')
local ids = redis.call('ZRANGE', SHARD .. ':inbox', 0, -1)
local bodies = getFields(SHARD .. ':requests', ids)
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
  callMany('HSET', ASKED, marks)
  redis.call('RPUSH', INBOX, cmsgpack.pack(marks), table.concat(requests))
end
local answers = redis.call('HGETALL', SHARD .. ':answers')
for index = 1, #answers, 2 do answer(answers[index], string.sub(answers[index + 1], 1, 8), string.sub(answers[index + 1], 9)) end
flushAnswers(clock())
redis.call('UNLINK', SHARD .. ':inbox', SHARD .. ':requests', SHARD .. ':answers', SHARD .. ':answerorder')
return 1
`
