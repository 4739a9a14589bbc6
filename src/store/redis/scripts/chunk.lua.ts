/**
 * Chunks. The rows that one call put into a new part are stored in one string, `SHARD:c:<part>`, as they were sent. A
 * part has at most one chunk. Rows that are written or changed one by one are in the part's hash beside it. In a hash,
 * a row costs the server three new strings and a table entry, and two more strings when it is loaded. In a chunk it
 * costs only its bytes.
 *
 * A chunk is a head, an entry for each row in the order of places, and the values in the same order. All numbers are
 * little-endian.
 *
 * - Head: the number of rows, the number of live rows (4 bytes each), the base of the revisions (8), the offset of the
 *   first value (4).
 * - Entry: position, revision less the base (8 each), the offset of the value's end (4).
 *
 * Offsets of values keep the origin that they had when the rows were sent. So a piece of a chunk is a head, some entries
 * and some values, unchanged. A removed row has -1 - position in its entry, and readers skip it. When fewer than half of
 * the rows are live, the chunk is rewritten from those.
 *
 * Row numbers count from 0, and so do the offsets of GETRANGE and SETRANGE. Entry i begins at 20 * i + 20. The four bytes
 * before it are the offset where its value begins. Offsets in Lua's own functions are one more.
 *
 * Proven by test/store/redis/chunks.test.ts.
 */
export const chunkLua = String.raw`
local function chunkKey(part) return SHARD .. ':c:' .. part end
local chunks = {}

-- The chunk of a part, or false if it has none.
local function chunkOf(part)
  local chunk = chunks[part]
  if chunk ~= nil then return chunk end
  local key = chunkKey(part)
  local head = redis.call('GETRANGE', key, 0, 39)
  if head == '' then
    chunk = false
  else
    local count, live, base, from, _, first = struct.unpack('<I4I4dI4dd', head)
    chunk = { key = key, count = count, live = live, base = base, from = from, first = first }
  end
  chunks[part] = chunk
  return chunk
end

-- A row by its number: its place, where its value begins and ends, and whether it is live.
local function rowIn(chunk, index)
  local entry = redis.call('GETRANGE', chunk.key, 20 * index + 16, 20 * index + 39)
  local from, position, revision, untilExclusive = struct.unpack('<I4ddI4', entry)
  local isLive = position >= 0
  if not isLive then position = -1 - position end
  return place(position, chunk.base + revision), from, untilExclusive, isLive
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

-- The place of the first live row from a number on, or nil.
local function firstLive(chunk, index)
  for number = index, chunk.count - 1 do
    local text, _, _, isLive = rowIn(chunk, number)
    if isLive then return text end
  end
end

-- Reads all entries at once. That is cheaper when many rows will be sought.
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

-- Where the value of a row begins and ends, and its number; nil when it is not in the chunk. The row is live, because
-- no name leads to the place of a removed row.
local function seek(chunk, text)
  if chunk.numbers then
    local index = chunk.numbers[text]
    if not index then return end
    return chunk.ends[index - 1], chunk.ends[index], index
  end
  -- If the rows were sent in the order of their positions, their revisions are consecutive: try that number first.
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

-- The value of the row at a place; nil when it is not in the chunk of its part.
local function chunkValue(part, text)
  local chunk = chunkOf(part)
  if not chunk then return end
  local from, untilExclusive = seek(chunk, text)
  return from and valuesIn(chunk, from, untilExclusive)
end

-- The rows from low to before high, as a chunk. Its head counts all of them as live. Readers do not use that count, and
-- a caller that stores the piece corrects it.
local function pieceOf(chunk, low, high)
  if low == 0 and high == chunk.count then return redis.call('GET', chunk.key) end
  local entries = redis.call('GETRANGE', chunk.key, 20 * low + 16, 20 * high + 19)
  local values = valuesIn(chunk, struct.unpack('<I4', entries), struct.unpack('<I4', entries, #entries - 3))
  return struct.pack('<I4I4d', high - low, high - low, chunk.base) .. entries .. values
end

local function bytesIn(chunk, low, high)
  if high <= low then return 0 end
  local _, from = rowIn(chunk, low)
  local _, _, untilExclusive = rowIn(chunk, high - 1)
  return untilExclusive - from
end

-- Calls visit with place, bytes and number of each live row. The bytes of removed rows count for the live row after
-- them, since they are sent with it.
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

-- How many of the rows from low to before high are live.
local function countLive(chunk, low, high)
  if chunk.live == chunk.count then return high - low end
  local count = 0
  eachPlace(chunk, low, high, function() count = count + 1 end)
  return count
end

-- Calls visit with place and value of each live row of a chunk.
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

-- Calls visit with place and value of each row of a part, in no order. Returns how many there were.
local function eachRow(part, visit)
  local all, chunk = redis.call('HGETALL', SHARD .. ':p:' .. part), chunkOf(part)
  for index = 1, #all, 2 do visit(all[index], all[index + 1]) end
  if not chunk then return #all / 2 end
  eachRowIn(redis.call('GET', chunk.key), visit)
  return #all / 2 + chunk.live
end

-- How many live rows of a part are at a place or after it.
local function sizeFrom(part, text)
  local key, chunk, count = SHARD .. ':p:' .. part, chunkOf(part), 0
  if part >= text then return redis.call('HLEN', key) + (chunk and chunk.live or 0) end
  local fields = redis.call('HKEYS', key)
  for index = 1, #fields do
    if fields[index] >= text then count = count + 1 end
  end
  return chunk and count + countLive(chunk, firstFrom(chunk, text), chunk.count) or count
end
`
