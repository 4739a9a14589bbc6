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

-- Takes rows out of a part into one that begins at a place.
local function moveRows(part, start, fields)
  local found, moved = fetched(partKey(part), fields), {}
  for index = 1, #fields do
    moved[2 * index - 1] = fields[index]
    moved[2 * index] = found[index]
  end
  many('HSET', partKey(start), moved)
  many('HDEL', partKey(part), fields)
  redis.call('ZADD', PARTS, 0, start)
end

-- Where what this call put stands together, with no other row between, as timers of one delay and those of one instant
-- do: it and what stands behind it, if that is not the most of it. What comes next goes with it, and no row is
-- taken along more than once.
local function endOf(fields, firstRevision)
  local since, put, first, last = format('%012x', firstRevision), {}, nil, nil
  for index = 1, #fields do
    local field = fields[index]
    if sub(field, 15) > since then
      put[#put + 1] = field
      if not first or field < first then first = field end
      if not last or field > last then last = field end
    end
  end
  if not first or #put == #fields then return end
  local together, behind, next = 0, {}, nil
  for index = 1, #fields do
    local field = fields[index]
    if field > last then
      behind[#behind + 1] = field
      if not next or field < next then next = field end
    elseif field >= first then
      together = together + 1
    end
  end
  if together > #put then return end
  if #put + #behind > #fields / 2 and positionOf(first) ~= positionOf(last) then return end
  return put, first, behind, next
end

-- By time into many.
local function piecesOf(fields, least, most)
  local step, groups = math.ceil((most - least + 1) / PIECES), {}
  for index = 1, #fields do
    local number = math.floor((positionOf(fields[index]) - least) / step)
    if number > 0 then
      local start = place(least + number * step, 0)
      local group = groups[start]
      if not group then
        group = {}
        groups[start] = group
      end
      group[#group + 1] = fields[index]
    end
  end
  return groups
end

-- Cuts a large part: its end off, or by time into many, or, where all its rows stand at one instant, in half.
local function cut(part, firstRevision)
  local fields = redis.call('HKEYS', partKey(part))
  local put, first, behind, next = endOf(fields, firstRevision)
  if put then
    moveRows(part, first, put)
    if next then moveRows(part, next, behind) end
    return
  end
  local least, most = math.huge, 0
  for index = 1, #fields do
    local position = positionOf(fields[index])
    if position < least then least = position end
    if position > most then most = position end
  end
  if most > least then
    for start, group in pairs(piecesOf(fields, least, most)) do moveRows(part, start, group) end
  else
    table.sort(fields)
    local half = {}
    for index = math.floor(#fields / 2) + 1, #fields do half[#half + 1] = fields[index] end
    moveRows(part, half[1], half)
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
  if largest then cut(largest, firstRevision) end
end
`
