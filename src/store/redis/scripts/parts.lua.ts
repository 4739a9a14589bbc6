import { chunkLua } from './chunk.lua.js'

/**
 * The parts that hold the rows, for scripts that write rows. A part is a hash whose name ends with the first place that
 * it may hold, and the chunk beside it (chunk.lua.ts). The sorted set PARTS has the parts that are not empty. A part
 * never extends beyond its bucket of time, and is split when its hash is large. `chunkRows` is Infinity in a store that
 * makes no chunks.
 *
 * Proven by test/store/redis/chunks.test.ts and test/store/redis/writes.test.ts.
 */
export const partsLua = (
  bucketMs: number,
  partRows: number,
  splitParts: number,
  chunkRows: number,
): string => String.raw`${chunkLua}
local BUCKET_MS, PART_ROWS, SPLIT_PARTS = ${bucketMs}, ${partRows}, ${splitParts}
-- Fewer rows than CHUNK_ROWS make no chunk: there would be too many parts. Nor do rows of more than CHUNK_BYTES: a
-- process that keeps one row of a loaded chunk keeps the whole chunk in memory.
local CHUNK_ROWS, CHUNK_BYTES = ${chunkRows === Infinity ? 'math.huge' : chunkRows}, 262144
local format, sub = string.format, string.sub

-- Redis stores a small hash as a list, which it searches from the start for every field, until the hash gets a long
-- value. The empty field is free for that: no name is empty.
local function initNames() redis.call('HSET', NAMES, '', string.rep('-', 100)) end

local function partKey(part) return SHARD .. ':p:' .. part end

-- A part is removed with its last row.
local function removeIfEmpty(part)
  if redis.call('EXISTS', partKey(part), chunkKey(part)) == 0 then redis.call('ZREM', PARTS, part) end
end

-- Moves rows from the hash of a part to the hash of the part that begins at a place.
local function moveRows(part, start, fields)
  local found, moved = getFields(partKey(part), fields), {}
  for index = 1, #fields do
    moved[2 * index - 1] = fields[index]
    moved[2 * index] = found[index]
  end
  callMany('HSET', partKey(start), moved)
  callMany('HDEL', partKey(part), fields)
  redis.call('ZADD', PARTS, 0, start)
end

-- Whether the rows that this call wrote are one run with no other row between them. Timers of the same delay are such a
-- run, and timers of the same instant. If so, returns that run and the rows behind it, which then become parts of their
-- own. The next call continues the run there, so no row is moved more than once. Not if that would move most of the part.
local function newRun(fields, chunk, firstRevision)
  local since, put, first, last = format('%012x', firstRevision), {}, nil, nil
  for index = 1, #fields do
    local field = fields[index]
    if sub(field, 15) > since then
      put[#put + 1] = field
      if not first or field < first then first = field end
      if not last or field > last then last = field end
    end
  end
  local size = #fields + (chunk and chunk.live or 0)
  if not first or #put == size or (chunk and lastOf(chunk) > first) then return end
  local together, behind, next = 0, {}, nil
  for index = 1, #fields do
    local field = fields[index]
    if field > last then
      behind[#behind + 1] = field
      if not next or field < next then next = field end
    elseif field >= first then
      together = together + 1
    end
  end
  if together > #put then return end
  if #put + #behind > size / 2 and positionOf(first) ~= positionOf(last) then return end
  return put, first, behind, next
end

-- Puts rows, sorted by place, fields and values in turn, into a part without a chunk. They become its chunk, unless they
-- are few.
local function putSorted(part, rows)
  if #rows < 2 * CHUNK_ROWS then return callMany('HSET', partKey(part), rows) end
  local count, weight, entries, values = #rows / 2, 0, {}, {}
  for index = 1, count do
    local text, value = rows[2 * index - 1], rows[2 * index]
    weight = weight + #value
    entries[index] = struct.pack('<ddI4', positionOf(text), revisionOf(text), weight)
    values[index] = value
  end
  redis.call('SET', chunkKey(part),
    struct.pack('<I4I4dI4', count, count, 0, 0) .. table.concat(entries) .. table.concat(values))
end

-- Puts the live rows of a piece of a chunk, except those in gone, into a part without a chunk.
local function putPiece(part, piece, gone)
  local rows = {}
  eachRowIn(piece, function(text, value)
    if not gone[text] then
      rows[#rows + 1] = text
      rows[#rows + 1] = value
    end
  end)
  putSorted(part, rows)
end

-- Copies the rows of a chunk from low to before high to the part that begins at a place. If all of them are live, the
-- piece becomes the chunk of that part unchanged.
local function movePiece(chunk, start, low, high)
  local live = countLive(chunk, low, high)
  if live == 0 then return end
  local piece = pieceOf(chunk, low, high)
  if live == high - low and live >= CHUNK_ROWS then
    redis.call('SET', chunkKey(start), piece)
  else
    putPiece(start, piece, {})
  end
  redis.call('ZADD', PARTS, 0, start)
end

-- Splits a part at sorted places. The rows from each place on go to a part that begins there.
local function splitAt(part, starts)
  local chunk, fields, groups = chunkOf(part), redis.call('HKEYS', partKey(part)), {}
  for index = 1, #fields do
    local low, high = 0, #starts
    while low < high do
      local middle = math.ceil((low + high) / 2)
      if starts[middle] <= fields[index] then low = middle else high = middle - 1 end
    end
    if low > 0 then
      local group = groups[low] or {}
      groups[low] = group
      group[#group + 1] = fields[index]
    end
  end
  for number, group in pairs(groups) do moveRows(part, starts[number], group) end
  if not chunk then return end
  local high = chunk.count
  for number = #starts, 1, -1 do
    local low = firstFrom(chunk, starts[number])
    movePiece(chunk, starts[number], low, high)
    high = low
  end
  if high == chunk.count then return end
  local kept = countLive(chunk, 0, high) > 0 and pieceOf(chunk, 0, high)
  redis.call('UNLINK', chunk.key)
  chunks[part] = nil
  if kept then putPiece(part, kept, {}) end
end

-- The places at which a part is split: at equal distances in time. If all its rows are of one instant, in the middle of
-- the rows of its hash, which are most of them.
local function splitPlaces(fields, chunk)
  local least, most = math.huge, 0
  for index = 1, #fields do
    local position = positionOf(fields[index])
    if position < least then least = position end
    if position > most then most = position end
  end
  if chunk then
    least, most = math.min(least, positionOf(firstOf(chunk))), math.max(most, positionOf(lastOf(chunk)))
  end
  if least == most then
    table.sort(fields)
    return { fields[math.floor(#fields / 2) + 1] }
  end
  local step, starts = math.ceil((most - least + 1) / SPLIT_PARTS), {}
  for position = least + step, most, step do starts[#starts + 1] = place(position, 0) end
  return starts
end

-- Splits a large part: only its end off, or all of it into pieces.
local function split(part, firstRevision)
  local chunk, fields = chunkOf(part), redis.call('HKEYS', partKey(part))
  local put, first, behind, next = newRun(fields, chunk, firstRevision)
  if put then
    moveRows(part, first, put)
    if next then moveRows(part, next, behind) end
  else
    splitAt(part, splitPlaces(fields, chunk))
  end
  removeIfEmpty(part)
end

-- Splits at most one of the parts that rows were put into: the largest. The parts of a busy hour become large at the
-- same time, and splitting all of them in one call would take too long.
local function splitLargest(parts, firstRevision)
  local largest, most = nil, PART_ROWS
  for part in pairs(parts) do
    local size = redis.call('HLEN', partKey(part))
    if size > most then largest, most = part, size end
  end
  if largest then split(largest, firstRevision) end
end
`
