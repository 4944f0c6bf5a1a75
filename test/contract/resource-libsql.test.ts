import { describeResource } from './resource.contract.ts';

describeResource('the embedded libsql', undefined);
