import { shardLua } from './shard.lua.js'

/**
 * What is kept of timers that are gone, as a script writes it. HISTORY is a sorted set by the time of its
 * entries; DEAD holds letters by their number, DEADORDER their numbers in order.
 */
export const recordsLua = String.raw`
local HISTORY, DEAD, DEADORDER = SHARD .. ':history', SHARD .. ':dead', SHARD .. ':deadorder'
local notes = {}

-- The identity comes as 8 bytes.
local function note(at, identity, rest)
  notes[#notes + 1] = at
  notes[#notes + 1] = identity .. rest
end

-- Entries as they came with the call: each its time, its timer's identity, and the rest.
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
  many('ZADD', HISTORY, notes)
end

-- Keeps a row as a dead letter: the letter is the time of death and the reason, before place and value of the row.
local function bury(letter, text, value)
  local number = string.format('%012x', redis.call('HINCRBY', SHARD, 'letters', 1))
  redis.call('HSET', DEAD, number, letter .. text .. value)
  redis.call('ZADD', DEADORDER, 0, number)
end

local function exhume(number)
  if redis.call('HDEL', DEAD, number) == 0 then return false end
  redis.call('ZREM', DEADORDER, number)
  return true
end
`

/** ARGV: now, the numbers of letters. Answers '1' or '0' for each. */
export const removeDeadLua = String.raw`${shardLua}${recordsLua}
local replies = {}
for index = 2, #ARGV do replies[index - 1] = exhume(ARGV[index]) and '1' or '0' end
return table.concat(replies)
`
