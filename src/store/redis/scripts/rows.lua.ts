/**
 * Rows and names, as a script changes them: everything is kept aside until `flush` writes it, so that the
 * operations of one call see one another and commands take many at a time.
 *
 * A row lies in its part (parts.lua.ts): what is put goes into its hash, what is taken out may lie in its chunk.
 * NAMES leads from a name to the place and the identity of its row; what it says of a place below the settled
 * level is no longer so.
 *
 * A server does nothing else while a script runs, so what runs for every row is written to be quick: numbers are
 * compared rather than texts, and what only few rows need is not prepared for all.
 */
export const rowsLua = String.raw`
local LEASES = SHARD .. ':leases'
local pack = struct.pack
local entries, changed, changes = {}, {}, 0
local puts, gone, buckets, starts, values, isNew = {}, {}, {}, {}, {}, {}
local firstRevision, dropped, wanted = revision, nil, 0
local counted = { created = 0, settled = 0, cancelled = 0, replaced = 0, dead = 0 }

-- Whether the parts of a bucket are to be fetched once, rather than one for each row: not where they are far more.
local function isWorthFetching(start)
  if wanted < 10 or buckets[start] == false then return false end
  if buckets[start] then return true end
  local count = redis.call('ZLEXCOUNT', PARTS, '[' .. place(start, 0), '(' .. place(start + WIDTH, 0))
  if count <= 4 * wanted then return true end
  buckets[start] = false
  return false
end

-- The part that holds a place, or would: the last of its bucket that begins at or before it. For few rows it is
-- asked for; for many, the parts of the bucket are fetched once.
local function partOf(text, position)
  local start = position - position % WIDTH
  if not isWorthFetching(start) then
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
  wanted = #names
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
  local byPart = {}
  for index = 1, #list do
    local text = sub(list[index], 1, 26)
    local part = partOf(text, positionOf(text))
    local fields = byPart[part]
    if not fields then
      fields = {}
      byPart[part] = fields
    end
    fields[#fields + 1] = text
  end
  for part, fields in pairs(byPart) do
    local found, chunk = fetched(partKey(part), fields), chunkOf(part)
    if chunk and #fields > 1 + chunk.count / 16 then readEntries(chunk) end
    for index = 1, #fields do values[fields[index]] = found[index] or chunkValue(part, fields[index]) end
  end
end

local function valueOf(entry)
  local text = sub(entry, 1, 26)
  local value = values[text]
  if value then return value end
  local part = partOf(text, positionOf(text))
  if revisionOf(text) <= firstRevision then
    return redis.call('HGET', partKey(part), text) or chunkValue(part, text)
  end
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

-- Takes those rows out that lie in the chunk of a part; answers the others. A chunk of which less than half would stand is
-- made anew of what does.
local function takeOutOfChunk(part, list)
  local chunk = chunkOf(part)
  if not chunk then return list end
  if #list > 1 + chunk.count / 16 then readEntries(chunk) end
  local others, found, size = {}, {}, 0
  for index = 1, #list do
    local _, _, number = seek(chunk, list[index])
    if number then
      found[list[index]] = number
      size = size + 1
    else
      others[#others + 1] = list[index]
    end
  end
  if size == 0 then return others end
  chunk.standing = chunk.standing - size
  if chunk.standing < chunk.count / 2 then
    local rest = chunk.standing > 0 and redis.call('GET', chunk.key)
    redis.call('UNLINK', chunk.key)
    chunks[part] = nil
    if rest then putPiece(part, rest, found) end
  else
    for text, number in pairs(found) do
      redis.call('SETRANGE', chunk.key, 20 * number + 20, pack('<d', -1 - positionOf(text)))
    end
    redis.call('SETRANGE', chunk.key, 4, pack('<I4', chunk.standing))
    chunk.numbers = nil
  end
  return others
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
    many('HDEL', partKey(part), takeOutOfChunk(part, list))
    if isClaim then many('HDEL', LEASES, list) end
    endIfEmpty(part)
  end
  cutLargest(puts, firstRevision)
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
  if firstRevision == 0 and size > 0 then beginNames() end
  many('HSET', NAMES, named)
  many('HDEL', NAMES, unnamed)
  if revision > firstRevision then redis.call('HSET', SHARD, 'rev', format('%.0f', revision)) end
  for what, count in pairs(counted) do
    if count > 0 then redis.call('HINCRBY', SHARD, 'count:' .. what, count) end
  end
end
`
