import { describe, test } from 'vitest';
import { describeResource } from './resource.contract.ts';

const url = process.env.FENCEPOST_TEST_POSTGRES;

// The lab starts no PostgreSQL: give the URL of one that may be written to.
if (url === undefined) {
  describe('the business resource on PostgreSQL', () => {
    test.skip('needs FENCEPOST_TEST_POSTGRES=postgres://…', () => undefined);
  });
} else {
  describeResource('PostgreSQL', url);
}
