import { rowsLua } from './rows.lua.js'
import { shardLua } from './shard.lua.js'

/**
 * Rows in the order of their parts, from a place on. `rowsFrom` answers fields and values in turn, and the place
 * of the first row it left; rows of one part may come in any order, which is for the reader to mend.
 */
const pageLua = String.raw`
local function rowsFrom(from, untilExclusive, limit, limitBytes)
  local rows, count, bytes = {}, 0, 0
  local first = redis.call('ZREVRANGEBYLEX', PARTS, '[' .. from, '-', 'LIMIT', 0, 1)[1]
  local cursor = first and '[' .. first or '-'
  while true do
    local parts = redis.call('ZRANGEBYLEX', PARTS, cursor, '+', 'LIMIT', 0, 17)
    for index = 1, math.min(#parts, 16) do
      local part, after = parts[index], parts[index + 1]
      local key = SHARD .. ':p:' .. part
      local isFull = count >= limit or (count > 0 and bytes >= limitBytes)
      local size = redis.call('HLEN', key)
      if not isFull and part >= from and after and after <= untilExclusive and count + size <= limit then
        -- All of it, unless it is too heavy.
        local all, weight = redis.call('HGETALL', key), 0
        for at = 2, #all, 2 do weight = weight + #all[at] + 100 end
        if bytes + weight <= limitBytes then
          local base = 2 * count
          for at = 1, #all do rows[base + at] = all[at] end
          count, bytes, size = count + #all / 2, bytes + weight, 0
        end
      end
      if size > 0 then
        local fields, wanted, least = redis.call('HKEYS', key), {}, nil
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
        if #wanted > 0 then
          local isCut = count + #wanted > limit
          if not isCut then
            local values = fetched(key, wanted)
            local weight = 0
            for at = 1, #values do weight = weight + #values[at] + 100 end
            if bytes + weight <= limitBytes then
              for at = 1, #values do
                rows[2 * count + 1], rows[2 * count + 2] = wanted[at], values[at]
                count = count + 1
              end
              bytes = bytes + weight
            else
              isCut = true
            end
          end
          if isCut then
            table.sort(wanted)
            local some = {}
            for at = 1, math.min(#wanted, limit - count) do some[at] = wanted[at] end
            local values = fetched(key, some)
            local taken = 0
            for at = 1, #some do
              if count > 0 and bytes >= limitBytes then break end
              rows[2 * count + 1], rows[2 * count + 2] = some[at], values[at]
              count, bytes, taken = count + 1, bytes + #values[at] + 100, at
            end
            if taken < #wanted then return rows, wanted[taken + 1] end
          end
        end
        if least then return rows, least end
      end
    end
    if #parts < 17 then return rows, nil end
    cursor = '[' .. parts[17]
  end
end
`

/** ARGV: now, the fence, the level its owner believes in, where it ends, limit, limitBytes. */
export const loadLua = String.raw`${shardLua}${pageLua}
local refusal = fenced()
if refusal then return refusal end
if read ~= ARGV[5] then
  return refuse('FENCED', 'it is read to ' .. shown(read) .. ', its owner believes ' .. shown(ARGV[5]))
end
local rows, left = rowsFrom(read, ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]))
local level = ARGV[6]
if left and left < level then level = left end
if level > read then
  read = level
  redis.call('HSET', SHARD, 'read', read)
end
return { read, left or '', rows }
`

/** ARGV: now, from which place on, limit. Answers rows and the place to go on from. */
export const listLua = String.raw`${shardLua}${pageLua}
local from = ARGV[2]
if from < settled then from = settled end
local rows, left = rowsFrom(from, 'g', tonumber(ARGV[3]), math.huge)
return { left or '', rows }
`

/** ARGV: now, the names. Answers place and value of each in turn, both empty where there is none. */
export const findLua = (partsLua: string): string => String.raw`${shardLua}${partsLua}${rowsLua}
local names, reply = {}, {}
for index = 2, #ARGV do names[index - 1] = ARGV[index] end
readNames(names)
for index = 1, #names do
  local entry = standing(names[index])
  reply[2 * index - 1] = entry and string.sub(entry, 1, 26) or ''
  reply[2 * index] = entry and valueOf(entry) or ''
end
return reply
`

/**
 * ARGV: now, the part to begin with, and for a histogram its start, its end, the width of a slice, and the scope
 * it is narrowed to: nothing, a namespace, or a namespace and a kind. Answers the part to go on with, how many rows
 * stand in those that were looked at, and how many of them fall into each slice.
 */
export const countLua = String.raw`${shardLua}
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
  local key = SHARD .. ':p:' .. part
  if after and after <= settled then
    -- All of it is settled.
  elseif not isHistogram then
    if part >= settled then
      count = count + redis.call('HLEN', key)
    else
      local fields = redis.call('HKEYS', key)
      for field = 1, #fields do
        if fields[field] >= settled then count = count + 1 end
      end
    end
  else
    local rows = redis.call('HGETALL', key)
    for at = 1, #rows, 2 do
      local dueAt = struct.unpack('<d', rows[at + 1])
      if rows[at] >= settled and dueAt >= from and dueAt < untilExclusive and isIn(rows[at + 1]) then
        local slice = math.floor((dueAt - from) / width)
        slices[slice] = (slices[slice] or 0) + 1
      end
    end
    looked = looked + #rows / 2
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

/** ARGV: now. Counters and rows of one instant: the size of a part is asked for, not its rows. */
export const tallyLua = String.raw`${shardLua}
local parts, count = redis.call('ZRANGE', PARTS, 0, -1), 0
for index = 1, #parts do
  local part, after = parts[index], parts[index + 1]
  local key = SHARD .. ':p:' .. part
  if part >= settled then
    count = count + redis.call('HLEN', key)
  elseif not after or after > settled then
    local fields = redis.call('HKEYS', key)
    for field = 1, #fields do
      if fields[field] >= settled then count = count + 1 end
    end
  end
end
local counts = redis.call('HMGET', SHARD, 'count:created', 'count:settled', 'count:cancelled', 'count:replaced',
  'count:dead')
return { count, counts }
`

/**
 * ARGV: now, the part to begin with, a namespace. Answers the part to go on with, how many rows of the namespace stand
 * in those that were looked at, and what their payloads weigh.
 */
export const usageLua = String.raw`${shardLua}
local parts = redis.call('ZRANGEBYLEX', PARTS, ARGV[2], '+', 'LIMIT', 0, 65)
local prefix, timers, bytes, looked = ARGV[3] .. '\0', 0, 0, 0
local nextPart = parts[65]
for index = 1, math.min(#parts, 64) do
  local after = parts[index + 1]
  if not after or after > settled then
    local rows = redis.call('HGETALL', SHARD .. ':p:' .. parts[index])
    for at = 1, #rows, 2 do
      local value = rows[at + 1]
      if rows[at] >= settled and string.sub(value, 41, 40 + #prefix) == prefix then
        local name, tags, details = struct.unpack('<I2I2I2', value, 35)
        timers, bytes = timers + 1, bytes + #value - 40 - name - tags - details
      end
    end
    looked = looked + #rows / 2
  end
  if looked > 5000 and after then
    nextPart = after
    break
  end
end
return { nextPart and '[' .. nextPart or '', timers, bytes }
`
