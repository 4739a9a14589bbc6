/**
 * Rows and names, as a script changes them: everything is kept aside until `flush` writes it, so that the
 * operations of one call see one another and commands take many at a time.
 *
 * A row lies in a part: a hash whose name ends with the first place it may hold. The sorted set PARTS has the
 * parts that are not empty. A part never reaches over the end of its bucket of time, and is cut when it is large.
 * NAMES leads from a name to the place and the identity of its row; what it says of a place below the settled
 * level is no longer so.
 *
 * A server does nothing else while a script runs, so what runs for every row is written to be quick: numbers are
 * compared rather than texts, and what only few rows need is not prepared for all.
 */
export const rowsLua = (widthMs: number, largeRows: number, pieces: number): string => String.raw`
local WIDTH, LARGE, PIECES = ${widthMs}, ${largeRows}, ${pieces}
local LEASES = SHARD .. ':leases'
local format, sub, pack = string.format, string.sub, struct.pack
local entries, changed, changes = {}, {}, 0
local puts, gone, buckets, starts, values, isNew = {}, {}, {}, {}, {}, {}
local firstRevision, dropped, isBulk = revision, nil, false
local counted = { created = 0, settled = 0, cancelled = 0, replaced = 0, dead = 0 }

local function partKey(part) return SHARD .. ':p:' .. part end

-- The part that holds a place, or would: the last of its bucket that begins at or before it. For few rows it is
-- asked for; for many, the parts of the bucket are fetched once.
local function partOf(text, position)
  local start = position - position % WIDTH
  if not isBulk then
    local found = redis.call('ZREVRANGEBYLEX', PARTS, '[' .. text, '[' .. place(start, 0), 'LIMIT', 0, 1)
    if found[1] then return found[1] end
    local part = place(start, 0)
    isNew[part] = true
    return part
  end
  local parts, froms = buckets[start], starts[start]
  if not parts then
    parts = redis.call('ZRANGEBYLEX', PARTS, '[' .. place(start, 0), '(' .. place(start + WIDTH, 0))
    froms = {}
    for index = 1, #parts do froms[index] = positionOf(parts[index]) end
    buckets[start], starts[start] = parts, froms
  end
  local low, high = 1, #parts
  while low <= high do
    local middle = (low + high - (low + high) % 2) / 2
    local from = froms[middle]
    if from < position or (from == position and parts[middle] <= text) then low = middle + 1 else high = middle - 1 end
  end
  if high >= 1 then return parts[high] end
  local part = place(start, 0)
  isNew[part] = true
  table.insert(parts, 1, part)
  table.insert(froms, 1, start)
  return part
end

local function readNames(names)
  isBulk = #names > LARGE / 20
  local found = fetched(NAMES, names)
  for index = 1, #names do entries[names[index]] = found[index] end
end

-- What NAMES says of a name whose row stands: 26 digits of its place and 8 bytes of its identity.
local function standing(name)
  local entry = entries[name]
  if entry and sub(entry, 1, 26) >= settled then return entry end
end

-- Fetches the values of rows that will be asked for, a part at a time.
local function readValues(list)
  local wanted = {}
  for index = 1, #list do
    local text = sub(list[index], 1, 26)
    local part = partOf(text, positionOf(text))
    local fields = wanted[part]
    if not fields then
      fields = {}
      wanted[part] = fields
    end
    fields[#fields + 1] = text
  end
  for part, fields in pairs(wanted) do
    local found = fetched(partKey(part), fields)
    for index = 1, #fields do values[fields[index]] = found[index] end
  end
end

local function valueOf(entry)
  local text = sub(entry, 1, 26)
  local value = values[text]
  if value then return value end
  local part = partOf(text, positionOf(text))
  if revisionOf(text) <= firstRevision then return redis.call('HGET', partKey(part), text) end
  local list = puts[part]
  for index = #list - 1, 1, -2 do
    if list[index] == text then return list[index + 1] end
  end
end

-- Takes a row out; its name stays where it is, for whoever puts it again or drops it.
local function takeOut(entry)
  local text = sub(entry, 1, 26)
  if revisionOf(text) > firstRevision then
    dropped = dropped or {}
    dropped[text] = true
    return
  end
  local part = partOf(text, positionOf(text))
  local list = gone[part]
  if not list then
    list = {}
    gone[part] = list
  end
  list[#list + 1] = text
end

local function drop(name, entry)
  takeOut(entry)
  entries[name] = false
  changes = changes + 1
  changed[changes] = name
end

-- Puts a row under the next revision and answers what NAMES then says. The identity comes as 8 bytes.
local function put(name, position, identity, value)
  revision = revision + 1
  local text = format('%014x%012x', position, revision)
  local part = partOf(text, position)
  local list = puts[part]
  if list then
    local size = #list
    list[size + 1], list[size + 2] = text, value
  else
    puts[part] = { text, value }
  end
  local entry = text .. identity
  entries[name] = entry
  changes = changes + 1
  changed[changes] = name
  return entry
end

-- A row's value with another progress, and other details where they are given.
local function rewritten(value, dueAt, attempt, occurrence, details)
  local head = pack('<d', dueAt) .. sub(value, 9, 24) .. pack('<I4I4', attempt, occurrence)
  if not details then return head .. sub(value, 33) end
  local scope, name, tags, old = struct.unpack('<I2I2I2I2', value, 33)
  local at = 41 + name + tags
  return head .. pack('<I2I2I2I2', scope, name, tags, #details) .. sub(value, 41, at - 1) ..
    details .. sub(value, at + old)
end

-- Cuts a large part: by time into many, or, where its rows crowd into few instants, by place into two.
local function cut(part, size)
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
  if most - least >= PIECES then
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
    table.sort(fields)
    local group = {}
    for index = math.floor(size / 2) + 1, size do group[#group + 1] = fields[index] end
    groups[1] = group
  end
  for number, group in pairs(groups) do
    local start = most - least >= PIECES and place(least + number * step, 0) or group[1]
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

local function flush(isClaim)
  for part, list in pairs(puts) do
    if dropped then
      local kept = {}
      for index = 1, #list, 2 do
        if not dropped[list[index]] then
          kept[#kept + 1] = list[index]
          kept[#kept + 1] = list[index + 1]
        end
      end
      list = kept
    end
    if #list > 0 then
      many('HSET', partKey(part), list)
      if isNew[part] then redis.call('ZADD', PARTS, 0, part) end
    end
  end
  for part, list in pairs(gone) do
    many('HDEL', partKey(part), list)
    if isClaim then many('HDEL', LEASES, list) end
    if redis.call('EXISTS', partKey(part)) == 0 then redis.call('ZREM', PARTS, part) end
  end
  -- One at most, the largest: the parts of a busy hour become large together, and each takes its time.
  local largest, most = nil, LARGE
  for part in pairs(puts) do
    local length = redis.call('HLEN', partKey(part))
    if length > most then largest, most = part, length end
  end
  if largest then cut(largest, most) end
  local named, size, unnamed = {}, 0, {}
  for index = 1, changes do
    local name = changed[index]
    local entry = entries[name]
    if entry then
      named[size + 1], named[size + 2] = name, entry
      size = size + 2
    else
      unnamed[#unnamed + 1] = name
    end
  end
  many('HSET', NAMES, named)
  many('HDEL', NAMES, unnamed)
  if revision > firstRevision then redis.call('HSET', SHARD, 'rev', format('%.0f', revision)) end
  for what, count in pairs(counted) do
    if count > 0 then redis.call('HINCRBY', SHARD, 'count:' .. what, count) end
  end
end
`
