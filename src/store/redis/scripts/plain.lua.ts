/**
 * Plain sets: sets without conditions and notes, which are nearly all of a large batch. They are sent in the form in
 * which they are stored:
 *
 * - an array of names and their NAMES entries in turn, in the order of the operations;
 * - the rows as a chunk (chunk.lua.ts), whose revisions count the operations from 1 on;
 * - the ids of the requests that they answer, if any.
 *
 * If every name is new and every request waits, all of it is stored as it is, and the script ends here. Otherwise nothing
 * is written here, and the columns of ordinary operations are made from it, for write.lua.ts.
 *
 * The names and the chunk's head contain the caller's prediction of the last revision. If it is wrong, it is corrected.
 *
 * Proven by test/store/redis/writes.test.ts and test/store/redis/chunks.test.ts.
 */
export const plainLua = String.raw`
local kinds, names, positions, identities, contents, extras

-- Corrects the places in the NAMES entries when the predicted revision was wrong.
local function shiftRevisions(named, shift)
  for index = 2, #named, 2 do
    local entry = named[index]
    named[index] = sub(entry, 1, 14) .. format('%012x', revisionOf(entry) + shift) .. sub(entry, 27)
  end
end

-- Whether size rows between two places can be a new part. No row of this part may be between them. The rows behind them
-- are moved to a part of their own. They may be no more than size, or than half of the hash.
local function clearRange(part, first, last, size)
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
  removeIfEmpty(part)
  return true
end

-- Puts the rows of a chunk into their parts. Many rows with no other row between them become a new part. So do rows for
-- which a part has no room. So rows that are written in the order of time are never moved. Returns the parts that may be
-- too large.
local function putRows(blob, named)
  local parts, first, count = {}, 0, #named / 2
  local start = 20 * (count + 1) + 1

  -- Position, operation number and end of the value of each row, in turn. Unpacked once, and only if the rows do not all
  -- go into one part.
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

  -- Where the values of the rows from low to high begin and end.
  local function boundsOf(low, high)
    return struct.unpack('<I4', blob, 20 * low + 17), struct.unpack('<I4', blob, 20 * high + 37)
  end

  -- Whether the rows from low to high have few enough bytes for a chunk.
  local function fitsChunk(low, high)
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
    callMany('HSET', partKey(part), rows)
  end

  while first < count do
    local text = placeAt(first)
    local position = positionOf(text)
    local bucket = position - position % BUCKET_MS
    local from, untilExclusive = place(bucket, 0), place(bucket + BUCKET_MS, 0)
    local part = redis.call('ZREVRANGEBYLEX', PARTS, '[' .. text, '[' .. from, 'LIMIT', 0, 1)[1]
    local after = redis.call('ZRANGEBYLEX', PARTS, '(' .. text, '(' .. untilExclusive, 'LIMIT', 0, 1)[1]
    if after then untilExclusive = after end
    local last = count - 1
    if placeAt(last) >= untilExclusive then
      -- Find the last row before untilExclusive: row low is before it, row high is not.
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
      local rowsInHash = redis.call('HLEN', partKey(part))
      local isLarge = rowsInHash + size > PART_ROWS
      -- For few new rows, searching a large hash would cost more than a chunk saves.
      if isLarge or (size >= CHUNK_ROWS and rowsInHash <= 2 * size) then
        isNew = clearRange(part, text, placeAt(last), size)
        if isNew then part = text elseif isLarge then parts[part] = true end
      end
    end
    while first <= last do
      -- A new part gets as many rows as a part and a chunk may hold. The rest begins the next part.
      local piece = isNew and math.min(first + PART_ROWS - 1, last) or last
      while isNew and piece - first + 1 >= 2 * CHUNK_ROWS and not fitsChunk(first, piece) do
        piece = math.floor((first + piece) / 2)
      end
      if isNew then redis.call('ZADD', PARTS, 0, part) end
      if isNew and piece - first + 1 >= CHUNK_ROWS and fitsChunk(first, piece) then
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
  if shift ~= 0 then shiftRevisions(named, shift) end
  names = {}
  for index = 1, count do names[index] = named[2 * index - 1] end
  local found, isNew = getFields(NAMES, names), struct.unpack('<d', blob, 21) >= positionOf(settled)
  for index = 1, count do
    if found[index] then isNew = false end
  end
  local ids = ARGV[9] ~= '' and cmsgpack.unpack(ARGV[9])
  if ids and isNew then
    local marks, seen = getFields(ASKED, ids), {}
    for index = 1, count do
      local id, mark = ids[index], marks[index]
      if isWaiting(mark) and not seen[id] then answer(id, mark, 'set') else isNew = false end
      seen[id] = true
    end
    if not isNew then discardAnswers() end
  end
  if isNew then
    local added = 0
    if revision == 0 then initNames() end
    for index = 1, size, MAX_ARGS do
      added = added + redis.call('HSET', NAMES, unpack(named, index, math.min(index + MAX_ARGS - 1, size)))
    end
    if added == count then
      splitLargest(putRows(blob, named), revision)
      redis.call('HSET', SHARD, 'rev', format('%.0f', revision + count))
      redis.call('HINCRBY', SHARD, 'count:created', count)
      if ids then flushAnswers(clock()) end
      return { read, settled, format('%.0f', revision), '' }
    end
    -- This call has the same name twice.
    callMany('HDEL', NAMES, names)
    discardAnswers()
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
