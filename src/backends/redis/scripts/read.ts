/**
 * Read-only scripts: one page of the keyspace, or named keys, each key with its type, time to live
 * and content in one atomic look. Big contents stay on the server: a lock record is small.
 */

/** Longest string and most fields, members or bytes of a hash that are fetched. */
export const contentLimits = { stringBytes: 4096, hashFields: 64, hashBytes: 65_536, members: 100 };

/** Slots per SCAN and keys per page: about 1.5 ms of server time. SCANs per page bound a rare MATCH. */
export const pageSize = { count: 200, enough: 200, scans: 20 };

/**
 * Defines `add(key, members)`. Nearly every key of a long listing is a string: those go packed into
 * two strings, because an element of a reply costs the client several times what a slice does.
 * `heads`: 16 bytes each, big-endian: length of the key, PTTL as a double, length of the value.
 * `bodies`: key, value, key, value …
 * Every other key: key, type code, PTTL, content are appended to `out`. Content: the flat fields of
 * a hash; {count, member…} of a list when `members`, and of a zset (with scores) or set, of these one
 * member without `members`; else a number: the size that was too big, or 0. A server without `struct`
 * also has its strings there, content the string. A key that the account may not read is counted.
 */
const describe = `
local call, pcall = redis.call, redis.pcall
local codes = {none = 0, string = 1, hash = 2, list = 3, set = 4, zset = 5, stream = 6}
local out, n, hidden = {}, 0, 0
local heads, bodies, strings = {}, {}, 0
-- Not every server that speaks Redis has it, and naming what is not there is an error.
local struct = rawget(_G, 'struct')
local function content(kind, key, members)
  if kind == 'hash' then
    local fields = call('HLEN', key)
    if fields > ${contentLimits.hashFields} then return fields end
    local bytes = pcall('MEMORY', 'USAGE', key, 'SAMPLES', '0')
    if type(bytes) == 'number' and bytes > ${contentLimits.hashBytes} then return fields end
    return call('HGETALL', key)
  elseif kind == 'zset' or kind == 'set' then
    -- Without members one of them is read all the same: it tells whether they are holders.
    local list, most = nil, members and ${contentLimits.members} or 1
    local total = call(kind == 'zset' and 'ZCARD' or 'SCARD', key)
    if kind == 'zset' then list = call('ZRANGE', key, 0, most - 1, 'WITHSCORES')
    else list = call('SRANDMEMBER', key, most) end
    for _, member in ipairs(list) do
      if #member > ${contentLimits.stringBytes} then return total end
    end
    table.insert(list, 1, total)
    return list
  elseif kind == 'list' and members then
    local list = call('LRANGE', key, 0, ${contentLimits.members - 1})
    table.insert(list, 1, call('LLEN', key))
    return list
  end
  return 0
end
local function add(key, members)
  local kind = pcall('TYPE', key)
  if kind.err then
    -- On its way between two nodes of a cluster: named, for the reader to look where it is.
    if string.find(kind.err, 'non local', 1, true) then
      out[n + 1], out[n + 2], out[n + 3], out[n + 4] = key, 0, -2, 0
      n = n + 4
      return
    end
    if not string.find(kind.err, 'access', 1, true) then error(kind.err) end
    hidden = hidden + 1
    return
  end
  kind = kind.ok
  local pttl, found = call('PTTL', key), nil
  if kind == 'string' then
    found = call('GETRANGE', key, '0', '${contentLimits.stringBytes}')
    if #found > ${contentLimits.stringBytes} then found = call('STRLEN', key)
    elseif struct then
      strings = strings + 1
      heads[strings] = struct.pack('>I4dI4', #key, pttl, #found)
      bodies[strings * 2 - 1], bodies[strings * 2] = key, found
      return
    end
  else found = content(kind, key, members) end
  out[n + 1], out[n + 2], out[n + 3], out[n + 4] = key, codes[kind] or 7, pttl, found
  n = n + 4
end
local time = pcall('TIME')
if time.err then time = 0 end
`;

/**
 * KEYS: none; SCAN chooses the keys.
 * ARGV: 1 cursor; 2 COUNT of one SCAN; 3 MATCH, or ''; 4 enough keys for a page; 5 SCANs at most.
 * Returns {cursor, slots scanned, keys hidden by the ACL, TIME or 0, out, heads, bodies}.
 */
export const pageScript = `${describe}
local cursor, scans = ARGV[1], 0
local found = 0
repeat
  local page
  if ARGV[3] == '' then page = call('SCAN', cursor, 'COUNT', ARGV[2])
  else page = call('SCAN', cursor, 'COUNT', ARGV[2], 'MATCH', ARGV[3]) end
  cursor = page[1]
  scans = scans + 1
  found = found + #page[2]
  for _, key in ipairs(page[2]) do add(key, false) end
until cursor == '0' or found >= tonumber(ARGV[4]) or scans >= tonumber(ARGV[5])
return {cursor, scans * tonumber(ARGV[2]), hidden, time, out, table.concat(heads), table.concat(bodies)}
`;

/**
 * KEYS: the keys to read. ARGV: none.
 * Returns {'0', 0, keys hidden by the ACL, TIME or 0, out, heads, bodies}.
 */
export const keysScript = `${describe}
for _, key in ipairs(KEYS) do add(key, true) end
return {'0', 0, hidden, time, out, table.concat(heads), table.concat(bodies)}
`;
