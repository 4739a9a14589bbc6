/**
 * Plain sets: sets without conditions and notes, nearly all of large batches. Their texts come as they are stored:
 * one column has, in the order of the operations, each name and what NAMES is to say of it; the other, in the order
 * of places, each place and value; a third, when they answer requests, the ids of those. So where every name is new
 * and every request waits, each column is handed on as it is, and the script ends here. Where one is not, the columns of
 * other operations are made of them, and nothing has happened.
 *
 * The revisions in them are what the caller believes them to be; where it is mistaken the texts are put right.
 */
export const plainLua = String.raw`
local kinds, names, positions, identities, contents, extras

-- Places that begin with the revision after the last.
local function putRight(named, rows, shift)
  local texts = {}
  for index = 2, #named, 2 do
    local entry = named[index]
    local text = sub(entry, 1, 14) .. format('%012x', revisionOf(entry) + shift)
    texts[sub(entry, 1, 26)] = text
    named[index] = text .. sub(entry, 27)
  end
  for index = 1, #rows, 2 do rows[index] = texts[rows[index]] end
end

-- Whether rows between two places can begin a part of their own, because none of this part stands among them and not
-- the most of it behind. What does stand behind gets another.
local function cleared(part, first, last)
  local fields, behind, next = redis.call('HKEYS', partKey(part)), {}, nil
  for index = 1, #fields do
    local field = fields[index]
    if field > first then
      if field < last then return false end
      behind[#behind + 1] = field
      if not next or field < next then next = field end
    end
  end
  if #behind > #fields / 2 then return false end
  if next then moveRows(part, next, behind) end
  return true
end

-- Puts rows, which come in the order of their places, into their parts. What there is no room for begins a part where it
-- stands, if that can be: so what comes in the order of time is never moved. Answers the parts that may be too large.
local function putRows(rows)
  local parts, first, size = {}, 1, #rows
  while first < size do
    local text = rows[first]
    local position = positionOf(text)
    local start = position - position % WIDTH
    local from, untilExclusive = place(start, 0), place(start + WIDTH, 0)
    local part = redis.call('ZREVRANGEBYLEX', PARTS, '[' .. text, '[' .. from, 'LIMIT', 0, 1)[1]
    local after = redis.call('ZRANGEBYLEX', PARTS, '(' .. text, '(' .. untilExclusive, 'LIMIT', 0, 1)[1]
    if after then untilExclusive = after end
    local last = size - 1
    if rows[last] >= untilExclusive then
      -- The last row before the end: of row number low it is so, of row number high not.
      local low, high = (first + 1) / 2, size / 2
      while high - low > 1 do
        local middle = math.floor((low + high) / 2)
        if rows[2 * middle - 1] < untilExclusive then low = middle else high = middle end
      end
      last = 2 * low - 1
    end
    local isNew = not part
    if isNew then
      part = from
    elseif redis.call('HLEN', partKey(part)) + (last - first) / 2 + 1 > LARGE then
      isNew = cleared(part, text, rows[last])
      if isNew then part = text else parts[part] = true end
    end
    while first <= last do
      -- A new one gets no more than it may hold; what is left begins the next.
      local piece = isNew and math.min(first + 2 * LARGE - 2, last) or last
      if isNew then redis.call('ZADD', PARTS, 0, part) end
      for index = first, piece, CHUNK do
        redis.call('HSET', partKey(part), unpack(rows, index, math.min(index + CHUNK - 1, piece + 1)))
      end
      first = piece + 2
      part = rows[first]
    end
  end
  return parts
end

if ARGV[6] ~= '' then
  local named, rows = cmsgpack.unpack(ARGV[7]), cmsgpack.unpack(ARGV[8])
  local size, count = #named, #named / 2
  local shift = revision - tonumber(ARGV[6])
  if shift ~= 0 then putRight(named, rows, shift) end
  names = {}
  for index = 1, count do names[index] = named[2 * index - 1] end
  local found, isNew = fetched(NAMES, names), sub(rows[1], 1, 14) >= sub(settled, 1, 14)
  for index = 1, count do
    if found[index] then isNew = false end
  end
  local ids = ARGV[9] ~= '' and cmsgpack.unpack(ARGV[9])
  if ids and isNew then
    local marks, seen = fetched(ASKED, ids), {}
    for index = 1, count do
      local id, mark = ids[index], marks[index]
      if isWaiting(mark) and not seen[id] then answer(id, mark, 'set') else isNew = false end
      seen[id] = true
    end
    if not isNew then takeAnswersBack() end
  end
  if isNew then
    local added = 0
    if revision == 0 then beginNames() end
    for index = 1, size, CHUNK do
      added = added + redis.call('HSET', NAMES, unpack(named, index, math.min(index + CHUNK - 1, size)))
    end
    if added == count then
      cutLargest(putRows(rows), revision)
      redis.call('HSET', SHARD, 'rev', format('%.0f', revision + count))
      redis.call('HINCRBY', SHARD, 'count:created', count)
      if ids then flushAnswers(clock()) end
      return { read, settled, format('%.0f', revision), '' }
    end
    -- One of them came twice in this call.
    many('HDEL', NAMES, names)
    takeAnswersBack()
  end
  kinds, positions, identities, contents = {}, {}, {}, {}
  local values = {}
  if ids then extras = {} end
  for index = 1, size, 2 do values[rows[index]] = rows[index + 1] end
  for index = 1, count do
    local entry = named[2 * index]
    kinds[index], positions[index], identities[index] = 1, positionOf(entry), sub(entry, 27)
    contents[index] = values[sub(entry, 1, 26)]
    if ids then extras[index] = { 0, 0, 0, ids[index], '-', 0, '' } end
  end
end
`
