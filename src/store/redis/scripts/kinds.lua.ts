import { chunkLua } from './chunk.lua.js'
import { shardLua } from './shard.lua.js'

/**
 * ARGV: now, the part to begin with, a namespace or an empty string for any, the edges of the slices. Answers the part to
 * continue with, and for each kind: its scope, its rows with attempts, its first due time, slices and counts in turn.
 */
export const countKindsLua = String.raw`${shardLua}${chunkLua}
local parts = redis.call('ZRANGEBYLEX', PARTS, ARGV[2], '+', 'LIMIT', 0, 65)
local prefix, looked = ARGV[3] .. '\0', 0
local edges, found = {}, {}
for index = 4, #ARGV do edges[index - 3] = tonumber(ARGV[index]) end
local first, last = edges[1], edges[#edges]

local function sliceOf(dueAt)
  local low, high = 1, #edges
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if edges[middle] <= dueAt then low = middle else high = middle end
  end
  return low - 1
end

local function visit(text, value)
  if text < settled then return end
  local dueAt = struct.unpack('<d', value)
  if dueAt < first or dueAt >= last then return end
  local scope = string.sub(value, 41, 40 + struct.unpack('<I2', value, 33))
  if prefix ~= '\0' and string.sub(scope, 1, #prefix) ~= prefix then return end
  local kind = found[scope]
  if not kind then
    kind = { attempted = 0, dueAt = dueAt, slices = {} }
    found[scope] = kind
  end
  local slice = sliceOf(dueAt)
  kind.slices[slice] = (kind.slices[slice] or 0) + 1
  if struct.unpack('<I4', value, 25) > 0 then kind.attempted = kind.attempted + 1 end
  if dueAt < kind.dueAt then kind.dueAt = dueAt end
end

local nextPart = parts[65]
for index = 1, math.min(#parts, 64) do
  local after = parts[index + 1]
  if not after or after > settled then looked = looked + eachRow(parts[index], visit) end
  if looked > 5000 and after then
    nextPart = after
    break
  end
end
local reply = {}
for scope, kind in pairs(found) do
  local flat = {}
  for slice, rows in pairs(kind.slices) do
    flat[#flat + 1] = slice
    flat[#flat + 1] = rows
  end
  reply[#reply + 1] = { scope, kind.attempted, string.format('%.17g', kind.dueAt), flat }
end
return { nextPart and '[' .. nextPart or '', reply }
`
