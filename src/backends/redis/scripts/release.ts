/**
 * The release: compares, raises the fence, deletes or replaces, enters the history and wakes, in
 * one step of the server. Redis does not undo a script that fails halfway, so everything that can be
 * refused is tried in an order in which a refusal leaves the lock as it was.
 *
 * KEYS: 1 lock; 2 fence counter; 3 history stream (2 and 3: the lock again where there is none);
 *       then the keys deleted with it; then the keys pushed to.
 * ARGV: each list is preceded by its length.
 *   1 'string' or 'hash'
 *   2 '1' when a hash must have no other fields than those compared, else '0'
 *   list: the string, or the field and value pairs that the record must have
 *   fence floor: '' for no fence, else the highest token known (decimal)
 *   '' to delete, or the TTL in ms of the record that takes its place, and then its owner
 *   number of keys deleted too
 *   list of words: fields of the replacing hash, or none for a string
 *   history length ('' for no history); list of words: entry of the release; list: of the hold
 *   list of channel, message; list of value, ttlMs (one pair for each key pushed to)
 * A word is '=' and a literal, or one of '$owner', '$fence', '$now', '$ttlMs'.
 *
 * Returns {'gone'}, {'changed'}, {'refused', reason, fence or ''}, or
 * {'released', fence or '', number woken or -1, remark}.
 */
export const releaseScript = `
local at = 2
local function arg() at = at + 1; return ARGV[at] end
local function list()
  local items = {}
  for i = 1, tonumber(arg()) do items[i] = arg() end
  return items
end
local lock = KEYS[1]
local want, floor, ttl = list(), arg(), arg()
local owner = ttl ~= '' and arg() or ''
local also = tonumber(arg())
local fields, length, entry, grant = list(), arg(), list(), list()
local channels, pushes = list(), list()

local kind = redis.call('TYPE', lock).ok
if kind == 'none' then return {'gone'} end
if kind ~= ARGV[1] then return {'changed'} end
if kind == 'string' then
  if redis.call('GET', lock) ~= want[1] then return {'changed'} end
else
  if ARGV[2] == '1' and redis.call('HLEN', lock) ~= #want / 2 then return {'changed'} end
  for i = 1, #want, 2 do
    if redis.call('HGET', lock, want[i]) ~= want[i + 1] then return {'changed'} end
  end
end

local function may(...)
  if not redis.acl_check_cmd then return true end
  local known, allowed = pcall(redis.acl_check_cmd, ...)
  return not known or allowed
end
local needed = {{'DEL', lock}}
if floor ~= '' then needed[2] = {'INCR', KEYS[2]} end
if ttl ~= '' then needed[#needed + 1] = #fields > 0 and {'HSET', lock, 'f', 'v'} or {'SET', lock, 'v', 'PX', '1'} end
if length ~= '' then needed[#needed + 1] = {'XADD', KEYS[3], '*', 'f', 'v'} end
for i = 1, also do needed[#needed + 1] = {'DEL', KEYS[3 + i]} end
for _, command in ipairs(needed) do
  if not may(unpack(command)) then
    return {'refused', 'NOPERM this account may not ' .. command[1] .. ' ' .. command[2], ''}
  end
end

local function less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
local fence = ''
if floor ~= '' then
  local counter = redis.pcall('GET', KEYS[2])
  if type(counter) == 'table' then return {'refused', counter.err, ''} end
  counter = counter or '0'
  if not string.match(counter, '^%d+$') then return {'refused', 'ERR the fence counter holds no number', ''} end
  if less(counter, floor) then
    local set = redis.pcall('SET', KEYS[2], floor)
    if set.err then return {'refused', set.err, ''} end
  end
  local raised = redis.pcall('INCR', KEYS[2])
  if type(raised) == 'table' then return {'refused', raised.err, ''} end
  fence = redis.call('GET', KEYS[2])
end

local time = redis.pcall('TIME')
local now = time.err and '0' or time[1] .. string.format('%03d', math.floor(tonumber(time[2]) / 1000))
local words = {['$owner'] = owner, ['$fence'] = fence, ['$now'] = now, ['$ttlMs'] = ttl}
local function spell(items)
  local out = {}
  for i, word in ipairs(items) do out[i] = words[word] or string.sub(word, 2) end
  return out
end

local deleted = redis.pcall('DEL', lock)
if type(deleted) == 'table' then return {'refused', deleted.err, fence} end
local remark = ''
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    remark = remark .. (remark == '' and '' or '; ') .. reply.err
    return nil
  end
  return reply
end
if ttl ~= '' then
  if #fields > 0 then
    try('HSET', lock, unpack(spell(fields)))
    try('PEXPIRE', lock, ttl)
  else
    try('SET', lock, owner, 'PX', ttl)
  end
end
for i = 1, also do try('DEL', KEYS[3 + i]) end
if length ~= '' then
  try('XADD', KEYS[3], 'MAXLEN', '~', length, '*', unpack(spell(entry)))
  if ttl ~= '' then try('XADD', KEYS[3], 'MAXLEN', '~', length, '*', unpack(spell(grant))) end
end

local woken, heard = 0, #channels == 0 or ttl ~= ''
if ttl == '' then
  for i = 1, #channels, 2 do
    local count = try('PUBLISH', channels[i], channels[i + 1])
    if count then woken = woken + count; heard = true end
    -- Redis 7 has a second kind of channel; Redisson listens on it where it can.
    local sharded = redis.pcall('SPUBLISH', channels[i], channels[i + 1])
    if type(sharded) == 'number' then woken = woken + sharded end
  end
  for i = 1, #pushes, 2 do
    local key = KEYS[3 + also + (i + 1) / 2]
    try('DEL', key); try('LPUSH', key, pushes[i]); try('PEXPIRE', key, pushes[i + 1])
  end
end
return {'released', fence, heard and woken or -1, remark}
`;
