import { chunkLua } from './chunk.lua.js'
import { recordsLua } from './records.lua.js'
import { rowsLua } from './rows.lua.js'
import { shardLua } from './shard.lua.js'

/**
 * ARGV: now, the fence, the settlement's id, its level, the lowest position of what is to follow, how many timers
 * ended, how many outcomes, the outcomes, how many entries of history, the entries. Answers the read level and
 * one packed answer for each outcome: '0' when its row stands no more, '1' when it was taken away, and with '2'
 * the row that follows.
 */
export const settleLua = (
  partsLua: string,
): string => String.raw`${shardLua}${partsLua}${rowsLua}${recordsLua}
local refusal = fenced()
if refusal then return refusal end
local now, level = clock(), ARGV[6]
if level < settled or level > read or positionOf(level) > now or revisionOf(level) > revision + 1 or
  tonumber(ARGV[7]) < positionOf(level) then
  return refuse('LEVEL', 'it cannot settle to ' .. shown(level) .. ': settled ' .. shown(settled) .. ', read ' ..
    shown(read) .. ', now ' .. string.format('%.0f', now))
end
local count, blob, at = tonumber(ARGV[9]), ARGV[10], 1
local items, names = {}, {}
for i = 1, count do
  local item = { struct.unpack('<BddI4I4I2c0c26BI4c0I4c0', blob, at) }
  items[i], names[i], at = item, item[6], item[11]
end
readNames(names)
local wanted = {}
for i = 1, count do
  local entry = items[i][1] > 1 and standing(names[i])
  if entry then wanted[#wanted + 1] = entry end
end
readValues(wanted)
local replies = {}
for i = 1, count do
  local kind, position, dueAt, attempt, occurrence, name, text, hasDetails, details, letter = unpack(items[i])
  local entry = standing(name)
  if not entry or string.sub(entry, 1, 26) ~= text then
    replies[i] = '0'
  else
    -- 1: done. 2: dead. 3: to follow. 4: dead, and to follow.
    local value = kind > 1 and valueOf(entry)
    if kind == 2 or kind == 4 then bury(letter, text, value) end
    if kind <= 2 then
      local what = kind == 1 and 'settled' or 'dead'
      counted[what] = counted[what] + 1
      drop(name, entry)
      replies[i] = '1'
    else
      value = rewritten(value, dueAt, attempt, occurrence, hasDetails == 1 and details or nil)
      takeOut(entry)
      put(name, position, sub(entry, 27), value)
      replies[i] = '2' .. struct.pack('<dI4', revision, #value) .. value
    end
  end
end
counted.settled = counted.settled + tonumber(ARGV[8])
noteAll(ARGV[12], tonumber(ARGV[11]))
flush(false)
flushNotes()
redis.call('HSET', SHARD, 'settled', level, 'settlement', ARGV[5])
return { read, table.concat(replies) }
`

/**
 * ARGV: now, the fence, how many rows at most, or nearly. Whole parts below the settled level are unlinked; of the
 * part in which it lies goes what is below it, but for a chunk that reaches over it. Names that still lead there are
 * taken away. Answers how many rows went, and whether there is more.
 */
export const sweepLua = String.raw`${shardLua}${chunkLua}
local refusal = fenced()
if refusal then return refusal end

-- Rows whose names are to go, when those still lead to them.
local places, names = {}, {}

local function unname(text, value)
  local length = struct.unpack('<I2', value, 35)
  places[#places + 1] = text
  names[#names + 1] = string.sub(value, 41, 40 + length)
end

local function flushNames()
  local found, stale = fetched(NAMES, names), {}
  for index = 1, #names do
    if found[index] and string.sub(found[index], 1, 26) == places[index] then stale[#stale + 1] = names[index] end
  end
  many('HDEL', NAMES, stale)
end

-- Takes away what is below the level of the part in which it lies; answers how many rows that were.
local function sweepLast(part)
  local key, chunk, removed = SHARD .. ':p:' .. part, chunkOf(part), 0
  local fields, below = redis.call('HKEYS', key), {}
  for field = 1, #fields do
    if fields[field] < settled then below[#below + 1] = fields[field] end
  end
  local values = fetched(key, below)
  for row = 1, #below do unname(below[row], values[row]) end
  many('HDEL', key, below)
  if chunk and lastOf(chunk) < settled then
    eachRowIn(redis.call('GET', chunk.key), unname)
    redis.call('UNLINK', chunk.key)
    removed, chunk = chunk.standing, false
  end
  if #below == #fields and not chunk then redis.call('ZREM', PARTS, part) end
  return removed + #below
end

local removed, most, isMore = 0, tonumber(ARGV[5]), false
-- A part that begins at the level holds nothing below it.
local parts = redis.call('ZRANGEBYLEX', PARTS, '-', '(' .. settled, 'LIMIT', 0, 65)
for index = 1, math.min(#parts, 64) do
  local part = parts[index]
  if not parts[index + 1] then
    removed = removed + sweepLast(part)
    break
  end
  removed = removed + eachRow(part, unname)
  redis.call('UNLINK', SHARD .. ':p:' .. part, chunkKey(part))
  redis.call('ZREM', PARTS, part)
  isMore = removed >= most or index == 64
  if isMore then break end
end
flushNames()
return { removed, isMore and 1 or 0 }
`
