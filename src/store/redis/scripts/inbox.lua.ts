import { shardLua } from './shard.lua.js'

/**
 * Requests and what became of them. INBOX is a list of batches, each two elements: the marks of its requests, and
 * the requests as whoever asks packed them, which no script looks into. ASKED has the mark of each request by its id:
 * 8 bytes of its deadline while it waits, and the outcome after them once it is answered. ANSWERED is a list of
 * answered ids, those of one write together, after the latest of their deadlines. A batch goes when nothing in it
 * waits any more, so that where INBOX is, something waits.
 */
export const inboxLua = String.raw`
local INBOX, ASKED, ANSWERED = SHARD .. ':in', SHARD .. ':asked', SHARD .. ':answered'
local answered, marked, latest = {}, {}, 0

local function isWaiting(mark) return mark and #mark == 8 end
local function deadlineOf(mark) return (struct.unpack('<d', mark)) end

-- Answers are kept until their deadline; a few batches of those that are over go with every call.
local function forget(now)
  for _ = 1, 4 do
    local first = redis.call('LINDEX', ANSWERED, 0)
    if not first or deadlineOf(first) > now then return end
    local ids, over = cmsgpack.unpack(string.sub(first, 9)), {}
    local marks = fetched(ASKED, ids)
    for index = 1, #ids do
      local mark = marks[index]
      -- An id may have been asked with again since.
      if mark and not isWaiting(mark) and deadlineOf(mark) <= now then over[#over + 1] = ids[index] end
    end
    many('HDEL', ASKED, over)
    redis.call('LPOP', ANSWERED)
  end
end

local function answer(id, mark, outcome)
  local deadline = deadlineOf(mark)
  if deadline > latest then latest = deadline end
  answered[#answered + 1] = id
  marked[#marked + 1] = id
  marked[#marked + 1] = mark .. outcome
end

local function takeAnswersBack() answered, marked, latest = {}, {}, 0 end

-- Whether nothing waits of a batch, given its marks and what was answered just now.
local function isOver(batch, known)
  local others = {}
  for index = 1, #batch, 2 do
    if not known[batch[index]] then others[#others + 1] = batch[index] end
  end
  local marks = fetched(ASKED, others)
  for index = 1, #others do
    if isWaiting(marks[index]) then return false end
  end
  return true
end

local function flushAnswers(now)
  if #answered == 0 then return end
  many('HSET', ASKED, marked)
  redis.call('RPUSH', ANSWERED, struct.pack('<d', latest) .. cmsgpack.pack(answered))
  local known = {}
  for index = 1, #answered do known[answered[index]] = true end
  local first = redis.call('LINDEX', INBOX, 0)
  while first and isOver(cmsgpack.unpack(first), known) do
    redis.call('LPOP', INBOX, 2)
    first = redis.call('LINDEX', INBOX, 0)
  end
  forget(now)
end
`

/**
 * ARGV: now, the earliest of their deadlines, the marks (ids and marks in turn), the requests. Answers nothing when
 * all were appended. Otherwise nothing was, and there is a letter for each: appended before, answered before, expired,
 * or new.
 */
export const appendLua = String.raw`${shardLua}${inboxLua}
local now, batch, ids = clock(), cmsgpack.unpack(ARGV[3]), {}
for index = 1, #batch, 2 do ids[#ids + 1] = batch[index] end
local marks, isNew = fetched(ASKED, ids), tonumber(ARGV[2]) > now
for index = 1, #ids do
  if marks[index] then isNew = false end
end
if isNew then
  -- Redis keeps a small hash as a list, which it searches from the beginning, until something long is put into it.
  redis.call('HSETNX', ASKED, '', string.rep('-', 100))
  local added = 0
  for from = 1, #batch, AT_ONCE do
    added = added + redis.call('HSET', ASKED, unpack(batch, from, math.min(from + AT_ONCE - 1, #batch)))
  end
  if added == #ids then
    redis.call('RPUSH', INBOX, ARGV[3], ARGV[4])
    forget(now)
    return ''
  end
  -- One of them came twice in this call.
  many('HDEL', ASKED, ids)
end
local letters, seen = {}, {}
for index = 1, #ids do
  local id, mark = ids[index], marks[index]
  if mark and not isWaiting(mark) and deadlineOf(mark) > now then
    letters[index] = 'b'
  elseif isWaiting(mark) or seen[id] then
    letters[index] = 'a'
  elseif deadlineOf(batch[2 * index]) <= now then
    letters[index] = 'e'
  else
    -- Of an answer that is over nothing is left to say.
    if mark then redis.call('HDEL', ASKED, id) end
    letters[index], seen[id] = 'n', true
  end
end
return table.concat(letters)
`

/** ARGV: now, the fence, how many. Answers for each batch in turn '1' or '0' for each request, and the requests. */
export const requestsLua = String.raw`${shardLua}${inboxLua}
local refusal = fenced()
if refusal then return refusal end
local most, count, at, reply = tonumber(ARGV[5]), 0, 0, {}
while count < most do
  local pair = redis.call('LRANGE', INBOX, at, at + 1)
  if #pair == 0 then break end
  local batch, ids, flags = cmsgpack.unpack(pair[1]), {}, {}
  for index = 1, #batch, 2 do ids[#ids + 1] = batch[index] end
  local marks = fetched(ASKED, ids)
  for index = 1, #ids do
    local isOne = isWaiting(marks[index])
    flags[index] = isOne and '1' or '0'
    if isOne then count = count + 1 end
  end
  reply[at + 1], reply[at + 2] = table.concat(flags), pair[2]
  at = at + 2
end
return reply
`

/** ARGV: now, the ids. */
export const answersLua = String.raw`${shardLua}${inboxLua}
local now, ids = clock(), {}
for index = 2, #ARGV do ids[index - 1] = ARGV[index] end
local found = fetched(ASKED, ids)
for index = 1, #found do
  local mark = found[index]
  found[index] = mark and deadlineOf(mark) > now and string.sub(mark, 9) or ''
end
return found
`
