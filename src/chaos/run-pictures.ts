/** Pictures of a finished run, drawn from the histories in its folder. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildIndex } from '../checks/build-index.ts';
import { parseHistory } from '../checks/parse-history.ts';
import { drawPicture } from '../checks/picture.ts';
import { FencepostError } from '../domain/errors.ts';
import type { RunPicture } from '../domain/run-picture.ts';
import type { ArmReport } from '../domain/run-report.ts';

/** The picture of one arm, its violations pointed at; undefined when its history is gone or broken. */
export function pictureOfArm(runFolder: string, arm: ArmReport): RunPicture | undefined {
  const file = join(runFolder, arm.folder, 'history.jsonl');
  try {
    const { history } = parseHistory(readFileSync(file, 'utf8'), file);
    const violations = arm.invariants.filter(
      ({ verdict, reportOnly }) => verdict === 'violated' && !reportOnly,
    );
    return drawPicture(buildIndex(history), violations);
  } catch (error) {
    // An old folder may have lost its histories; the report says which timeline is missing.
    if (error instanceof FencepostError || isMissingFile(error)) return undefined;
    throw error;
  }
}

function isMissingFile(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}
