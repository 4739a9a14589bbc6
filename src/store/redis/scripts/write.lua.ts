import { inboxLua } from './inbox.lua.js'
import { recordsLua } from './records.lua.js'
import { shardLua } from './shard.lua.js'

/**
 * ARGV: now, the fence (empty for a store of claims), how many operations, the operations, how many entries of
 * history, the entries. Answers the read level, the settled level, and one packed answer for each operation,
 * which begins with the letter of its outcome.
 */
export const writeLua = (rowsLua: string): string => String.raw`${shardLua}${rowsLua}${recordsLua}${inboxLua}
local isClaim = ARGV[2] == ''
if not isClaim then
  local refusal = fenced()
  if refusal then return refusal end
end
local now, count, blob = clock(), tonumber(ARGV[5]), ARGV[6]
local kinds, flags, positions, dueAts, identities, revisions, attempts = {}, {}, {}, {}, {}, {}, {}
local names, values, extras, asked, ids, at = {}, {}, {}, {}, {}, 1
for i = 1, count do
  kinds[i], flags[i], positions[i], dueAts[i], identities[i], revisions[i], attempts[i], names[i], values[i],
    extras[i], at = struct.unpack('<BHddddI4I2c0I4c0I4c0', blob, at)
  if extras[i] ~= '' then
    local extra = { struct.unpack('<Bc0Bc0dI4c0', extras[i]) }
    extras[i] = extra
    if extra[1] ~= '' then ids[#ids + 1] = extra[1] end
  end
end
readNames(names)
if #ids > 0 then
  local found = fetched(REQUESTS, ids)
  for i = 1, #ids do asked[ids[i]] = found[i] end
end

local function is(i, flag) return math.floor(flags[i] / flag) % 2 == 1 end

-- Whether somebody holds the row: only a store of claims has leases.
local function isHeld(entry)
  if not isClaim then return false end
  local held = redis.call('HGET', LEASES, string.sub(entry, 1, 26))
  return held and struct.unpack('<d', held, 9) > now
end

-- The answer, and the identity of the timer that was changed, if one was.
local function change(i)
  local kind, name = kinds[i], names[i]
  if kind == 4 then return string.char(attempts[i]) end
  local entry = standing(name)
  if kind == 1 then
    if entry and identityOf(entry) == identities[i] then return 'S' .. entry end
    if (is(i, 1) and entry) or (is(i, 2) and (not entry or revisionOf(entry) ~= revisions[i])) then
      return entry and 'C' .. entry or 'c'
    end
    if positions[i] < positionOf(settled) then return 'L' end
    if is(i, 32) and not exhume(extras[i][2]) then return 'u' end
    if entry then
      takeOut(entry)
      counted.replaced = counted.replaced + 1
    end
    counted.created = counted.created + 1
    put(name, positions[i], identities[i], values[i])
    return (entry and 'R' .. entry or 's') .. struct.pack('<d', revision), identities[i]
  end
  if not entry or (is(i, 4) and identityOf(entry) ~= identities[i]) then return 'u' end
  if is(i, 2) and revisionOf(entry) ~= revisions[i] then return 'C' .. entry end
  if isHeld(entry) then return 'f' end
  if kind == 3 then
    drop(name, entry)
    counted.cancelled = counted.cancelled + 1
    return 'X' .. entry, identityOf(entry)
  end
  if positions[i] < positionOf(settled) then return 'L' end
  local value = valueOf(entry)
  local attempt, occurrence = struct.unpack('<I4I4', value, 25)
  if is(i, 8) then attempt = attempts[i] end
  value = rewritten(value, dueAts[i], attempt, occurrence, is(i, 16) and values[i] or nil)
  takeOut(entry)
  local moved = put(name, positions[i], identityOf(entry), value)
  return 'M' .. entry .. moved .. struct.pack('<I4', #value) .. value, identityOf(entry)
end

local outcomes = { s = 'set', R = 'set', S = 'same', C = 'conflict', c = 'conflict', u = 'unknown', f = 'firing',
  d = 'settled', X = 'cancelled', M = 'moved', x = 'expired' }
local replies = {}
for i = 1, count do
  local extra, reply, identity = extras[i], nil, nil
  if extra == '' then
    reply, identity = change(i)
  else
    local id = extra[1]
    if id == '' then
      reply, identity = change(i)
    elseif not asked[id] then
      reply = 'b'
    else
      local deadline = struct.unpack('<d', asked[id])
      if kinds[i] ~= 1 and deadline <= now then reply = 'x' else reply, identity = change(i) end
      -- One that found its position taken over by the level is to be tried again with a later one.
      if reply ~= 'L' then
        answer(id, deadline, outcomes[string.sub(reply, 1, 1)])
        asked[id] = false
      end
    end
    if identity and is(i, 64) then note(extra[3], identity, extra[4]) end
  end
  replies[i] = reply
end
noteAll(ARGV[8], tonumber(ARGV[7]))
flush(isClaim)
flushNotes()
if #ids > 0 then forget(now) end
return { read, settled, table.concat(replies) }
`
