/**
 * Changes to rows and names. They are collected until `flush` writes them. So the operations of one call see each other's
 * changes, and one command writes many rows.
 *
 * A row is in its part (parts.lua.ts). New rows go into the part's hash. A removed row may be in the hash or the chunk.
 * NAMES has the place and the identity of each name's row. An entry whose place is below the settled level is out of date.
 *
 * The server does nothing else while a script runs, so the code that runs for every row is written for speed. It compares
 * numbers rather than strings, and prepares nothing for all rows that only few need.
 *
 * Proven by test/store/redis/contract.test.ts and test/store/redis/chunks.test.ts.
 */
export const rowsLua = String.raw`
local LEASES = SHARD .. ':leases'
local pack = struct.pack
local entries, changed, changes = {}, {}, 0
local puts, gone, buckets, starts, values, isNew = {}, {}, {}, {}, {}, {}
local firstRevision, dropped, wanted = revision, nil, 0
local counted = { created = 0, settled = 0, cancelled = 0, replaced = 0, dead = 0 }

-- Whether to read all parts of a bucket once, rather than look up one part per row. Not if the parts are far more than
-- the rows.
local function isWorthFetching(start)
  if wanted < 10 or buckets[start] == false then return false end
  if buckets[start] then return true end
  local count = redis.call('ZLEXCOUNT', PARTS, '[' .. place(start, 0), '(' .. place(start + BUCKET_MS, 0))
  if count <= 4 * wanted then return true end
  buckets[start] = false
  return false
end

-- The part that a place belongs to: the last of its bucket that begins at or before it. For few rows each is looked up;
-- for many, the parts of the bucket are read once.
local function partOf(text, position)
  local start = position - position % BUCKET_MS
  if not isWorthFetching(start) then
    local found = redis.call('ZREVRANGEBYLEX', PARTS, '[' .. text, '[' .. place(start, 0), 'LIMIT', 0, 1)
    if found[1] then return found[1] end
    local part = place(start, 0)
    isNew[part] = true
    return part
  end
  local parts, froms = buckets[start], starts[start]
  if not parts then
    parts = redis.call('ZRANGEBYLEX', PARTS, '[' .. place(start, 0), '(' .. place(start + BUCKET_MS, 0))
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
  local found = getFields(NAMES, names)
  for index = 1, #names do entries[names[index]] = found[index] end
end

-- The NAMES entry of a name whose row is live: 26 digits of its place and 8 bytes of its identity.
local function liveEntry(name)
  local entry = entries[name]
  if entry and sub(entry, 1, 26) >= settled then return entry end
end

-- The NAMES entry of a name whose row is finished.
local function settledEntry(name)
  local entry = entries[name]
  if entry and sub(entry, 1, 26) < settled then return entry end
end

-- Reads the values of rows that will be needed, part by part.
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
    local found, chunk = getFields(partKey(part), fields), chunkOf(part)
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

-- Removes a row but not its name. The caller puts the row again or drops the name.
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

-- Puts a row with the next revision. Returns its new NAMES entry. The identity is given as 8 bytes.
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

-- A row's value with new progress, and with new details if they are given.
local function rewritten(value, dueAt, attempt, occurrence, details)
  local head = pack('<d', dueAt) .. sub(value, 9, 24) .. pack('<I4I4', attempt, occurrence)
  if not details then return head .. sub(value, 33) end
  local scope, name, tags, old = struct.unpack('<I2I2I2I2', value, 33)
  local at = 41 + name + tags
  return head .. pack('<I2I2I2I2', scope, name, tags, #details) .. sub(value, 41, at - 1) ..
    details .. sub(value, at + old)
end

-- Removes the listed rows that are in the chunk of a part. Returns the others. If less than half of the chunk stays live,
-- the chunk is rewritten from the live rows.
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
  chunk.live = chunk.live - size
  if chunk.live < chunk.count / 2 then
    local rest = chunk.live > 0 and redis.call('GET', chunk.key)
    redis.call('UNLINK', chunk.key)
    chunks[part] = nil
    if rest then putPiece(part, rest, found) end
  else
    for text, number in pairs(found) do
      redis.call('SETRANGE', chunk.key, 20 * number + 20, pack('<d', -1 - positionOf(text)))
    end
    redis.call('SETRANGE', chunk.key, 4, pack('<I4', chunk.live))
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
      callMany('HSET', partKey(part), list)
      if isNew[part] then redis.call('ZADD', PARTS, 0, part) end
    end
  end
  for part, list in pairs(gone) do
    callMany('HDEL', partKey(part), takeOutOfChunk(part, list))
    if isClaim then callMany('HDEL', LEASES, list) end
    removeIfEmpty(part)
  end
  splitLargest(puts, firstRevision)
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
  if firstRevision == 0 and size > 0 then initNames() end
  callMany('HSET', NAMES, named)
  callMany('HDEL', NAMES, unnamed)
  if revision > firstRevision then redis.call('HSET', SHARD, 'rev', format('%.0f', revision)) end
  for what, count in pairs(counted) do
    if count > 0 then redis.call('HINCRBY', SHARD, 'count:' .. what, count) end
  end
end
`
