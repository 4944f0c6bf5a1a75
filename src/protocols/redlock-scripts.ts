/**
 * Lua of Redlock: on each server the lock is a string with the owner token and a TTL, as
 * redis-string-scripts.ts has it. The fenced variant keeps its counter and the list of grants on
 * the first server alone: counters of several servers give no common order.
 */
import {
  fencedEntryFields as entry,
  fencedEntryTypes as type,
  fencedHistoryLength,
} from '../domain/fenced-layout.ts';

export const acquire = `-- fencepost:acquire
-- KEYS: lock. ARGV: owner, leaseMs. Returns {'ok', pttl}: granted, or already this owner's; or {'busy', owner}.
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return {'busy', owner} end
if not owner then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return {'ok', redis.call('PTTL', KEYS[1])}`;

const log = (what: string, stream: string, fence: string): string =>
  `local t = redis.call('TIME')
redis.call('XADD', ${stream}, 'MAXLEN', '~', '${fencedHistoryLength}', '*', '${entry.type}', '${what}',
  '${entry.owner}', ARGV[1], '${entry.fence}', ${fence},
  '${entry.at}', t[1] * 1000 + math.floor(t[2] / 1000))`;

/** How far back an owner's own number is looked for. */
const lookBack = 100;

/** `takeFence` is Lua that sets `fence` to the number of this grant, as a string. */
const fenceWith = (takeFence: string): string => `-- fencepost:fence
-- KEYS: fence counter, history stream. ARGV: owner [, fence]. Returns {'ok', fence}: a new number,
-- or the one that this owner got for the hold it has not released.
local fence = redis.call('GET', KEYS[1])
for _, found in ipairs(redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', ${lookBack})) do
  local fields = {}
  for at = 1, #found[2], 2 do fields[found[2][at]] = found[2][at + 1] end
  if fields['${entry.owner}'] == ARGV[1] then
    if fields['${entry.type}'] == '${type.grant}' then return {'ok', fields['${entry.fence}']} end
    break
  end
end
${takeFence}
${log(type.grant, 'KEYS[2]', 'fence')}
return {'ok', fence}`;

export const fence = fenceWith(`redis.call('INCR', KEYS[1]); fence = redis.call('GET', KEYS[1])`);

/** Broken: every grant carries the number of the first. */
export const sameFence = fenceWith(
  `redis.call('SETNX', KEYS[1], '1'); fence = redis.call('GET', KEYS[1])`,
);

/** Broken: the number was taken by \`takeFence\`, before the first server was asked for the lock. */
export const givenFence = fenceWith(`fence = ARGV[2]`);

export const takeFence = `-- fencepost:fence
-- KEYS: fence counter. Returns the number taken, as a string.
redis.call('INCR', KEYS[1])
return redis.call('GET', KEYS[1])`;

const loggedReleaseWith = (check: string): string => `-- fencepost:release
-- KEYS: lock, history stream. ARGV: owner, fence. Returns {'ok'} or {'not-owner'}.
local owner = redis.call('GET', KEYS[1])
redis.call('XLEN', KEYS[2])
${check}
redis.call('DEL', KEYS[1])
${log(type.release, 'KEYS[2]', 'ARGV[2]')}
return {'ok'}`;

/** The release on the first server of the fenced variant. */
export const loggedRelease = loggedReleaseWith(`if owner ~= ARGV[1] then return {'not-owner'} end`);

/** Broken: deletes whoever's record. */
export const loggedReleaseAnyone = loggedReleaseWith(`if not owner then return {'not-owner'} end`);
