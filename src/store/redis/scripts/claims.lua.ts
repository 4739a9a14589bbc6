import { recordsLua } from './records.lua.js'
import { rowsLua } from './rows.lua.js'
import { shardLua } from './shard.lua.js'

/**
 * Row claims, in a store of mode `claim`. The hash LEASES has, by the place of a row, the claim's nonce, its end and its
 * owner. Moving or removing a row removes its claim.
 */
const dueLua = String.raw`
-- The places of due rows that nobody has claimed, earliest first. And for each the owner whose claim ran out, after the
-- mark '@', or false.
local function findDue(now, limit, scopes)
  local found, lost, last = {}, {}, place(now + 1, 0)
  local cursor = '-'
  while true do
    local parts = redis.call('ZRANGEBYLEX', PARTS, cursor, '(' .. last, 'LIMIT', 0, 17)
    for index = 1, math.min(#parts, 16) do
      local key = SHARD .. ':p:' .. parts[index]
      local fields, wanted = redis.call('HKEYS', key), {}
      for at = 1, #fields do
        if fields[at] < last then wanted[#wanted + 1] = fields[at] end
      end
      table.sort(wanted)
      local held = getFields(LEASES, wanted)
      for at = 1, #wanted do
        local isFree = not held[at] or struct.unpack('<d', held[at], 9) <= now
        if isFree and scopes then
          local value = redis.call('HGET', key, wanted[at])
          isFree = scopes[string.sub(value, 41, 40 + struct.unpack('<I2', value, 33))]
        end
        if isFree then
          found[#found + 1] = wanted[at]
          lost[#lost + 1] = held[at] and '@' .. string.sub(held[at], 17) or false
          if #found >= limit then return found, lost end
        end
      end
    end
    if #parts < 17 then return found, lost end
    cursor = '[' .. parts[17]
  end
end

`

const scopesLua = String.raw`
local function scopesFrom(index)
  if ARGV[index] == 'all' then return nil end
  local scopes = {}
  for at = index + 1, #ARGV do scopes[ARGV[at]] = true end
  return scopes
end
`

/** ARGV: now, limit, 'all' or 'some', the scopes. Answers the places of rows that could be claimed. */
export const peekDueLua = (
  partsLua: string,
): string => String.raw`${shardLua}${partsLua}${rowsLua}${dueLua}${scopesLua}
local found = findDue(clock(), tonumber(ARGV[2]), scopesFrom(3))
return found
`

/** ARGV: now, withinMs, 'all' or 'some', the scopes. Answers the earliest place after now and within withinMs. */
export const nextDueLua = String.raw`${shardLua}${scopesLua}
local now, scopes = clock(), scopesFrom(3)
local from, untilExclusive = place(now + 1, 0), place(now + tonumber(ARGV[2]) + 1, 0)
local first = redis.call('ZREVRANGEBYLEX', PARTS, '[' .. from, '-', 'LIMIT', 0, 1)[1]
local cursor = first and '[' .. first or '-'
while true do
  local parts = redis.call('ZRANGEBYLEX', PARTS, cursor, '(' .. untilExclusive, 'LIMIT', 0, 17)
  for index = 1, math.min(#parts, 16) do
    local key = SHARD .. ':p:' .. parts[index]
    local fields, wanted = redis.call('HKEYS', key), {}
    for at = 1, #fields do
      if fields[at] >= from and fields[at] < untilExclusive then wanted[#wanted + 1] = fields[at] end
    end
    table.sort(wanted)
    for at = 1, #wanted do
      if not scopes then return wanted[at] end
      local value = redis.call('HGET', key, wanted[at])
      if scopes[string.sub(value, 41, 40 + struct.unpack('<I2', value, 33))] then return wanted[at] end
    end
  end
  if #parts < 17 then return false end
  cursor = '[' .. parts[17]
end
`

/**
 * ARGV: now, limit, leaseMs, owner, 'all' or 'some', the scopes. Answers for each claimed row its place, value and nonce,
 * and the owner whose claim ran out.
 */
export const claimDueLua = (
  partsLua: string,
): string => String.raw`${shardLua}${partsLua}${rowsLua}${dueLua}${scopesLua}
local now = clock()
local found, lost = findDue(now, tonumber(ARGV[2]), scopesFrom(5))
if #found == 0 then return {} end
local last = redis.call('HINCRBY', SHARD, 'leases', #found)
local tail = struct.pack('<d', now + tonumber(ARGV[3])) .. ARGV[4]
local reply, held = {}, {}
readValues(found)
for index = 1, #found do
  local text, number = found[index], last - #found + index
  local entry = text .. '00000000'
  local value = valueOf(entry)
  if lost[index] then
    local dueAt, identity, _, attempt, occurrence = struct.unpack('<dc8dI4I4', value)
    local length = struct.unpack('<I2', value, 35)
    value = rewritten(value, dueAt, attempt + 1, occurrence)
    takeOut(entry)
    text = string.sub(put(string.sub(value, 41, 40 + length), positionOf(text), identity, value), 1, 26)
  end
  held[2 * index - 1] = text
  held[2 * index] = struct.pack('<d', number) .. tail
  reply[4 * index - 3], reply[4 * index - 2] = text, value
  reply[4 * index - 1], reply[4 * index] = string.format('%.0f', number), lost[index] or ''
end
flush(true)
callMany('HSET', LEASES, held)
return reply
`

const heldLua = String.raw`
-- The NAMES entry of the row that a claim token still holds, and its LEASES entry; nil when the claim is over.
local function heldEntry(name, tokenRevision, tokenNonce, now)
  local entry = liveEntry(name)
  if not entry or revisionOf(entry) ~= tokenRevision then return end
  local text = redis.call('HGET', LEASES, string.sub(entry, 1, 26))
  if not text then return end
  local number, untilTime = struct.unpack('<dd', text)
  if number == tokenNonce and untilTime > now then return entry, text end
end
`

const endsLua = String.raw`
-- Gives each claim that is still held and that mayChange allows another end. Answers '1' or '0' for each.
local function changeEnds(format, count, blob, now, newEnd, mayChange)
  local items, names, replies, at = {}, {}, {}, 1
  for i = 1, count do
    local item = { struct.unpack(format, blob, at) }
    items[i], names[i], at = item, item[1], item[#item]
  end
  readNames(names)
  for i = 1, count do
    local entry, text = heldEntry(names[i], items[i][2], items[i][3], now)
    local isChanged = entry and mayChange(items[i], text)
    if isChanged then
      redis.call('HSET', LEASES, string.sub(entry, 1, 26),
        string.sub(text, 1, 8) .. struct.pack('<d', newEnd) .. string.sub(text, 17))
    end
    replies[i] = isChanged and '1' or '0'
  end
  return table.concat(replies)
end
`

/** ARGV: now, leaseMs, how many claim tokens, the tokens. Answers '1' or '0' for each. */
export const extendLua = (partsLua: string): string =>
  String.raw`${shardLua}${partsLua}${rowsLua}${heldLua}${endsLua}
local now = clock()
local function always() return true end
return changeEnds('<I2c0dd', tonumber(ARGV[3]), ARGV[4], now, now + tonumber(ARGV[2]), always)
`

/**
 * ARGV: now, beyondMs, limit. Answers place, value, nonce and end of each claim of a due row that ends later than
 * beyondMs from now. Reads only claimed rows.
 */
export const longLeasesLua = (partsLua: string): string => String.raw`${shardLua}${partsLua}${rowsLua}
local now = clock()
local last, beyond = place(now + 1, 0), now + tonumber(ARGV[2])
local leases, found, held, reply = redis.call('HGETALL', LEASES), {}, {}, {}
for at = 1, #leases, 2 do
  if leases[at] < last and struct.unpack('<d', leases[at + 1], 9) > beyond then
    found[#found + 1], held[leases[at]] = leases[at], leases[at + 1]
  end
end
table.sort(found)
for at = #found, tonumber(ARGV[3]) + 1, -1 do found[at] = nil end
readValues(found)
for index = 1, #found do
  local number, untilTime = struct.unpack('<dd', held[found[index]])
  reply[4 * index - 3], reply[4 * index - 2] = found[index], valueOf(found[index] .. '00000000')
  reply[4 * index - 1], reply[4 * index] = string.format('%.0f', number), string.format('%.0f', untilTime)
end
return reply
`

/** ARGV: now, how many claims, the claims as they were seen. Ends each that is unchanged. Answers '1' or '0' for each. */
export const cutShortLua = (partsLua: string): string =>
  String.raw`${shardLua}${partsLua}${rowsLua}${heldLua}${endsLua}
local now = clock()
local function isUnchanged(seen, text) return struct.unpack('<d', text, 9) == seen[4] end
return changeEnds('<I2c0ddd', tonumber(ARGV[2]), ARGV[3], now, now, isUnchanged)
`

/** ARGV: now, how many outcomes, the outcomes, how many history entries, the entries. Answers '1' or '0' for each. */
export const settleClaimedLua = (partsLua: string): string =>
  String.raw`${shardLua}${partsLua}${rowsLua}${recordsLua}${heldLua}
local now, count, blob, at = clock(), tonumber(ARGV[2]), ARGV[3], 1
local items, names, replies = {}, {}, {}
for i = 1, count do
  local item = { struct.unpack('<BdI4I4I2c0ddBI4c0I4c0I2', blob, at) }
  items[i], names[i], at = item, item[5], item[12]
  item.notes = {}
  for n = 1, item[11] do
    local note = { struct.unpack('<dc8I4c0', blob, at) }
    item.notes[n], at = note, note[4]
  end
end
readNames(names)
noteAll(ARGV[5], tonumber(ARGV[4]))
for i = 1, count do
  local kind, dueAt, attempt, occurrence, name, tokenRevision, tokenNonce, hasDetails, details, letter =
    unpack(items[i])
  local entry = heldEntry(name, tokenRevision, tokenNonce, now)
  if entry then
    for _, each in ipairs(items[i].notes) do note(each[1], each[2], each[3]) end
    -- Kinds: 1 done, 2 dead, 3 follow-up, 4 dead with a follow-up, 5 released.
    local text = string.sub(entry, 1, 26)
    local value = kind > 1 and kind < 5 and valueOf(entry)
    if kind == 2 or kind == 4 then addDeadLetter(letter, text, value) end
    if kind <= 2 then
      local what = kind == 1 and 'settled' or 'dead'
      counted[what] = counted[what] + 1
      drop(name, entry)
    elseif kind <= 4 then
      takeOut(entry)
      put(name, dueAt, sub(entry, 27),
        rewritten(value, dueAt, attempt, occurrence, hasDetails == 1 and details or nil))
    end
    -- Removed right away: if a call has the same token twice, the second one holds nothing.
    redis.call('HDEL', LEASES, text)
  end
  replies[i] = entry and '1' or '0'
end
flush(true)
flushNotes()
return table.concat(replies)
`
