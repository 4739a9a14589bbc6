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

-- Whether so many rows between two places can begin a part of their own: none of this part stands among them, and what
-- stands behind is no more than they are, or than what stands before. It gets a part too.
local function cleared(part, first, last, size)
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
  if #behind > math.max(size, #fields / 2) then return false end
  if #behind > 0 then moveRows(part, start, behind) end
  if isBehind then
    redis.call('RENAME', chunk.key, chunkKey(start))
    redis.call('ZADD', PARTS, 0, start)
    chunks[part] = nil
  end
  endIfEmpty(part)
  return true
end

-- Puts the rows of a chunk into their parts. Many that none stands among begin a part where they stand, and so does what
-- there is no room for: what comes in the order of time is never moved. Answers the parts that may be too large.
local function putRows(blob, named)
  local parts, first, count = {}, 0, #named / 2
  local start = 20 * (count + 1) + 1

  -- Position, number of the operation and end of the value of each, in turn: unpacked once, and only where all do not
  -- go together into one part.
  local entries
  local function unpacked()
    if entries then return entries end
    entries = {}
    for index = 0, count - 1, 1000 do
      local some = math.min(1000, count - index)
      local values = { struct.unpack('<' .. string.rep('ddI4', some), blob, 20 * index + 21) }
      if index == 0 then
        entries = values
      else
        for at = 1, 3 * some do entries[3 * index + at] = values[at] end
      end
    end
    return entries
  end

  local function placeAt(index)
    local number = entries and entries[3 * index + 2] or struct.unpack('<d', blob, 20 * index + 29)
    return sub(named[2 * number], 1, 26)
  end

  -- Where the values of rows begin and end.
  local function boundsOf(low, high)
    return struct.unpack('<I4', blob, 20 * low + 17), struct.unpack('<I4', blob, 20 * high + 37)
  end

  -- Whether they are light enough for a chunk.
  local function isLight(low, high)
    local from, untilExclusive = boundsOf(low, high)
    return untilExclusive - from <= CHUNK_BYTES
  end

  local function asChunk(part, low, high)
    if high - low + 1 == count then
      redis.call('SET', chunkKey(part), blob)
      if revision ~= tonumber(ARGV[6]) then redis.call('SETRANGE', chunkKey(part), 8, struct.pack('<d', revision)) end
    else
      local from, untilExclusive = boundsOf(low, high)
      redis.call('SET', chunkKey(part), struct.pack('<I4I4d', high - low + 1, high - low + 1, revision) ..
        sub(blob, 20 * low + 17, 20 * high + 40) .. sub(blob, start + from, start + untilExclusive - 1))
    end
  end

  local function oneByOne(part, low, high)
    local all, rows, size = unpacked(), {}, 0
    local from = start + boundsOf(low, high)
    for at = 3 * low + 2, 3 * high + 2, 3 do
      local untilExclusive = start + all[at + 1]
      rows[size + 1], rows[size + 2] = sub(named[2 * all[at]], 1, 26), sub(blob, from, untilExclusive - 1)
      from, size = untilExclusive, size + 2
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
      unpacked()
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
      local standing = redis.call('HLEN', partKey(part))
      local isLarge = standing + size > LARGE
      -- Looking through many rows would cost few more than a chunk saves them.
      if isLarge or (size >= CHUNK_ROWS and standing <= 2 * size) then
        isNew = cleared(part, text, placeAt(last), size)
        if isNew then part = text elseif isLarge then parts[part] = true end
      end
    end
    while first <= last do
      -- A new one gets no more than it and its chunk may hold; what is left begins the next.
      local piece = isNew and math.min(first + LARGE - 1, last) or last
      while isNew and piece - first + 1 >= 2 * CHUNK_ROWS and not isLight(first, piece) do
        piece = math.floor((first + piece) / 2)
      end
      if isNew then redis.call('ZADD', PARTS, 0, part) end
      if isNew and piece - first + 1 >= CHUNK_ROWS and isLight(first, piece) then
        asChunk(part, first, piece)
      else
        oneByOne(part, first, piece)
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
      cutLargest(putRows(blob, named), revision)
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
