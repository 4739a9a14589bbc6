/**
 * The parts that rows lie in, for a script that puts rows: a part is a hash whose name ends with the first place it
 * may hold. The sorted set PARTS has the parts that are not empty. A part never reaches over the end of its bucket
 * of time, and is cut when it is large.
 */
export const partsLua = (widthMs: number, largeRows: number, pieces: number): string => String.raw`
local WIDTH, LARGE, PIECES = ${widthMs}, ${largeRows}, ${pieces}
local format, sub = string.format, string.sub

-- Redis keeps a small hash as a list, which it searches from the beginning for every field, until something long is
-- put into it. No name is empty.
local function beginNames() redis.call('HSET', NAMES, '', string.rep('-', 100)) end

local function partKey(part) return SHARD .. ':p:' .. part end

-- Cuts a large part by time into many; or, where all its rows stand at one instant, takes off what this call put.
-- Rows come to an instant in the order of their revisions, so what comes next goes to the part that was taken off,
-- and no row is taken along more than once.
local function cut(part, size, firstRevision)
  local fields = redis.call('HKEYS', partKey(part))
  local positions = {}
  local least, most = math.huge, 0
  for index = 1, size do
    local position = positionOf(fields[index])
    positions[index] = position
    if position < least then least = position end
    if position > most then most = position end
  end
  local step, groups = math.ceil((most - least + 1) / PIECES), {}
  if most > least then
    for index = 1, size do
      local number = math.floor((positions[index] - least) / step)
      if number > 0 then
        local group = groups[number]
        if not group then
          group = {}
          groups[number] = group
        end
        group[#group + 1] = fields[index]
      end
    end
  else
    local from, group = place(most, firstRevision + 1), {}
    table.sort(fields)
    -- Where all of it came with this call, half of that.
    if fields[1] >= from then from = fields[math.floor(size / 2) + 1] end
    for index = 1, size do
      if fields[index] >= from then group[#group + 1] = fields[index] end
    end
    if #group == 0 then return end
    groups[1] = group
  end
  for number, group in pairs(groups) do
    local start = most > least and place(least + number * step, 0) or group[1]
    local found, moved = fetched(partKey(part), group), {}
    for index = 1, #group do
      moved[2 * index - 1] = group[index]
      moved[2 * index] = found[index]
    end
    many('HSET', partKey(start), moved)
    many('HDEL', partKey(part), group)
    redis.call('ZADD', PARTS, 0, start)
  end
end

-- Cuts one at most of the parts that rows were put into, the largest: the parts of a busy hour become large
-- together, and each takes its time.
local function cutLargest(parts, firstRevision)
  local largest, most = nil, LARGE
  for part in pairs(parts) do
    local length = redis.call('HLEN', partKey(part))
    if length > most then largest, most = part, length end
  end
  if largest then cut(largest, most, firstRevision) end
end
`
