import { shardLua } from './shard.lua.js'

/**
 * History and dead letters. HISTORY is a sorted set of entries by their time. DEAD has the dead letters by number,
 * DEADORDER their numbers in order.
 */
export const recordsLua = String.raw`
local HISTORY, DEAD, DEADORDER = SHARD .. ':history', SHARD .. ':dead', SHARD .. ':deadorder'
local notes = {}

-- The identity is given as 8 bytes.
local function note(at, identity, rest)
  notes[#notes + 1] = at
  notes[#notes + 1] = identity .. rest
end

-- Adds the entries of a call. Each is its time, its timer's identity, and the rest.
local function noteAll(blob, count)
  local at = 1
  for _ = 1, count do
    local time, identity, rest
    time, identity, rest, at = struct.unpack('<dc8I4c0', blob, at)
    note(time, identity, rest)
  end
end

local function flushNotes()
  if #notes == 0 then return end
  local number = redis.call('HINCRBY', SHARD, 'notes', #notes / 2) - #notes / 2
  for index = 1, #notes, 2 do
    notes[index + 1] = string.format('%012x', number + (index + 1) / 2) .. notes[index + 1]
  end
  callMany('ZADD', HISTORY, notes)
end

-- Stores a row as a dead letter: time of death and reason, then place and value of the row.
local function addDeadLetter(letter, text, value)
  local number = string.format('%012x', redis.call('HINCRBY', SHARD, 'letters', 1))
  redis.call('HSET', DEAD, number, letter .. text .. value)
  redis.call('ZADD', DEADORDER, 0, number)
end

local function removeDeadLetter(number)
  if redis.call('HDEL', DEAD, number) == 0 then return false end
  redis.call('ZREM', DEADORDER, number)
  return true
end
`

/** ARGV: now, the numbers of dead letters. Answers '1' or '0' for each. */
export const removeDeadLua = String.raw`${shardLua}${recordsLua}
local replies = {}
for index = 2, #ARGV do replies[index - 1] = removeDeadLetter(ARGV[index]) and '1' or '0' end
return table.concat(replies)
`
