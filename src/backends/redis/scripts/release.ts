/**
 * The release: compares, raises the fence, deletes or replaces, tidies, enters the history and
 * wakes, in one step of the server. Redis does not undo a script that fails halfway, so everything
 * that can be refused is tried in an order in which a refusal leaves the lock as it was.
 *
 * KEYS: 1 lock; 2 fence counter; 3 history stream (2 and 3: the lock again where there is none);
 *       then the key of each tidying command; of each push; and the queue's list and deadlines.
 * ARGV: each list is preceded by its length.
 *   'string', 'hash', 'zset' or 'set'; '1' when a hash must have no other fields than those compared
 *   list: the string; or the field and value pairs; or the members that must be there
 *   list: fields or members taken away, or none to take the key; list: fields that hold nothing
 *   fence floor: '' for no fence, else the highest token known (decimal)
 *   '' to delete, or the TTL in ms of the record that takes its place, and then its owner
 *   list of words: fields of the replacing hash, or none for a string
 *   history length ('' for no history); list of words: entry of the release; list: of the hold
 *   list of tidying commands: when ('' always, 'emptied', 'remaining'), command, argument
 *   list of messages: when, channel, word, 'sharded' or ''
 *   list of pushes: value, ttlMs
 *   list: channel and message of the queue, or none
 * A word is '=' and a literal, or one of '$owner', '$fence', '$now', '$ttlMs', '$count'.
 *
 * Returns {'gone'}, {'changed'}, {'refused', reason, fence or ''}, or
 * {'released', fence or '', number woken or -1, remark}.
 */
export const releaseScript = `
local at = 0
local function arg() at = at + 1; return ARGV[at] end
local function list()
  local items = {}
  for i = 1, tonumber(arg()) do items[i] = arg() end
  return items
end
local lock, nextKey = KEYS[1], 3
local function key() nextKey = nextKey + 1; return KEYS[nextKey] end
local wanted, exact, want, part, idle = arg(), arg(), list(), list(), list()
local floor, ttl = arg(), arg()
local owner = ttl ~= '' and arg() or ''
local fields, length, entry, grant = list(), arg(), list(), list()
local tidying, messages, pushes, queue = list(), list(), list(), list()

local kind = redis.call('TYPE', lock).ok
if kind == 'none' then return {'gone'} end
if kind ~= wanted then return {'changed'} end
if kind == 'string' then
  if redis.call('GET', lock) ~= want[1] then return {'changed'} end
elseif kind == 'hash' then
  if exact == '1' and redis.call('HLEN', lock) ~= #want / 2 then return {'changed'} end
  for i = 1, #want, 2 do
    local value = redis.call('HGET', lock, want[i])
    if not value and #part > 0 then return {'gone'} end
    if value ~= want[i + 1] then return {'changed'} end
  end
else
  for _, member in ipairs(want) do
    local there
    if kind == 'zset' then there = redis.call('ZSCORE', lock, member)
    else there = redis.call('SISMEMBER', lock, member) == 1 end
    if not there then return {'gone'} end
  end
end

local function may(...)
  if not redis.acl_check_cmd then return true end
  local known, allowed = pcall(redis.acl_check_cmd, ...)
  return not known or allowed
end
local take = {'DEL', lock}
if #part > 0 then take = {({hash = 'HDEL', zset = 'ZREM', set = 'SREM'})[kind], lock, unpack(part)} end
local needed = {take}
if floor ~= '' then needed[2] = {'INCR', KEYS[2]} end
if ttl ~= '' then needed[#needed + 1] = #fields > 0 and {'HSET', lock, 'f', 'v'} or {'SET', lock, 'v', 'PX', '1'} end
if length ~= '' then needed[#needed + 1] = {'XADD', KEYS[3], '*', 'f', 'v'} end
local tidies = {}
for i = 1, #tidying, 3 do
  local tidy = {when = tidying[i], command = tidying[i + 1], key = key(), argument = tidying[i + 2]}
  tidies[#tidies + 1] = tidy
  if tidy.command == 'DELIF' or tidy.command == 'DEL' then needed[#needed + 1] = {'DEL', tidy.key}
  else needed[#needed + 1] = {tidy.command, tidy.key, tidy.argument} end
end
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
local words = {['$owner'] = owner, ['$fence'] = fence, ['$now'] = now, ['$ttlMs'] = ttl, ['$count'] = ''}
local function spelled(word) return words[word] or string.sub(word, 2) end
local function spell(items)
  local out = {}
  for i, word in ipairs(items) do out[i] = spelled(word) end
  return out
end

local taken = redis.pcall(unpack(take))
if type(taken) == 'table' then return {'refused', taken.err, fence} end
local remark = ''
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    remark = remark .. (remark == '' and '' or '; ') .. reply.err
    return nil
  end
  return reply
end
local state = redis.call('EXISTS', lock) == 0 and 'emptied' or 'remaining'
if state == 'remaining' and #idle > 0 then
  local left = redis.call('HLEN', lock)
  for _, field in ipairs(idle) do left = left - redis.call('HEXISTS', lock, field) end
  if left == 0 and try('DEL', lock) then state = 'emptied' end
end
if ttl ~= '' then
  if #fields > 0 then
    try('HSET', lock, unpack(spell(fields)))
    try('PEXPIRE', lock, ttl)
  else
    try('SET', lock, owner, 'PX', ttl)
  end
end
for _, tidy in ipairs(tidies) do
  if tidy.when == '' or tidy.when == state then
    if tidy.command == 'DEL' then try('DEL', tidy.key)
    elseif tidy.command == 'DELIF' then
      if try('GET', tidy.key) == tidy.argument then try('DEL', tidy.key) end
    else
      local reply = try(tidy.command, tidy.key, tidy.argument)
      if tidy.command == 'INCRBY' and reply then words['$count'] = tostring(reply) end
    end
  end
end
if length ~= '' then
  try('XADD', KEYS[3], 'MAXLEN', '~', length, '*', unpack(spell(entry)))
  if ttl ~= '' then try('XADD', KEYS[3], 'MAXLEN', '~', length, '*', unpack(spell(grant))) end
end
if ttl ~= '' then return {'released', fence, 0, remark} end

local woken, told, heard = 0, false, false
local function publish(channel, message, sharded)
  told = true
  local count = try('PUBLISH', channel, message)
  if count then woken = woken + count; heard = true end
  if sharded then
    -- From Redis 7: a second kind of channel, on which a library listens where it can.
    local more = redis.pcall('SPUBLISH', channel, message)
    if type(more) == 'number' then woken = woken + more end
  end
end
for i = 1, #messages, 4 do
  if messages[i] == '' or messages[i] == state then
    publish(messages[i + 1], spelled(messages[i + 2]), messages[i + 3] == 'sharded')
  end
end
for i = 1, #pushes, 2 do
  local signal = key()
  try('DEL', signal); try('LPUSH', signal, pushes[i]); try('PEXPIRE', signal, pushes[i + 1])
end
if #queue > 0 then
  local line, deadlines = key(), key()
  local head = try('LINDEX', line, 0)
  while head do
    local due = try('ZSCORE', deadlines, head)
    if not due or tonumber(due) > tonumber(now) then break end
    if not try('LPOP', line) then break end
    try('ZREM', deadlines, head)
    head = try('LINDEX', line, 0)
  end
  if head then publish(queue[1] .. ':' .. head, queue[2], true) end
end
return {'released', fence, (heard or not told) and woken or -1, remark}
`;
