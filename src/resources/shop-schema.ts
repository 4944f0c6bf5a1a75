/**
 * Tables of the shop. A subject comes into being at its first use. Every kind of subject has one
 * row that carries the last accepted token and its owner; nothing is UNIQUE that a control without
 * protection must be able to do twice.
 */
import type { Database } from './database.ts';
import type { ResourceAction } from './resource.ts';

/** The row that guards a subject, and what its columns are called. */
export interface GuardTable {
  readonly table: 'orders' | 'stock' | 'registers' | 'effect_targets' | 'tasks';
  readonly fence: 'last_fence' | 'fence';
  readonly owner: 'last_owner' | 'owner';
}

const lastColumns = { fence: 'last_fence', owner: 'last_owner' } as const;
const orders: GuardTable = { table: 'orders', ...lastColumns };
const effects: GuardTable = { table: 'effect_targets', ...lastColumns };
const tasks: GuardTable = { table: 'tasks', fence: 'fence', owner: 'owner' };

/** Which row guards which action. */
export const guards: Readonly<Record<ResourceAction, GuardTable>> = {
  'close-order': orders,
  'pay-order': orders,
  'release-stock': { table: 'stock', ...lastColumns },
  write: { table: 'registers', ...lastColumns },
  'begin-effect': effects,
  'complete-effect': effects,
  'claim-task': tasks,
  checkpoint: tasks,
};

const initialStock = 100;

const tables = (countedKey: string): readonly string[] => [
  `orders (id TEXT PRIMARY KEY, status TEXT NOT NULL DEFAULT 'open',
    last_fence BIGINT, last_owner TEXT)`,
  `stock (id TEXT PRIMARY KEY, available BIGINT NOT NULL DEFAULT ${initialStock},
    last_fence BIGINT, last_owner TEXT)`,
  `stock_releases (seq BIGINT NOT NULL, operation_id TEXT NOT NULL, sku TEXT NOT NULL,
    fence BIGINT, owner TEXT NOT NULL)`,
  `registers (id TEXT PRIMARY KEY, value TEXT, last_fence BIGINT, last_owner TEXT)`,
  `effect_targets (id TEXT PRIMARY KEY, last_fence BIGINT, last_owner TEXT)`,
  `effects (operation_id TEXT NOT NULL, subject TEXT NOT NULL, attempt BIGINT NOT NULL,
    fence BIGINT, owner TEXT NOT NULL, invoked_seq BIGINT NOT NULL, completed_seq BIGINT)`,
  `tasks (id TEXT PRIMARY KEY, attempt BIGINT NOT NULL DEFAULT 0, lease_until BIGINT,
    fence BIGINT, owner TEXT, checkpoint TEXT)`,
  `operations (operation_id TEXT NOT NULL, action TEXT NOT NULL, owner TEXT NOT NULL,
    fence BIGINT, seq BIGINT NOT NULL, PRIMARY KEY (operation_id, action))`,
  `ledger (seq ${countedKey}, request_id TEXT NOT NULL, action TEXT NOT NULL,
    subject TEXT NOT NULL, operation_id TEXT NOT NULL, worker TEXT NOT NULL,
    attempt BIGINT NOT NULL, owner TEXT NOT NULL, fence BIGINT, accepted BIGINT NOT NULL,
    replayed BIGINT NOT NULL, code TEXT NOT NULL, at_ns TEXT NOT NULL)`,
];

export async function createTables(database: Database): Promise<void> {
  await database.transaction(async (session) => {
    for (const table of tables(database.countedKey)) {
      await session.all(`CREATE TABLE IF NOT EXISTS ${table}`, []);
    }
  });
}
