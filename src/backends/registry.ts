/** Opens the adapter of a target. The only place that knows which adapter serves which kind. */
import { UsageError } from '../domain/errors.ts';
import { displayTarget, type BackendKind, type Target } from '../domain/target.ts';
import type { Backend, BackendOptions, OpenBackend } from './backend.ts';

/** One line an adapter, imported when a target of its kind is opened: client libraries are slow to load. */
const adapters: Partial<Record<BackendKind, () => Promise<OpenBackend>>> = {};

/**
 * Opens a target. Nothing is sent yet: adapters connect with their first request.
 * @throws {UsageError} `target-not-supported` when this version has no adapter for it
 */
export async function openBackend(target: Target, options: BackendOptions): Promise<Backend> {
  const load = adapters[target.kind];
  if (load === undefined) {
    throw new UsageError(
      `"${displayTarget(target)}": ${target.kind} targets are not supported yet`,
      {
        code: 'target-not-supported',
        hint: `supported: ${Object.keys(adapters).join(', ')}`,
        definite: true,
      },
    );
  }
  const open = await load();
  return open(target, options);
}
