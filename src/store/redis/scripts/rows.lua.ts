/**
 * Rows and names, as a script changes them: everything is kept aside until `flush` writes it, so that the
 * operations of one call see one another and commands take many at a time.
 *
 * A row lies in a part: a hash whose name ends with the first place it may hold. The sorted set PARTS has the
 * parts that are not empty. A part never reaches over the end of its bucket of time, and is cut when it is large.
 * NAMES leads from a name to the place and the identity of its row; what it says of a place below the settled
 * level is no longer so.
 */
export const rowsLua = (widthMs: number, largeRows: number): string => String.raw`
local WIDTH, LARGE = ${widthMs}, ${largeRows}
local LEASES = SHARD .. ':leases'
local entries, changed = {}, {}
local fresh, freshPart, freshOrder = {}, {}, {}
local gone, buckets = {}, {}
local counted = { created = 0, settled = 0, cancelled = 0, replaced = 0, dead = 0 }

local function partKey(part) return SHARD .. ':p:' .. part end

-- The parts of the bucket that a position falls into, in order, and the bucket's start.
local function bucketOf(position)
  local start = position - position % WIDTH
  local parts = buckets[start]
  if not parts then
    parts = redis.call('ZRANGEBYLEX', PARTS, '[' .. place(start, 0), '(' .. place(start + WIDTH, 0))
    buckets[start] = parts
  end
  return parts, start
end

-- The part that holds a place, or would.
local function partOf(text, position)
  local parts, start = bucketOf(position)
  local low, high = 1, #parts
  while low <= high do
    local middle = math.floor((low + high) / 2)
    if parts[middle] <= text then low = middle + 1 else high = middle - 1 end
  end
  if high >= 1 then return parts[high] end
  local part = place(start, 0)
  table.insert(parts, 1, part)
  return part
end

local function readNames(names)
  local found = fetched(NAMES, names)
  for index = 1, #names do entries[names[index]] = found[index] end
end

-- What NAMES says of a name whose row stands: 26 digits of its place and 8 bytes of its identity.
local function standing(name)
  local entry = entries[name]
  if entry and string.sub(entry, 1, 26) >= settled then return entry end
end

local function identityOf(entry) return (struct.unpack('<d', entry, 27)) end

local function valueOf(entry)
  local text = string.sub(entry, 1, 26)
  return fresh[text] or redis.call('HGET', partKey(partOf(text, positionOf(text))), text)
end

-- Takes a row out; its name stays where it is, for whoever puts it again or drops it.
local function takeOut(entry)
  local text = string.sub(entry, 1, 26)
  if fresh[text] then
    fresh[text] = nil
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
  changed[name] = true
end

-- Puts a row under the next revision and answers what NAMES then says.
local function put(name, position, identity, value)
  revision = revision + 1
  local text = place(position, revision)
  fresh[text] = value
  freshPart[text] = partOf(text, position)
  freshOrder[#freshOrder + 1] = text
  local entry = text .. struct.pack('<d', identity)
  entries[name] = entry
  changed[name] = true
  return entry
end

-- A row's value with another progress, and other details where they are given.
local function rewritten(value, dueAt, attempt, occurrence, details)
  local head = struct.pack('<d', dueAt) .. string.sub(value, 9, 24) .. struct.pack('<I4I4', attempt, occurrence)
  if not details then return head .. string.sub(value, 33) end
  local scope, name, tags, old = struct.unpack('<I2I2I2I2', value, 33)
  local at = 41 + name + tags
  return head .. struct.pack('<I2I2I2I2', scope, name, tags, #details) .. string.sub(value, 41, at - 1) ..
    details .. string.sub(value, at + old)
end

-- Cuts a large part: by time into eight, or, where its rows crowd into one instant, by place into two.
local function cut(part, size)
  local fields = redis.call('HKEYS', partKey(part))
  local least, most = fields[1], fields[1]
  for index = 2, size do
    local field = fields[index]
    if field < least then least = field elseif field > most then most = field end
  end
  local from, span = positionOf(least), positionOf(most) - positionOf(least) + 1
  local groups = {}
  if span >= 8 then
    local step = math.ceil(span / 8)
    for index = 1, size do
      local number = math.floor((positionOf(fields[index]) - from) / step)
      if number > 0 then
        local start = place(from + number * step, 0)
        local group = groups[start]
        if not group then
          group = {}
          groups[start] = group
        end
        group[#group + 1] = fields[index]
      end
    end
  else
    table.sort(fields)
    local group = {}
    for index = math.floor(size / 2) + 1, size do group[#group + 1] = fields[index] end
    groups[group[1]] = group
  end
  for start, group in pairs(groups) do
    local values, moved = fetched(partKey(part), group), {}
    for index = 1, #group do
      moved[2 * index - 1] = group[index]
      moved[2 * index] = values[index]
    end
    many('HSET', partKey(start), moved)
    many('HDEL', partKey(part), group)
    redis.call('ZADD', PARTS, 0, start)
  end
end

local function flush(isClaim)
  local puts = {}
  for index = 1, #freshOrder do
    local text = freshOrder[index]
    local value = fresh[text]
    if value then
      local part = freshPart[text]
      local list = puts[part]
      if not list then
        list = {}
        puts[part] = list
      end
      list[#list + 1] = text
      list[#list + 1] = value
    end
  end
  for part, list in pairs(puts) do
    many('HSET', partKey(part), list)
    redis.call('ZADD', PARTS, 0, part)
  end
  for part, list in pairs(gone) do
    many('HDEL', partKey(part), list)
    if isClaim then many('HDEL', LEASES, list) end
    if redis.call('EXISTS', partKey(part)) == 0 then redis.call('ZREM', PARTS, part) end
  end
  for part in pairs(puts) do
    local size = redis.call('HLEN', partKey(part))
    if size > LARGE then cut(part, size) end
  end
  local put, dropped = {}, {}
  for name in pairs(changed) do
    local entry = entries[name]
    if entry then
      put[#put + 1] = name
      put[#put + 1] = entry
    else
      dropped[#dropped + 1] = name
    end
  end
  many('HSET', NAMES, put)
  many('HDEL', NAMES, dropped)
  if #freshOrder > 0 then redis.call('HSET', SHARD, 'rev', string.format('%.0f', revision)) end
  for what, count in pairs(counted) do
    if count > 0 then redis.call('HINCRBY', SHARD, 'count:' .. what, count) end
  end
end
`
