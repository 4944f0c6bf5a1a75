import { describe, expect, test } from 'vitest';
import { plainPaint } from '../../../src/reports/paint.ts';
import { renderJunit } from '../../../src/reports/junit.ts';
import { renderMarkdown } from '../../../src/reports/run-markdown.ts';
import { renderRun } from '../../../src/reports/run-terminal.ts';
import { hostileReport as report } from '../../helpers/hostile-report.ts';

describe('a run as JUnit XML', () => {
  const xml = renderJunit(report);

  test('tells a violation as a failure, and what is not proven as an error', () => {
    expect(xml).toContain('tests="4" failures="1" errors="3"');
    expect(xml).toContain('<failure message="VIOLATED">');
    expect(xml).toContain('<error message="the fault is not proven">');
    expect(xml).toContain('<error message="STAYED GREEN">');
  });

  test('stays well-formed whatever a server, worker or scenario said', () => {
    expect(wellFormed(xml)).toBe(true);
    expect(xml).not.toMatch(/[^\n\x20-\x7e]/);
  });
});

describe('a run on a terminal and as Markdown', () => {
  test('shows the witness and what is missing, and no control character', () => {
    const text = renderRun(report, plainPaint).join('\n');
    expect(text).toContain('1.00 s  B writes');
    expect(text).toContain('AN INVARIANT WAS VIOLATED');
    expect(text).toContain('STAYED GREEN');
    expect(text).not.toMatch(/[^\n\x20-\x7e·]/);
  });

  test('keeps table cells of Markdown in their cells', () => {
    const rows = renderMarkdown(report)
      .split('\n')
      .filter((line) => line.startsWith('| '));
    for (const row of rows) expect(row.match(/(?<!\\)\|/g)).toHaveLength(4);
  });
});

/** Enough of an XML parser for what we write: tags nest, attributes are quoted, entities are known. */
function wellFormed(text: string): boolean {
  const open: string[] = [];
  const rest = text
    .replace(/^<\?xml [^?]*\?>\n/, '')
    .replace(
      /<(\/?)([a-z]+)((?: [a-z]+="[^"<]*")*)(\/?)>/g,
      (_tag, close: string, name: string, _attributes, empty: string) => {
        if (close === '/') return open.pop() === name ? '' : '<';
        if (empty === '') open.push(name);
        return '';
      },
    );
  return open.length === 0 && !rest.includes('<') && !/&(?!(amp|lt|gt|quot|apos|#10);)/.test(text);
}
