import { describeResource } from '../contract/resource.contract.ts';

const url = process.env.FENCEPOST_TEST_POSTGRES;

// The lab starts no PostgreSQL: give the URL of one that may be written to.
if (url === undefined) throw new Error('set FENCEPOST_TEST_POSTGRES=postgres://…');
describeResource('PostgreSQL', url);
