/**
 * Lua of locks that are one string, the owner token, with a TTL: one script a step. Each opens with
 * a marker by which a proxy tells requests apart. The broken ones are controls.
 */
export const confirm = `-- fencepost:confirm
-- KEYS: lock. ARGV: owner. Returns {'ok', pttl} or {'not-owner'}.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'not-owner'} end
return {'ok', redis.call('PTTL', KEYS[1])}`;

const ownerCheck = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'not-owner'} end`;
const existenceCheck = `if not redis.call('GET', KEYS[1]) then return {'not-owner'} end`;

const renewWith = (check: string, extend: string): string => `-- fencepost:renew
-- KEYS: lock. ARGV: owner, leaseMs. Returns {'ok', pttl} or {'not-owner'}. Never creates the key.
${check}
${extend}
return {'ok', redis.call('PTTL', KEYS[1])}`;

const releaseWith = (check: string): string => `-- fencepost:release
-- KEYS: lock. ARGV: owner. Returns {'ok'} or {'not-owner'}.
${check}
redis.call('DEL', KEYS[1])
return {'ok'}`;

export const renew = renewWith(ownerCheck, `redis.call('PEXPIRE', KEYS[1], ARGV[2])`);

/** Broken: lengthens whoever's lease. */
export const renewAnyone = renewWith(existenceCheck, `redis.call('PEXPIRE', KEYS[1], ARGV[2])`);

/** Broken: writes the record anew and forgets its time to live, as SET without PX does. */
export const renewDroppingTtl = renewWith(ownerCheck, `redis.call('SET', KEYS[1], ARGV[1])`);

export const release = releaseWith(ownerCheck);

/** Broken: deletes whoever's record; also the second half of check-then-delete. */
export const releaseAnyone = releaseWith(existenceCheck);

export const observe = `-- fencepost:observe
-- KEYS: lock. Returns {now in epoch ms, owner, pttl}; no owner: absent.
local owner = redis.call('GET', KEYS[1])
local t = redis.call('TIME')
return {tostring(t[1] * 1000 + math.floor(t[2] / 1000)), owner, redis.call('PTTL', KEYS[1])}`;
