import { chunkLua } from './chunk.lua.js'

/**
 * The parts that rows lie in, for a script that puts rows: a hash whose name ends with the first place it may hold, and
 * the chunk beside it (chunk.lua.ts). The sorted set PARTS has the parts that are not empty. A part never reaches over
 * the end of its bucket of time, and is cut when its hash is large. In a store that makes no chunks `chunkRows` is Infinity.
 */
export const partsLua = (
  widthMs: number,
  largeRows: number,
  pieces: number,
  chunkRows: number,
): string => String.raw`${chunkLua}
local WIDTH, LARGE, PIECES = ${widthMs}, ${largeRows}, ${pieces}
-- Fewer rows than that make no chunk: they would be many parts. Nor do those of more bytes: whoever keeps one row of a
-- chunk that was loaded keeps all of it.
local CHUNK_ROWS, CHUNK_BYTES = ${chunkRows === Infinity ? 'math.huge' : chunkRows}, 262144
local format, sub = string.format, string.sub

-- Redis keeps a small hash as a list, which it searches from the beginning for every field, until something long is
-- put into it. No name is empty.
local function beginNames() redis.call('HSET', NAMES, '', string.rep('-', 100)) end

local function partKey(part) return SHARD .. ':p:' .. part end

-- A part goes with its last row.
local function endIfEmpty(part)
  if redis.call('EXISTS', partKey(part), chunkKey(part)) == 0 then redis.call('ZREM', PARTS, part) end
end

-- Takes rows out of the hash of a part into that of one that begins at a place.
local function moveRows(part, start, fields)
  local found, moved = fetched(partKey(part), fields), {}
  for index = 1, #fields do
    moved[2 * index - 1] = fields[index]
    moved[2 * index] = found[index]
  end
  many('HSET', partKey(start), moved)
  many('HDEL', partKey(part), fields)
  redis.call('ZADD', PARTS, 0, start)
end

-- Where what this call put stands together, with no other row between, as timers of one delay and those of one instant
-- do: it and what stands behind it, if that is not the most of it. What comes next goes with it, and no row is
-- taken along more than once.
local function endOf(fields, chunk, firstRevision)
  local since, put, first, last = format('%012x', firstRevision), {}, nil, nil
  for index = 1, #fields do
    local field = fields[index]
    if sub(field, 15) > since then
      put[#put + 1] = field
      if not first or field < first then first = field end
      if not last or field > last then last = field end
    end
  end
  local size = #fields + (chunk and chunk.standing or 0)
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

-- Puts rows that come in the order of their places, fields and values in turn, into a part without a chunk: as its
-- chunk, unless they are few.
local function putTogether(part, rows)
  if #rows < 2 * CHUNK_ROWS then return many('HSET', partKey(part), rows) end
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

-- Puts those rows of a piece of a chunk that stand and are not gone into a part without a chunk.
local function putPiece(part, piece, gone)
  local rows = {}
  eachRowIn(piece, function(text, value)
    if not gone[text] then
      rows[#rows + 1] = text
      rows[#rows + 1] = value
    end
  end)
  putTogether(part, rows)
end

-- Takes rows of a chunk, from the one to before the other, to a part that begins at a place. Where all of them stand,
-- the piece is the chunk of that part as it is.
local function movePiece(chunk, start, low, high)
  local standing = standingIn(chunk, low, high)
  if standing == 0 then return end
  local piece = pieceOf(chunk, low, high)
  if standing == high - low and standing >= CHUNK_ROWS then
    redis.call('SET', chunkKey(start), piece)
  else
    putPiece(start, piece, {})
  end
  redis.call('ZADD', PARTS, 0, start)
end

-- Cuts a part at places, which come in order: what stands at each of them or behind goes into a part that begins there.
local function cutAt(part, starts)
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
  local kept = standingIn(chunk, 0, high) > 0 and pieceOf(chunk, 0, high)
  redis.call('UNLINK', chunk.key)
  chunks[part] = nil
  if kept then putPiece(part, kept, {}) end
end

-- Places at which a part is cut: by time into pieces, or, where all its rows stand at one instant, in the middle of those
-- of its hash, which are the most.
local function startsOf(fields, chunk)
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
  local step, starts = math.ceil((most - least + 1) / PIECES), {}
  for position = least + step, most, step do starts[#starts + 1] = place(position, 0) end
  return starts
end

-- Cuts a large part: its end off, or all of it into pieces.
local function cut(part, firstRevision)
  local chunk, fields = chunkOf(part), redis.call('HKEYS', partKey(part))
  local put, first, behind, next = endOf(fields, chunk, firstRevision)
  if put then
    moveRows(part, first, put)
    if next then moveRows(part, next, behind) end
  else
    cutAt(part, startsOf(fields, chunk))
  end
  endIfEmpty(part)
end

-- Cuts one at most of the parts that rows were put into, the largest: the parts of a busy hour become large
-- together, and each takes its time.
local function cutLargest(parts, firstRevision)
  local largest, most = nil, LARGE
  for part in pairs(parts) do
    local size = redis.call('HLEN', partKey(part))
    if size > most then largest, most = part, size end
  end
  if largest then cut(largest, firstRevision) end
end
`
