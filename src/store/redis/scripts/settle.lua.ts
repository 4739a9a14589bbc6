import { chunkLua } from './chunk.lua.js'
import { recordsLua } from './records.lua.js'
import { rowsLua } from './rows.lua.js'
import { shardLua } from './shard.lua.js'

/**
 * ARGV: now, the fence, the settlement's id, its level, the lowest position of the follow-ups, how many timers ended, how
 * many outcomes, the outcomes, how many history entries, the entries. Answers the read level and one packed answer for
 * each outcome: '0' when its row is no longer live, '1' when the row was removed, '2' with the row that follows.
 */
export const settleLua = (
  partsLua: string,
): string => String.raw`${shardLua}${partsLua}${rowsLua}${recordsLua}
local refusal = checkFence()
if refusal then return refusal end
local now, level = clock(), ARGV[6]
-- A level that does not rise may be ahead of the clock: the clock was ahead once and was corrected.
if level < settled or level > read or (positionOf(level) > now and level > settled) or
  revisionOf(level) > revision + 1 or
  tonumber(ARGV[7]) < positionOf(level) then
  return refuse('LEVEL', 'cannot settle up to ' .. shown(level) .. ': its settled level is ' .. shown(settled) ..
    ', its read level is ' .. shown(read) .. ', and the time is ' .. string.format('%.0f', now))
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
  local entry = (items[i][1] > 1 or positionOf(level) > 0) and liveEntry(names[i])
  if entry then wanted[#wanted + 1] = entry end
end
readValues(wanted)
local replies = {}
for i = 1, count do
  local kind, position, dueAt, attempt, occurrence, name, text, hasDetails, details, letter = unpack(items[i])
  local entry = liveEntry(name)
  if not entry or string.sub(entry, 1, 26) ~= text then
    replies[i] = '0'
  else
    -- Kinds: 1 done, 2 dead, 3 follow-up, 4 dead with a follow-up.
    local isKept = kind == 1 and positionOf(level) > 0
    local value = (kind > 1 or isKept) and valueOf(entry)
    if kind == 2 or kind == 4 then addDeadLetter(letter, text, value) end
    if kind <= 2 then
      local what = kind == 1 and 'settled' or 'dead'
      counted[what] = counted[what] + 1
      if isKept then
        -- A finished row stays just below the level until it is swept.
        takeOut(entry)
        put(name, positionOf(level) - 1, sub(entry, 27), value)
      else
        drop(name, entry)
      end
      replies[i] = '1'
    else
      if position > dueAt then late = math.max(late, position + 1) end
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
redis.call('HSET', SHARD, 'settled', level, 'settlement', ARGV[5], 'late', string.format('%.0f', late))
return { read, table.concat(replies) }
`

/**
 * ARGV: now, the fence, about how many rows to remove, and a place. Unlinks whole parts below that place, which is at
 * most the settled level. In the part that
 * contains the level it removes the rows below it, except for a chunk that extends above it. Removes the names that still
 * lead to removed rows. Answers how many rows it removed, and whether there are more.
 */
export const sweepLua = String.raw`${shardLua}${chunkLua}
local refusal = checkFence()
if refusal then return refusal end
if ARGV[6] < settled then settled = ARGV[6] end

-- Places and names of the removed rows. A name is removed if it still leads to that place.
local places, names = {}, {}

local function collectName(text, value)
  local length = struct.unpack('<I2', value, 35)
  places[#places + 1] = text
  names[#names + 1] = string.sub(value, 41, 40 + length)
end

local function flushNames()
  local found, stale = getFields(NAMES, names), {}
  for index = 1, #names do
    if found[index] and string.sub(found[index], 1, 26) == places[index] then stale[#stale + 1] = names[index] end
  end
  callMany('HDEL', NAMES, stale)
end

-- Removes the rows below the settled level from the part that contains it. Returns how many.
local function sweepBelow(part)
  local key, chunk, removed = SHARD .. ':p:' .. part, chunkOf(part), 0
  local fields, below = redis.call('HKEYS', key), {}
  for field = 1, #fields do
    if fields[field] < settled then below[#below + 1] = fields[field] end
  end
  local values = getFields(key, below)
  for row = 1, #below do collectName(below[row], values[row]) end
  callMany('HDEL', key, below)
  if chunk and lastOf(chunk) < settled then
    eachRowIn(redis.call('GET', chunk.key), collectName)
    redis.call('UNLINK', chunk.key)
    removed, chunk = chunk.live, false
  end
  if #below == #fields and not chunk then redis.call('ZREM', PARTS, part) end
  return removed + #below
end

local removed, most, isMore = 0, tonumber(ARGV[5]), false
-- A part that begins at the level has no rows below it.
local parts = redis.call('ZRANGEBYLEX', PARTS, '-', '(' .. settled, 'LIMIT', 0, 65)
for index = 1, math.min(#parts, 64) do
  local part = parts[index]
  if not parts[index + 1] then
    removed = removed + sweepBelow(part)
    break
  end
  removed = removed + eachRow(part, collectName)
  redis.call('UNLINK', SHARD .. ':p:' .. part, chunkKey(part))
  redis.call('ZREM', PARTS, part)
  isMore = removed >= most or index == 64
  if isMore then break end
end
flushNames()
return { removed, isMore and 1 or 0 }
`
