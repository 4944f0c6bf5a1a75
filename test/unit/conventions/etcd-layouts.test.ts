/** The etcd decoders on records of any shape. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EtcdKey, EtcdRecord } from '../../../src/conventions/convention.ts';
import { etcdConventions } from '../../../src/conventions/etcd-index.ts';
import { isOnOwnLease, queueOf } from '../../../src/conventions/etcd-queue.ts';
import { bytesToText, parseText, type Text } from '../../../src/domain/text.ts';

const bytes = fc.uint8Array({ maxLength: 40 }).map(bytesToText);
const revision = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const key: fc.Arbitrary<EtcdKey> = fc.record({
  key: bytes,
  value: fc.oneof(bytes, fc.constantFrom('ADDED:2030-01-01T00:00:00Z@h', '').map(parseText)),
  createRevision: revision,
  modRevision: revision,
  version: revision,
  lease: fc.oneof(revision, fc.constant(0n)),
});

test('no convention throws on arbitrary keys, values and leases', () => {
  fc.assert(
    fc.property(bytes, fc.array(key, { maxLength: 5 }), (name, keys) => {
      const sample: EtcdRecord = { system: 'etcd', name, keys };
      for (const convention of etcdConventions) {
        convention.matches(sample);
        convention.decode(sample);
      }
    }),
  );
});

test('every name can have a queue below it, and is found again from the key of a contender', () => {
  fc.assert(
    fc.property(bytes, fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), (name, lease) => {
      fc.pre(name !== '');
      const contender: Text = parseText(`${name}/${lease.toString(16)}`);
      expect(queueOf({ key: contender, lease })).toBe(name);
      expect(isOnOwnLease({ key: contender, lease })).toBe(true);
    }),
  );
});
