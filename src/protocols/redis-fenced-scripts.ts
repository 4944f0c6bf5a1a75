/**
 * Lua of the fenced Redis protocol: each operation is one script, so one atomic step. Every script
 * reads all its keys before it writes, so that WRONGTYPE leaves nothing half done, and opens with a
 * marker by which a proxy tells requests apart. Times are epoch ms by the server's TIME.
 * The broken ones are controls: scenarios must catch them.
 */
import {
  fencedEntryFields as entry,
  fencedEntryTypes as type,
  fencedFields as field,
  fencedHistoryLength,
} from '../domain/fenced-layout.ts';

const serverNow = `local t = redis.call('TIME'); local now = t[1] * 1000 + math.floor(t[2] / 1000)`;

const readKeys = `local owner = redis.call('HGET', KEYS[1], '${field.owner}')
local fence = redis.call('HGET', KEYS[1], '${field.fence}')
redis.call('GET', KEYS[2]); redis.call('XLEN', KEYS[3])`;

const log = (what: string, owner: string, fence: string): string =>
  `redis.call('XADD', KEYS[3], 'MAXLEN', '~', '${fencedHistoryLength}', '*',
  '${entry.type}', '${what}', '${entry.owner}', ${owner}, '${entry.fence}', ${fence}, '${entry.at}', now)`;

/** `takeFence` is Lua that sets `fence` to the number of this grant, as a string. */
const acquireWith = (takeFence: string): string => `-- fencepost:acquire
-- KEYS: lock record, fence counter, history stream. ARGV: owner, leaseMs [, fence].
-- Returns {'ok', fence, pttl}: granted, or already this owner's grant; {'busy', owner}.
${readKeys}
if owner == ARGV[1] then return {'ok', fence, redis.call('PTTL', KEYS[1])} end
if owner then return {'busy', owner} end
if redis.call('EXISTS', KEYS[1]) == 1 then return {'foreign-record'} end
${serverNow}
${takeFence}
redis.call('HSET', KEYS[1], '${field.owner}', ARGV[1], '${field.fence}', fence,
  '${field.grantedAt}', now, '${field.leaseMs}', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
${log(type.grant, 'ARGV[1]', 'fence')}
return {'ok', fence, redis.call('PTTL', KEYS[1])}`;

// GET after INCR: a Lua number is a double, the stored string is exact to 2^63.
export const acquire = acquireWith(
  `redis.call('INCR', KEYS[2]); fence = redis.call('GET', KEYS[2])`,
);

/** Broken: every grant carries the number of the first. */
export const acquireSameFence = acquireWith(
  `redis.call('SETNX', KEYS[2], '1'); fence = redis.call('GET', KEYS[2])`,
);

/** Broken: the number was taken by \`takeFence\` in a request of its own, long before the grant. */
export const acquireWithGivenFence = acquireWith(`fence = ARGV[3]`);

export const takeFence = `-- fencepost:acquire
-- KEYS: lock record, fence counter, history stream. Returns the number taken, as a string.
${readKeys}
redis.call('INCR', KEYS[2])
return redis.call('GET', KEYS[2])`;

export const confirm = `-- fencepost:confirm
-- KEYS: lock record, fence counter, history stream. ARGV: owner.
-- Returns {'ok', fence, pttl} or {'not-owner'}. Writes nothing.
${readKeys}
if owner ~= ARGV[1] then return {'not-owner'} end
return {'ok', fence, redis.call('PTTL', KEYS[1])}`;

const ownerCheck = `if owner ~= ARGV[1] or fence ~= ARGV[2] then return {'not-owner'} end`;
/** What a missing check looks like: whoever holds it, if only somebody does. */
const existenceCheck = `if not owner then return {'not-owner'} end`;

const renewWith = (check: string, extend: string): string => `-- fencepost:renew
-- KEYS: lock record, fence counter, history stream. ARGV: owner, fence, leaseMs.
-- Returns {'ok', pttl} or {'not-owner'}. Never creates a record.
${readKeys}
${check}
${extend}
return {'ok', redis.call('PTTL', KEYS[1])}`;

const extend = `redis.call('HSET', KEYS[1], '${field.leaseMs}', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[3])`;

export const renew = renewWith(ownerCheck, extend);

/** Broken: lengthens whoever's lease. */
export const renewAnyone = renewWith(existenceCheck, extend);

/** Broken: writes the record anew and forgets its time to live, as SET without PX does. */
export const renewDroppingTtl = renewWith(
  ownerCheck,
  `local record = redis.call('HGETALL', KEYS[1])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(record))`,
);

const releaseWith = (check: string): string => `-- fencepost:release
-- KEYS: lock record, fence counter, history stream. ARGV: owner, fence.
-- Returns {'ok'} or {'not-owner'}. The counter stays.
${readKeys}
${check}
${serverNow}
redis.call('DEL', KEYS[1])
${log(type.release, 'ARGV[1]', 'ARGV[2]')}
return {'ok'}`;

export const release = releaseWith(ownerCheck);

/** Broken: deletes whoever's record; also the second half of check-then-delete. */
export const releaseAnyone = releaseWith(existenceCheck);

export const observe = `-- fencepost:observe
-- KEYS: lock record, fence counter, history stream. Returns {now, owner, fence, pttl,
-- leaseMs}; no owner: absent.
${readKeys}
${serverNow}
return {tostring(now), owner, fence, redis.call('PTTL', KEYS[1]),
  redis.call('HGET', KEYS[1], '${field.leaseMs}')}`;
