import { inboxLua } from './inbox.lua.js'
import { plainLua } from './plain.lua.js'
import { recordsLua } from './records.lua.js'
import { rowsLua } from './rows.lua.js'
import { shardLua } from './shard.lua.js'

/**
 * ARGV: now, the fence (empty in a store of mode `claim`), '1' if the inbox must be empty, then one of two forms:
 *
 * - the predicted last revision, and plain sets (plain.lua.ts);
 * - an empty string, the operations in columns (kinds with flags, names, positions, identities, values, extras or an
 *   empty string), how many history entries, the entries.
 *
 * Answers the read level, the settled level, the last revision before the write, and one packed answer for each operation,
 * which begins with a letter for its outcome. The answers are empty if all operations were plain sets of new timers.
 */
export const writeLua = (partsLua: string): string => String.raw`${shardLua}
local isClaim = ARGV[2] == ''
if not isClaim then
  local refusal = checkFence()
  if refusal then return refusal end
  if ARGV[5] == '1' and redis.call('EXISTS', SHARD .. ':in') == 1 then
    return refuse('INBOX', 'requests wait in its inbox')
  end
end
${partsLua}${inboxLua}${plainLua}${rowsLua}${recordsLua}
local now = clock()
local isPlain = kinds ~= nil
if not isPlain then
  kinds, names, positions = cmsgpack.unpack(ARGV[7]), cmsgpack.unpack(ARGV[8]), cmsgpack.unpack(ARGV[9])
  identities, contents = cmsgpack.unpack(ARGV[10]), cmsgpack.unpack(ARGV[11])
  if ARGV[12] ~= '' then extras = cmsgpack.unpack(ARGV[12]) end
end
local count, floor = #kinds, positionOf(settled)
local asked = {}
readNames(names)
if extras then
  local ids, moved = {}, {}
  for i = 1, count do
    if extras[i] ~= '' then
      local extra = isPlain and extras[i] or { struct.unpack('<ddI4Bc0Bc0dI4c0', extras[i]) }
      extras[i] = extra
      if extra[4] ~= '' then ids[#ids + 1] = extra[4] end
      local entry = kinds[i] % 8 == 2 and liveEntry(names[i])
      if entry then moved[#moved + 1] = entry end
    else
      extras[i] = false
    end
  end
  readValues(moved)
  local found = getFields(ASKED, ids)
  for i = 1, #ids do asked[ids[i]] = found[i] end
end

-- Row claims that stay although their rows were rewritten, by the new place.
local kept = {}

-- The claim on a row, which may be over. Only a store of mode claim has claims.
local function leaseOf(entry)
  if not isClaim then return false end
  local text = sub(entry, 1, 26)
  return kept[text] or redis.call('HGET', LEASES, text)
end

-- Whether an instance holds a claim on the row.
local function isHeld(entry)
  local held = leaseOf(entry)
  return held and struct.unpack('<d', held, 9) > now
end

-- Returns the answer, and the identity of the timer if it was changed.
local function change(i)
  local flags, name, extra = kinds[i], names[i], extras and extras[i]
  local kind = flags % 8
  local function is(flag) return math.floor(flags / flag) % 2 == 1 end
  if kind == 4 then return string.char(extra[3]) end
  local entry = liveEntry(name)
  if kind == 1 then
    if entry and sub(entry, 27) == identities[i] then return 'S' .. entry end
    if (is(8) and entry) or (is(16) and (not entry or revisionOf(entry) ~= extra[2])) then
      return entry and 'C' .. entry or 'c'
    end
    if positions[i] < floor then return 'L' end
    if is(256) and not removeDeadLetter(extra[5]) then return 'u' end
    if entry then
      takeOut(entry)
      counted.replaced = counted.replaced + 1
    end
    counted.created = counted.created + 1
    put(name, positions[i], identities[i], contents[i])
    return entry and 'R' .. entry or 's', identities[i]
  end
  if not entry or (is(32) and sub(entry, 27) ~= identities[i]) then return 'u' end
  if is(16) and revisionOf(entry) ~= extra[2] then return 'C' .. entry end
  local isKept = kind == 2 and is(8)
  if isKept ~= (isHeld(entry) or false) then return isKept and 'C' .. entry or 'f' end
  local identity = sub(entry, 27)
  if kind == 3 then
    drop(name, entry)
    counted.cancelled = counted.cancelled + 1
    return 'X' .. entry, identity
  end
  if positions[i] < floor then return 'L' end
  local value = valueOf(entry)
  local attempt, occurrence = struct.unpack('<I4I4', value, 25)
  if is(64) then attempt = extra[3] end
  value = rewritten(value, extra[1], attempt, occurrence, is(128) and contents[i] or nil)
  local lease = isKept and leaseOf(entry)
  takeOut(entry)
  local new = put(name, positions[i], identity, value)
  if lease then kept[sub(new, 1, 26)] = lease end
  return 'M' .. entry .. pack('<I4', #value) .. value, identity
end

local outcomes = { s = 'set', R = 'set', S = 'same', C = 'conflict', c = 'conflict', u = 'unknown', f = 'firing',
  d = 'settled', X = 'cancelled', M = 'moved', x = 'expired' }
local replies = {}
for i = 1, count do
  local extra, reply, identity = extras and extras[i], nil, nil
  if not extra then
    local name = names[i]
    -- A new timer without extras: nearly all of a large batch.
    if kinds[i] == 1 and not entries[name] and positions[i] >= floor then
      counted.created = counted.created + 1
      put(name, positions[i], identities[i], contents[i])
      reply = 's'
    else
      reply = change(i)
    end
  else
    local id = extra[4]
    if id == '' then
      reply, identity = change(i)
    elseif not isWaiting(asked[id]) then
      reply = 'b'
    else
      if kinds[i] % 8 ~= 1 and deadlineOf(asked[id]) <= now then reply = 'x' else reply, identity = change(i) end
      -- A position below the settled level: the owner sends the operation again with a later position.
      if reply ~= 'L' then
        answer(id, asked[id], outcomes[sub(reply, 1, 1)])
        asked[id] = false
      end
    end
    if identity and extra[7] ~= '' then note(extra[6], identity, extra[7]) end
  end
  replies[i] = reply
end
if not isPlain then noteAll(ARGV[14], tonumber(ARGV[13])) end
flush(isClaim)
for text, lease in pairs(kept) do
  if not (dropped and dropped[text]) then redis.call('HSET', LEASES, text, lease) end
end
flushNotes()
flushAnswers(now)
return { read, settled, format('%.0f', firstRevision), table.concat(replies) }
`
