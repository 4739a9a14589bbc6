import { chunkLua } from './chunk.lua.js'
import { rowsLua } from './rows.lua.js'
import { shardLua } from './shard.lua.js'

/**
 * Pages of rows from a place on, part by part. `rowsFrom` returns fields and values in turn, chunks or pieces of them, and
 * the place of the first row that is not in the page. The rows of one part come in any order, and the reader sorts
 * them. Chunks may contain removed rows, whose bytes count as others do.
 */
const pageLua = String.raw`
-- The bytes that a row counts beside its value.
local ROW_OVERHEAD = 100

local function rowsFrom(from, untilExclusive, limit, limitBytes)
  local rows, pieces, count, bytes = {}, {}, 0, 0

  -- Takes rows of a hash, and those of a chunk from low to before high, unless they have too many bytes.
  local function take(values, fields, chunk, low, high, live)
    local weight = ROW_OVERHEAD * live + (chunk and bytesIn(chunk, low, high) or 0)
    for at = 1, #values do weight = weight + #values[at] end
    if bytes + weight > limitBytes then return false end
    local base = #rows
    for at = 1, #fields do
      rows[base + 2 * at - 1], rows[base + 2 * at] = fields[at], values[at]
    end
    if high > low then pieces[#pieces + 1] = pieceOf(chunk, low, high) end
    count, bytes = count + live, bytes + weight
    return true
  end

  -- Takes as many rows as fit, but at least one. Returns the place of the first that is left.
  local function takeFitting(key, fields, chunk, low, high)
    local places, weights, numbers, some = {}, {}, {}, {}
    for at = 1, #fields do places[at] = fields[at] end
    if chunk then
      eachPlace(chunk, low, high, function(text, weight, number)
        places[#places + 1] = text
        weights[text], numbers[text] = weight, number
      end)
    end
    table.sort(places)
    local most = math.min(#places, limit - count)
    for at = 1, most do
      if not numbers[places[at]] then some[#some + 1] = places[at] end
    end
    local values, next, taken, last = getFields(key, some), 1, 0, nil
    for at = 1, most do
      if count > 0 and bytes >= limitBytes then break end
      local text = places[at]
      local weight = weights[text]
      if weight then
        last = numbers[text]
      else
        local value = values[next]
        next, weight = next + 1, #value
        rows[#rows + 1] = text
        rows[#rows + 1] = value
      end
      count, bytes, taken = count + 1, bytes + weight + ROW_OVERHEAD, at
    end
    if last then pieces[#pieces + 1] = pieceOf(chunk, low, last + 1) end
    return places[taken + 1]
  end

  local first = redis.call('ZREVRANGEBYLEX', PARTS, '[' .. from, '-', 'LIMIT', 0, 1)[1]
  local cursor = first and '[' .. first or '-'
  while true do
    local parts = redis.call('ZRANGEBYLEX', PARTS, cursor, '+', 'LIMIT', 0, 17)
    for index = 1, math.min(#parts, 16) do
      local part, after = parts[index], parts[index + 1]
      local key, chunk = SHARD .. ':p:' .. part, chunkOf(part)
      local isFull = count >= limit or (count > 0 and bytes >= limitBytes)
      local size = redis.call('HLEN', key)
      local live, isTaken = size + (chunk and chunk.live or 0), false
      if not isFull and part >= from and after and after <= untilExclusive and count + live <= limit then
        -- Take the whole part, unless it has too many bytes.
        local all, fields, values = size > 0 and redis.call('HGETALL', key) or {}, {}, {}
        for at = 1, size do fields[at], values[at] = all[2 * at - 1], all[2 * at] end
        isTaken = take(values, fields, chunk, 0, chunk and chunk.count or 0, live)
      end
      if not isTaken and live > 0 then
        local fields, wanted, least = size > 0 and redis.call('HKEYS', key) or {}, {}, nil
        for at = 1, #fields do
          local field = fields[at]
          if field >= from then
            if field < untilExclusive and not isFull then
              wanted[#wanted + 1] = field
            elseif not least or field < least then
              least = field
            end
          end
        end
        local low, high = 0, 0
        if chunk then
          low = firstFrom(chunk, from)
          high = isFull and low or math.max(low, firstFrom(chunk, untilExclusive))
          local text = firstLive(chunk, high)
          if text and (not least or text < least) then least = text end
        end
        local found = #wanted + (chunk and countLive(chunk, low, high) or 0)
        if found > 0 then
          local left = nil
          if count + found > limit or not take(getFields(key, wanted), wanted, chunk, low, high, found) then
            left = takeFitting(key, wanted, chunk, low, high)
          end
          if left then return rows, pieces, left end
        end
        if least then return rows, pieces, least end
      end
    end
    if #parts < 17 then return rows, pieces, nil end
    cursor = '[' .. parts[17]
  end
end
`

/**
 * ARGV: now, the fence, the read level that the owner expects, the place where the page ends, limit, limitBytes.
 * Answers the new read level, the place of the first row that is left, rows and chunks.
 */
export const loadLua = String.raw`${shardLua}${chunkLua}${pageLua}
local refusal = checkFence()
if refusal then return refusal end
if read ~= ARGV[5] then
  return refuse('FENCED', 'the read level is ' .. shown(read) .. ', but the call expects ' .. shown(ARGV[5]))
end
local rows, pieces, left = rowsFrom(read, ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]))
local level = ARGV[6]
if left and left < level then level = left end
if level > read then
  read = level
  redis.call('HSET', SHARD, 'read', read)
end
return { read, left or '', rows, pieces }
`

/**
 * ARGV: now, the place to begin at, limit, start and end of the due window as places. Answers the place to go on from,
 * rows and chunks. Rows that are not at their due time are before `displaced`. All others of the window are in it.
 */
export const listLua = String.raw`${shardLua}${chunkLua}${pageLua}
local from, start, finish = ARGV[2], ARGV[4], ARGV[5]
if from < settled then from = settled end
if finish < start then finish = start end
local displaced = place(math.max(late, positionOf(read) + 1, positionOf(settled) + 1), 0)
local limit, limitBytes, untilExclusive = tonumber(ARGV[3]), 4194304, finish
if from < displaced and displaced < start then
  local rows, pieces, left = rowsFrom(from, displaced, limit, limitBytes)
  if left and left < displaced then return { left, rows, pieces } end
  if #rows + #pieces > 0 then return { start, rows, pieces } end
end
if from < displaced and displaced >= start then
  if displaced > finish then untilExclusive = displaced end
elseif from < start then
  from = start
end
if from >= untilExclusive then return { '', {}, {} } end
local rows, pieces, left = rowsFrom(from, untilExclusive, limit, limitBytes)
if left and left >= untilExclusive then left = nil end
return { left or '', rows, pieces }
`

/**
 * ARGV: now, the names. Answers place and value of each in turn, both empty for a name without such a timer. `entryOf` is
 * the function that finds the entry of a name.
 */
export const findLua = (
  partsLua: string,
  entryOf: 'liveEntry' | 'settledEntry',
): string => String.raw`${shardLua}${partsLua}${rowsLua}
local names, reply = {}, {}
for index = 2, #ARGV do names[index - 1] = ARGV[index] end
readNames(names)
local found = {}
for index = 1, #names do found[#found + 1] = ${entryOf}(names[index]) end
readValues(found)
for index = 1, #names do
  local entry = ${entryOf}(names[index])
  reply[2 * index - 1] = entry and string.sub(entry, 1, 26) or ''
  reply[2 * index] = entry and valueOf(entry) or ''
end
return reply
`

/**
 * ARGV: now, the part to begin with, and for a histogram its start, its end, the width of a slice, and a namespace and a
 * kind as filters, each empty for any. Answers the part to continue with, the number of rows in the parts read so far,
 * and the number of rows per slice.
 */
export const countLua = String.raw`${shardLua}${chunkLua}
local parts = redis.call('ZRANGEBYLEX', PARTS, ARGV[2], '+', 'LIMIT', 0, 65)
local isHistogram, count, looked = #ARGV > 2, 0, 0
local from, untilExclusive, width = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local namespace, kind, slices = ARGV[6], ARGV[7], {}

local function isIn(value)
  if namespace == '' and kind == '' then return true end
  local scope = struct.unpack('<I2', value, 33)
  local text = string.sub(value, 41, 40 + scope)
  if namespace ~= '' and kind ~= '' then return text == namespace .. '\0' .. kind end
  if namespace ~= '' then return string.sub(text, 1, #namespace + 1) == namespace .. '\0' end
  return string.sub(text, -#kind - 1) == '\0' .. kind
end

for index = 1, math.min(#parts, 64) do
  local part, after = parts[index], parts[index + 1]
  if after and after <= settled then
    -- The whole part is settled.
  elseif not isHistogram then
    count = count + sizeFrom(part, settled)
  else
    looked = looked + eachRow(part, function(text, value)
      local dueAt = struct.unpack('<d', value)
      if text >= settled and dueAt >= from and dueAt < untilExclusive and isIn(value) then
        local slice = math.floor((dueAt - from) / width)
        slices[slice] = (slices[slice] or 0) + 1
      end
    end)
    if looked > 5000 and after then
      parts = { [65] = after }
      break
    end
  end
end
local flat = {}
for slice, rows in pairs(slices) do
  flat[#flat + 1] = slice
  flat[#flat + 1] = rows
end
return { parts[65] and '[' .. parts[65] or '', count, flat }
`

/** ARGV: now. Answers rows and counters at one instant. Reads the sizes of parts, not their rows. */
export const tallyLua = String.raw`${shardLua}${chunkLua}
local parts, count = redis.call('ZRANGE', PARTS, 0, -1), 0
for index = 1, #parts do
  local after = parts[index + 1]
  if not after or after > settled then count = count + sizeFrom(parts[index], settled) end
end
local counts = redis.call('HMGET', SHARD, 'count:created', 'count:settled', 'count:cancelled', 'count:replaced',
  'count:dead')
return { count, counts }
`

/**
 * ARGV: now, the part to begin with, a namespace. Answers the part to continue with, the number of the namespace's rows
 * in the parts read so far, and the bytes of their payloads.
 */
export const usageLua = String.raw`${shardLua}${chunkLua}
local parts = redis.call('ZRANGEBYLEX', PARTS, ARGV[2], '+', 'LIMIT', 0, 65)
local prefix, timers, bytes, looked = ARGV[3] .. '\0', 0, 0, 0
local nextPart = parts[65]
for index = 1, math.min(#parts, 64) do
  local after = parts[index + 1]
  if not after or after > settled then
    looked = looked + eachRow(parts[index], function(text, value)
      if text >= settled and string.sub(value, 41, 40 + #prefix) == prefix then
        local name, tags, details = struct.unpack('<I2I2I2', value, 35)
        timers, bytes = timers + 1, bytes + #value - 40 - name - tags - details
      end
    end)
  end
  if looked > 5000 and after then
    nextPart = after
    break
  end
end
return { nextPart and '[' .. nextPart or '', timers, bytes }
`
