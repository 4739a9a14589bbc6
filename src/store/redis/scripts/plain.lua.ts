/**
 * Plain sets: sets without conditions and notes, nearly all of large batches. Their texts come as they are stored:
 * a column has, in the order of the operations, each name and what NAMES is to say of it; the rows are a chunk
 * (chunk.lua.ts), whose revisions count the operations from 1 on; another column, when they answer requests, has the
 * ids of those. So where every name is new and every request waits, all is handed on as it is, and the script ends here.
 * Where one is not, the columns of other operations are made of them, and nothing has happened.
 *
 * What the caller believes to be the last revision stands in the names and in the head of the chunk; where it is mistaken
 * that is put right.
 */
export const plainLua = String.raw`
local kinds, names, positions, identities, contents, extras

-- Places that begin with the revision after the last.
local function putRight(named, shift)
  for index = 2, #named, 2 do
    local entry = named[index]
    named[index] = sub(entry, 1, 14) .. format('%012x', revisionOf(entry) + shift) .. sub(entry, 27)
  end
end

-- Whether rows between two places can begin a part of their own, because none of this part stands among them and not
-- the most of it behind. What does stand behind gets another.
local function cleared(part, first, last)
  local chunk, start = chunkOf(part), nil
  if chunk and lastOf(chunk) > first then
    start = firstOf(chunk)
    if start < last then return false end
  end
  local isBehind = start ~= nil
  local fields, behind = redis.call('HKEYS', partKey(part)), {}
  for index = 1, #fields do
    local field = fields[index]
    if field > first then
      if field < last then return false end
      behind[#behind + 1] = field
      if not start or field < start then start = field end
    end
  end
  if #behind > #fields / 2 then return false end
  if #behind > 0 then moveRows(part, start, behind) end
  if isBehind then
    redis.call('RENAME', chunk.key, chunkKey(start))
    redis.call('ZADD', PARTS, 0, start)
    chunks[part] = nil
    endIfEmpty(part)
  end
  return true
end

-- Puts the rows of a chunk into their parts. Many that none stands among begin a part where they stand, and so does what
-- there is no room for: what comes in the order of time is never moved. Answers the parts that may be too large.
local function putRows(blob)
  local parts, first, count = {}, 0, struct.unpack('<I4', blob)
  local start = 20 * (count + 1) + 1

  local function placeAt(index)
    local position, number = struct.unpack('<dd', blob, 20 * index + 21)
    return place(position, revision + number)
  end

  -- As they are sent, all of them.
  local function asChunk(part, low, high, from, untilExclusive)
    if high - low + 1 == count then
      redis.call('SET', chunkKey(part), blob)
      if revision ~= tonumber(ARGV[6]) then redis.call('SETRANGE', chunkKey(part), 8, struct.pack('<d', revision)) end
    else
      redis.call('SET', chunkKey(part), struct.pack('<I4I4d', high - low + 1, high - low + 1, revision) ..
        sub(blob, 20 * low + 17, 20 * high + 40) .. sub(blob, start + from, start + untilExclusive - 1))
    end
  end

  local function oneByOne(part, low, high, from)
    local rows = {}
    for index = low, high do
      local position, number, untilExclusive = struct.unpack('<ddI4', blob, 20 * index + 21)
      rows[#rows + 1] = place(position, revision + number)
      rows[#rows + 1] = sub(blob, start + from, start + untilExclusive - 1)
      from = untilExclusive
    end
    many('HSET', partKey(part), rows)
  end

  while first < count do
    local text = placeAt(first)
    local position = positionOf(text)
    local bucket = position - position % WIDTH
    local from, untilExclusive = place(bucket, 0), place(bucket + WIDTH, 0)
    local part = redis.call('ZREVRANGEBYLEX', PARTS, '[' .. text, '[' .. from, 'LIMIT', 0, 1)[1]
    local after = redis.call('ZRANGEBYLEX', PARTS, '(' .. text, '(' .. untilExclusive, 'LIMIT', 0, 1)[1]
    if after then untilExclusive = after end
    local last = count - 1
    if placeAt(last) >= untilExclusive then
      -- The last row before the end: of row number low it is so, of row number high not.
      local low, high = first, last
      while high - low > 1 do
        local middle = math.floor((low + high) / 2)
        if placeAt(middle) < untilExclusive then low = middle else high = middle end
      end
      last = low
    end
    local isNew, size = not part, last - first + 1
    if isNew then
      part = from
    else
      local isLarge = sizeOf(part) + size > LARGE
      -- Looking at the rows of a large part would cost few rows more than a chunk saves them.
      if isLarge or (size >= CHUNK_ROWS and redis.call('HLEN', partKey(part)) <= 8 * size) then
        isNew = cleared(part, text, placeAt(last))
        if isNew then part = text elseif isLarge then parts[part] = true end
      end
    end
    while first <= last do
      -- A new one gets no more than it may hold; what is left begins the next.
      local piece = isNew and math.min(first + LARGE - 1, last) or last
      local begins, ends = struct.unpack('<I4', blob, 20 * first + 17), struct.unpack('<I4', blob, 20 * piece + 37)
      if isNew then redis.call('ZADD', PARTS, 0, part) end
      if isNew and piece - first + 1 >= CHUNK_ROWS and ends - begins <= CHUNK_BYTES then
        asChunk(part, first, piece, begins, ends)
      else
        oneByOne(part, first, piece, begins)
      end
      first = piece + 1
      if first <= last then part = placeAt(first) end
    end
  end
  return parts
end

if ARGV[6] ~= '' then
  local named, blob = cmsgpack.unpack(ARGV[7]), ARGV[8]
  local size, count = #named, #named / 2
  local shift = revision - tonumber(ARGV[6])
  if shift ~= 0 then putRight(named, shift) end
  names = {}
  for index = 1, count do names[index] = named[2 * index - 1] end
  local found, isNew = fetched(NAMES, names), struct.unpack('<d', blob, 21) >= positionOf(settled)
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
    for index = 1, size, AT_ONCE do
      added = added + redis.call('HSET', NAMES, unpack(named, index, math.min(index + AT_ONCE - 1, size)))
    end
    if added == count then
      cutLargest(putRows(blob), revision)
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
  eachRowIn(blob, function(text, value) values[revisionOf(text) + shift] = value end)
  for index = 1, count do
    local entry = named[2 * index]
    kinds[index], positions[index], identities[index] = 1, positionOf(entry), sub(entry, 27)
    contents[index] = values[revision + index]
    if ids then extras[index] = { 0, 0, 0, ids[index], '-', 0, '' } end
  end
end
`
