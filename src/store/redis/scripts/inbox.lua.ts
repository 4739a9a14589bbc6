import { shardLua } from './shard.lua.js'

/**
 * Requests and their answers.
 *
 * - INBOX is a list of batches, two elements each: ids and marks of the requests in turn, and the requests as their
 *   sender packed them. No script unpacks a request. A batch is removed when none of its requests waits any more. So
 *   INBOX exists only while a request waits.
 * - ASKED has the mark of each request by its id: 8 bytes for the deadline, followed by the outcome once it is answered.
 *   Under the empty id, which no request has, it keeps the latest deadline of all forgotten answers. A request whose
 *   deadline is not after that one is refused as expired: it might otherwise be applied twice.
 * - WAITING has the last set for each name since the inbox was last empty: its id, after '.' if no other set for the name
 *   waited when it came, and after '+' otherwise. Sets of one name are answered in their order: if the last of them is
 *   answered, all are. It has an entry for the empty name, so that it exists whenever INBOX does. Without it,
 *   an older version has appended requests whose names are not known.
 * - ANSWERED is a list of the answered ids of each write, after the latest of their deadlines.
 *
 * Proven by test/store/redis/inbox.test.ts.
 */
export const inboxLua = String.raw`
local INBOX, ASKED, ANSWERED, WAITING = SHARD .. ':in', SHARD .. ':asked', SHARD .. ':answered', SHARD .. ':waiting'
local answered, marked, latest = {}, {}, 0

local function isWaiting(mark) return mark and #mark == 8 end
local function deadlineOf(mark) return (struct.unpack('<d', mark)) end

-- Redis stores a small hash as a list, which it searches from the start, until the hash gets a long value.
local NO_ID, PADDING = '', string.rep('-', 100)
local function lastForgotten(mark) return mark and deadlineOf(mark) or 0 end

-- The entries of names that a set waits for, by their index. Nil if the names of requests are not known.
local function waitingFor(names)
  if redis.call('EXISTS', INBOX) == 0 then return {} end
  if redis.call('EXISTS', WAITING) == 0 then return nil end
  local entries, ids, at = getFields(WAITING, names), {}, {}
  for index = 1, #names do
    if entries[index] then
      ids[#ids + 1] = string.sub(entries[index], 2)
      at[#at + 1] = index
    end
  end
  local marks, found = getFields(ASKED, ids), {}
  for index = 1, #ids do
    if isWaiting(marks[index]) then found[at[index]] = entries[at[index]] end
  end
  return found
end

-- Notes the names of new sets. A request that is no set has an empty one.
local function noteNames(names, ids)
  local waiting = waitingFor(names)
  if not waiting then return end
  if redis.call('EXISTS', INBOX) == 0 then redis.call('UNLINK', WAITING) end
  local noted, seen = { '', '' }, {}
  for index = 1, #names do
    local name = names[index]
    if name ~= '' then
      noted[#noted + 1] = name
      noted[#noted + 1] = ((waiting[index] or seen[name]) and '+' or '.') .. ids[index]
      seen[name] = true
    end
  end
  callMany('HSET', WAITING, noted)
end

-- Answers are kept until their deadline. Each call removes a few batches of those that are past it.
local function forget(now)
  local last = 0
  for _ = 1, 4 do
    local first = redis.call('LINDEX', ANSWERED, 0)
    if not first or deadlineOf(first) > now then break end
    local ids, over = cmsgpack.unpack(string.sub(first, 9)), {}
    local marks = getFields(ASKED, ids)
    for index = 1, #ids do
      local mark = marks[index]
      -- The id may have been used again since.
      if mark and not isWaiting(mark) and deadlineOf(mark) <= now then
        over[#over + 1] = ids[index]
        last = math.max(last, deadlineOf(mark))
      end
    end
    callMany('HDEL', ASKED, over)
    redis.call('LPOP', ANSWERED)
  end
  if last > lastForgotten(redis.call('HGET', ASKED, NO_ID)) then
    redis.call('HSET', ASKED, NO_ID, struct.pack('<d', last) .. PADDING)
  end
end

local function answer(id, mark, outcome)
  local deadline = deadlineOf(mark)
  if deadline > latest then latest = deadline end
  answered[#answered + 1] = id
  marked[#marked + 1] = id
  marked[#marked + 1] = mark .. outcome
end

local function discardAnswers() answered, marked, latest = {}, {}, 0 end

-- Whether no request of a batch waits any more, given the ids that this call answers.
local function isOver(batch, known)
  local others = {}
  for index = 1, #batch, 2 do
    if not known[batch[index]] then others[#others + 1] = batch[index] end
  end
  local marks = getFields(ASKED, others)
  for index = 1, #others do
    if isWaiting(marks[index]) then return false end
  end
  return true
end

local function flushAnswers(now)
  if #answered == 0 then return end
  callMany('HSET', ASKED, marked)
  redis.call('RPUSH', ANSWERED, struct.pack('<d', latest) .. cmsgpack.pack(answered))
  local known = {}
  for index = 1, #answered do known[answered[index]] = true end
  local first = redis.call('LINDEX', INBOX, 0)
  while first and isOver(cmsgpack.unpack(first), known) do
    redis.call('LPOP', INBOX, 2)
    first = redis.call('LINDEX', INBOX, 0)
  end
  if not first then redis.call('UNLINK', WAITING) end
  forget(now)
end
`

/**
 * ARGV: now, the earliest deadline, ids and marks in turn, the requests, their names. Answers an empty string when all were appended.
 * Otherwise none was, and the answer has a letter for each: a (appended before), b (answered before), e (expired) or
 * n (new).
 */
export const appendLua = String.raw`${shardLua}${inboxLua}
local now, batch, ids = clock(), cmsgpack.unpack(ARGV[3]), {}
for index = 1, #batch, 2 do ids[#ids + 1] = batch[index] end
local marks = getFields(ASKED, ids)
local closed = math.max(now, lastForgotten(redis.call('HGET', ASKED, NO_ID)))
local isNew = tonumber(ARGV[2]) > closed
for index = 1, #ids do
  if marks[index] then isNew = false end
end
if isNew then
  redis.call('HSETNX', ASKED, NO_ID, struct.pack('<d', 0) .. PADDING)
  local added = 0
  for from = 1, #batch, MAX_ARGS do
    added = added + redis.call('HSET', ASKED, unpack(batch, from, math.min(from + MAX_ARGS - 1, #batch)))
  end
  if added == #ids then
    noteNames(cmsgpack.unpack(ARGV[5]), ids)
    redis.call('RPUSH', INBOX, ARGV[3], ARGV[4])
    forget(now)
    return ''
  end
  -- This call has the same id twice.
  callMany('HDEL', ASKED, ids)
end
local letters, seen = {}, {}
for index = 1, #ids do
  local id, mark = ids[index], marks[index]
  if mark and not isWaiting(mark) then
    letters[index] = deadlineOf(mark) > now and 'b' or 'e'
  elseif isWaiting(mark) or seen[id] then
    letters[index] = 'a'
  elseif deadlineOf(batch[2 * index]) <= closed then
    letters[index] = 'e'
  else
    letters[index], seen[id] = 'n', true
  end
end
return table.concat(letters)
`

/**
 * ARGV: now, names, ids. Answers a letter for each: '1' if the request waits, no other does for its name, and no timer has
 * the name. It answers '0' for a request that is not the last for its name.
 */
export const areFreeLua = String.raw`${shardLua}${inboxLua}
local names, ids, letters = cmsgpack.unpack(ARGV[2]), cmsgpack.unpack(ARGV[3]), {}
local waiting, entries = waitingFor(names), getFields(NAMES, names)
for index = 1, #names do
  local entry = entries[index]
  local isTaken = entry and string.sub(entry, 1, 26) >= settled
  letters[index] = waiting and waiting[index] == '.' .. ids[index] and not isTaken and '1' or '0'
end
return table.concat(letters)
`

/** ARGV: now, names. Answers a letter for each: '1' if a request for it waits. */
export const areWaitingLua = String.raw`${shardLua}${inboxLua}
local names, letters = cmsgpack.unpack(ARGV[2]), {}
local waiting = waitingFor(names)
for index = 1, #names do letters[index] = (not waiting or waiting[index]) and '1' or '0' end
return table.concat(letters)
`

/** ARGV: now, the fence, how many. Answers for each batch a flag per request ('1': it waits), and the requests. */
export const requestsLua = String.raw`${shardLua}${inboxLua}
local refusal = checkFence()
if refusal then return refusal end
local most, count, at, reply = tonumber(ARGV[5]), 0, 0, {}
while count < most do
  local pair = redis.call('LRANGE', INBOX, at, at + 1)
  if #pair == 0 then break end
  local batch, ids, flags = cmsgpack.unpack(pair[1]), {}, {}
  for index = 1, #batch, 2 do ids[#ids + 1] = batch[index] end
  local marks = getFields(ASKED, ids)
  for index = 1, #ids do
    local waits = isWaiting(marks[index])
    flags[index] = waits and '1' or '0'
    if waits then count = count + 1 end
  end
  reply[at + 1], reply[at + 2] = table.concat(flags), pair[2]
  at = at + 2
end
return reply
`

/** ARGV: now, the ids. Answers an outcome for each, empty while it waits and after its deadline. */
export const answersLua = String.raw`${shardLua}${inboxLua}
local now, ids = clock(), {}
for index = 2, #ARGV do ids[index - 1] = ARGV[index] end
local found = getFields(ASKED, ids)
for index = 1, #found do
  local mark = found[index]
  found[index] = mark and deadlineOf(mark) > now and string.sub(mark, 9) or ''
end
return found
`
