/** The work of `audit`: has a target audited, and prints what the checks said. */
import { findCheck, selectChecks } from '../../audit/registry.ts';
import { auditTarget, type AuditPlan } from '../../audit/run-audit.ts';
import type { AuditReport, Severity } from '../../domain/audit-report.ts';
import { exitCodes, type ExitCode } from '../../domain/errors.ts';
import {
  auditJson,
  auditJunit,
  auditMarkdown,
  explainCheck,
  renderAudit,
  renderCheckList,
} from '../../reports/audit.ts';
import type { Io } from '../io.ts';
import { paintFor } from '../output.ts';
import { withTarget, type TargetOptions } from '../target-options.ts';

export interface AuditOptions extends TargetOptions {
  readonly check?: readonly string[];
  readonly skip?: readonly string[];
  readonly list?: true;
  readonly explain?: string;
  readonly failOn: Severity;
  readonly allowUnknown?: readonly string[];
  readonly lease: number;
  readonly output: string;
}

/**
 * Audits the target; with `--list` or `--explain` only speaks of the checks.
 * @throws {UsageError} an unknown id, or a target for which there are no checks
 * @throws {TargetError} unreachable
 */
export async function audit(options: AuditOptions, io: Io): Promise<ExitCode> {
  if (options.explain !== undefined) {
    return print(explainCheck(findCheck(options.explain)).join('\n'), io);
  }
  const checks = selectChecks(options.check, options.skip ?? []);
  if (options.list === true) return print(renderCheckList(checks).join('\n'), io);
  const plan: AuditPlan = {
    checks,
    limits: { leaseMs: options.lease },
    failOn: options.failOn,
    allowUnknown: new Set((options.allowUnknown ?? []).map((id) => findCheck(id).id)),
  };
  const report = await withTarget(options, io, (backend) => auditTarget(backend, plan, io.signal));
  await print(await rendered(report, options.output, io), io);
  return { passed: exitCodes.ok, failed: exitCodes.violated, unknown: exitCodes.inconclusive }[
    report.verdict
  ];
}

async function rendered(report: AuditReport, output: string, io: Io): Promise<string> {
  switch (output) {
    case 'json':
      return auditJson(report);
    case 'md':
      return auditMarkdown(report).trimEnd();
    case 'junit':
      return auditJunit(report).trimEnd();
    default:
      return renderAudit(report, await paintFor(io)).join('\n');
  }
}

async function print(text: string, io: Io): Promise<ExitCode> {
  await io.out(`${text}\n`);
  return exitCodes.ok;
}
