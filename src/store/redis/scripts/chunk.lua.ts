/**
 * Chunks: rows that one call put into a part of their own lie in one string, `SHARD:c:<part>`, as they came. A part
 * has one at most, and beside it, in its hash, what came or changed one by one. A row in a hash costs the server three
 * texts to make, a place in a table and, when it is loaded, two texts more; in a chunk it costs its bytes.
 *
 * A chunk is a head, an entry for each row in the order of places, and the values in the same order, all numbers with
 * the lowest byte first. Head: how many rows, how many of them stand (4 bytes each), what revisions count from (8), and
 * where the first value begins (4). Entry: position and revision (8 each), and where the value ends (4), counted like the
 * beginning: from where they were counted when the rows were sent, so that a piece of a chunk is a head, some
 * entries and some values as they are. A row that was taken out has -1 - position in its entry, and is skipped; when
 * most of them were, the chunk is made anew of those that stand.
 *
 * Numbers of rows are counted from 0 on, and so are the offsets of GETRANGE and SETRANGE: entry i begins at 20 * i + 20,
 * after the four bytes that say where its value begins. Those of Lua's own functions are one more.
 */
export const chunkLua = String.raw`
local function chunkKey(part) return SHARD .. ':c:' .. part end
local chunks = {}

-- The chunk of a part; false where it has none.
local function chunkOf(part)
  local chunk = chunks[part]
  if chunk ~= nil then return chunk end
  local key = chunkKey(part)
  local head = redis.call('GETRANGE', key, 0, 39)
  if head == '' then
    chunk = false
  else
    local count, standing, base, from, _, first = struct.unpack('<I4I4dI4dd', head)
    chunk = { key = key, count = count, standing = standing, base = base, from = from, first = first }
  end
  chunks[part] = chunk
  return chunk
end

-- Of a row, by its number: its place, where its value begins and ends, and whether it stands.
local function rowIn(chunk, index)
  local entry = redis.call('GETRANGE', chunk.key, 20 * index + 16, 20 * index + 39)
  local from, position, revision, untilExclusive = struct.unpack('<I4ddI4', entry)
  local stands = position >= 0
  if not stands then position = -1 - position end
  return place(position, chunk.base + revision), from, untilExclusive, stands
end

local function firstOf(chunk) return (rowIn(chunk, 0)) end
local function lastOf(chunk) return (rowIn(chunk, chunk.count - 1)) end

-- The number of the first row at or after a place.
local function firstFrom(chunk, text)
  local low, high = 0, chunk.count
  if text <= firstOf(chunk) then return 0 end
  if text > lastOf(chunk) then return high end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if rowIn(chunk, middle) < text then low = middle + 1 else high = middle end
  end
  return low
end

-- The place of the first row that stands, from a number on; nothing when there is none.
local function firstStanding(chunk, index)
  for number = index, chunk.count - 1 do
    local text, _, _, stands = rowIn(chunk, number)
    if stands then return text end
  end
end

-- Reads all entries at once, for whoever will seek many rows.
local function readEntries(chunk)
  if chunk.numbers then return end
  local entries, numbers, ends = redis.call('GETRANGE', chunk.key, 20, 20 * chunk.count + 19), {}, { [-1] = chunk.from }
  for index = 0, chunk.count - 1 do
    local position, revision, untilExclusive = struct.unpack('<ddI4', entries, 20 * index + 1)
    if position >= 0 then numbers[place(position, chunk.base + revision)] = index end
    ends[index] = untilExclusive
  end
  chunk.numbers, chunk.ends = numbers, ends
end

-- Where the value of a row begins and ends, and its number; nothing when it is not in the chunk. The row stands: no
-- name leads to the place of one that was taken out.
local function seek(chunk, text)
  if chunk.numbers then
    local index = chunk.numbers[text]
    if not index then return end
    return chunk.ends[index - 1], chunk.ends[index], index
  end
  -- Where rows came in the order of time their revisions are their order.
  local index = revisionOf(text) - chunk.base - chunk.first
  for attempt = 1, 2 do
    if index >= 0 and index < chunk.count then
      local found, from, untilExclusive = rowIn(chunk, index)
      if found == text then return from, untilExclusive, index end
    end
    if attempt == 1 then index = firstFrom(chunk, text) end
  end
end

-- The bytes between the beginning of one value and the end of another.
local function valuesIn(chunk, from, untilExclusive)
  local start = 20 * (chunk.count + 1) - chunk.from
  return redis.call('GETRANGE', chunk.key, start + from, start + untilExclusive - 1)
end

-- The value of the row at a place; nothing when it is not in the chunk of its part.
local function chunkValue(part, text)
  local chunk = chunkOf(part)
  if not chunk then return end
  local from, untilExclusive = seek(chunk, text)
  return from and valuesIn(chunk, from, untilExclusive)
end

-- Some of its rows, from the one to before the other, as a chunk. It says of all that they stand: a reader does not ask,
-- and whoever stores it puts that right.
local function pieceOf(chunk, low, high)
  if low == 0 and high == chunk.count then return redis.call('GET', chunk.key) end
  local entries = redis.call('GETRANGE', chunk.key, 20 * low + 16, 20 * high + 19)
  local values = valuesIn(chunk, struct.unpack('<I4', entries), struct.unpack('<I4', entries, #entries - 3))
  return struct.pack('<I4I4d', high - low, high - low, chunk.base) .. entries .. values
end

local function weightIn(chunk, low, high)
  if high <= low then return 0 end
  local _, from = rowIn(chunk, low)
  local _, _, untilExclusive = rowIn(chunk, high - 1)
  return untilExclusive - from
end

-- Calls with place, weight and number of those rows that stand. What was taken out before one weighs with it, since it
-- is sent with it.
local function eachPlace(chunk, low, high, visit)
  if high <= low then return end
  local entries = redis.call('GETRANGE', chunk.key, 20 * low + 16, 20 * high + 19)
  local from = struct.unpack('<I4', entries)
  for index = low, high - 1 do
    local position, revision, untilExclusive = struct.unpack('<ddI4', entries, 20 * (index - low) + 5)
    if position >= 0 then
      visit(place(position, chunk.base + revision), untilExclusive - from, index)
      from = untilExclusive
    end
  end
end

-- How many of those rows stand.
local function standingIn(chunk, low, high)
  if chunk.standing == chunk.count then return high - low end
  local count = 0
  eachPlace(chunk, low, high, function() count = count + 1 end)
  return count
end

-- Calls with place and value of each row of a chunk that stands.
local function eachRowIn(blob, visit)
  local count, _, base, from = struct.unpack('<I4I4dI4', blob)
  local start = 20 * (count + 1) + 1 - from
  for index = 1, count do
    local position, revision, untilExclusive = struct.unpack('<ddI4', blob, 20 * index + 1)
    if position >= 0 then
      visit(place(position, base + revision), string.sub(blob, start + from, start + untilExclusive - 1))
    end
    from = untilExclusive
  end
end

-- Calls with place and value of each row of a part, in no order; answers how many there were.
local function eachRow(part, visit)
  local all, chunk = redis.call('HGETALL', SHARD .. ':p:' .. part), chunkOf(part)
  for index = 1, #all, 2 do visit(all[index], all[index + 1]) end
  if not chunk then return #all / 2 end
  eachRowIn(redis.call('GET', chunk.key), visit)
  return #all / 2 + chunk.standing
end

-- How many rows of a part stand at a place or after it.
local function sizeFrom(part, text)
  local key, chunk, count = SHARD .. ':p:' .. part, chunkOf(part), 0
  if part >= text then return redis.call('HLEN', key) + (chunk and chunk.standing or 0) end
  local fields = redis.call('HKEYS', key)
  for index = 1, #fields do
    if fields[index] >= text then count = count + 1 end
  end
  return chunk and count + standingIn(chunk, firstFrom(chunk, text), chunk.count) or count
end
`
