import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildIndex } from '../../src/checks/build-index.ts';
import { drawPicture } from '../../src/checks/picture.ts';
import type { RunReport } from '../../src/domain/run-report.ts';
import { renderHtml } from '../../src/reports/run-html.ts';
import { openBrowser, openPage } from '../helpers/browser.ts';
import { fencepost } from '../helpers/fencepost.ts';
import { inTime } from '../helpers/in-time.ts';
import { HistoryBuilder } from '../helpers/history-builder.ts';
import { hostileReport, hostileText } from '../helpers/hostile-report.ts';

const classic = fileURLToPath(
  new URL('../../scenarios/paused-holder-resumes.yaml', import.meta.url),
);
let folder: string;
let browser: Browser;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fencepost-html-'));
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

function write(name: string, html: string): string {
  const file = join(folder, name);
  writeFileSync(file, html);
  return pathToFileURL(file).href;
}

describe('the HTML report of a run', () => {
  let url: string;
  beforeAll(async () => {
    const summary = ['--summary', join(folder, 'summary.md')];
    const args = ['run', classic, '--lab', '--seed', '7', '--out', folder, ...summary];
    const env = { XDG_STATE_HOME: join(folder, 'state') };
    const ran = await inTime(() => fencepost(args, env));
    expect(ran.code, ran.stdout).toBe(0);
    const file = join(folder, 'latest', 'report.html');
    expect(ran.stderr).toMatch(/^fencepost: report in .*report\.html$/m);
    url = pathToFileURL(file).href;
  });

  test.each([
    ['html', 'latest/report.html'],
    ['json', 'latest/run.json'],
    ['junit', 'latest/junit.xml'],
    ['md', 'summary.md'],
  ])('and the others: report -o %s of the stored run is what run wrote', async (format, name) => {
    const { stdout, code } = await fencepost(['report', 'latest', '--out', folder, '-o', format]);
    expect(code).toBe(0);
    expect(stdout).toBe(readFileSync(join(folder, name), 'utf8'));
  });

  test('has a twin in text, under both names', async () => {
    const report = ['report', 'latest', '--out', folder];
    const [text, table] = [await fencepost([...report, '-o', 'text']), await fencepost(report)];
    expect(text.code).toBe(0);
    expect(text.stdout).toContain('control resource-accepts-any');
    expect(text.stdout).toBe(table.stdout);
  });

  test('draws the story in a browser, and fetches nothing', async () => {
    const { page, unwanted } = await openPage(browser, url);
    const picture = page.locator('.timeline').first();
    const bars = picture.locator(
      '.bar.held rect, .bar.record rect, .bar.believed rect, .band rect',
    );
    // Two holds, the belief of the paused one, two records, the pause and the expiry.
    expect(await bars.count()).toBe(7);
    for (const bar of await bars.all()) {
      expect((await bar.boundingBox())?.width).toBeGreaterThan(0);
    }
    const text = await picture.innerText();
    for (const part of ['A', 'B', 'lock service', 'orders', 'pause', 'refused', 'expired']) {
      expect(text).toContain(part);
    }
    expect(await page.locator('table').first().innerText()).toContain('went red');
    expect(unwanted).toEqual([]);
    await page.close();
  });

  test('a control that went red shows the violation as an arrow', async () => {
    const { page } = await openPage(browser, url);
    const control = page.locator('details', { hasText: 'control resource-accepts-any' }).first();
    await control.locator('summary').first().click();
    const arrow = control.locator('.arrow text');
    expect(await arrow.first().textContent()).toContain('no-stale-write-accepted');
    expect(await arrow.first().isVisible()).toBe(true);
    await page.close();
  });

  test('zooms into the middle and back by keyboard', async () => {
    const { page, unwanted } = await openPage(browser, url);
    const picture = page.locator('.timeline').first();
    const ticks = () => picture.locator('.tick text').allTextContents();
    const whole = await ticks();
    const bar = picture.locator('.bar.held rect').first();
    const width = async (): Promise<number> => Number(await bar.getAttribute('width'));
    const before = await width();
    await picture.locator('svg').focus();
    await page.keyboard.press('+');
    expect(await ticks()).not.toEqual(whole);
    expect(await width()).toBeCloseTo(2 * before, 0);
    await page.keyboard.press('0');
    expect(await ticks()).toEqual(whole);
    expect(await width()).toBeCloseTo(before, 0);
    expect(unwanted).toEqual([]);
    await page.close();
  });

  test('is readable in the dark, and prints', async () => {
    const { page } = await openPage(browser, url);
    const ink = () => page.evaluate('getComputedStyle(document.body).color');
    const light = await ink();
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await ink()).not.toBe(light);
    const pdf = await page.pdf();
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
    await page.close();
  });
});

describe('the HTML report of anything', () => {
  test('runs nothing that a server, a worker or a file put into it', async () => {
    const owner = `${hostileText}-owner`;
    const history = new HistoryBuilder()
      .granted(hostileText, [0, 5], 1n)
      .observe(6, 'lock-state', { owner, fence: 1n })
      .write(hostileText, [10, 15], 1n, 'refused', { invoke: { subject: hostileText } })
      .build();
    const picture = drawPicture(buildIndex(history), []);
    const url = write(
      'hostile.html',
      renderHtml(hostileReport, () => picture),
    );
    const { page, unwanted } = await openPage(browser, url);
    expect(await page.locator('body').innerText()).toContain('<script>alert(1)</script>');
    expect(await page.locator('script').count()).toBe(1);
    expect(await page.locator('img, iframe, object, a').count()).toBe(0);
    expect(unwanted).toEqual([]);
    await page.close();
  });

  test('with thousands of events it says what it leaves out, and still zooms', async () => {
    const long = new HistoryBuilder();
    for (let round = 0; round < 750; round += 1) {
      const at = round * 40;
      const worker = `W${round % 5}`;
      const fence = BigInt(round + 1);
      long
        .granted(worker, [at, at + 2], fence)
        .write(worker, [at + 5, at + 8], fence, 'accepted')
        .op('renew', worker, [at + 10, at + 12], 'ok')
        .release(worker, [at + 20, at + 22]);
    }
    const picture = drawPicture(buildIndex(long.build()), []);
    const report: RunReport = hostileReport;
    const { page, unwanted } = await openPage(
      browser,
      write(
        'long.html',
        renderHtml(report, () => picture),
      ),
    );
    expect(await page.locator('body').innerText()).toContain('1500 of 3000 operations are marked');
    await page.locator('button[data-do="in"]').first().click();
    await page.locator('button[data-do="in"]').first().click();
    const shown = await page.locator('.timeline').first().locator('.mark text:visible').count();
    expect(shown).toBeGreaterThan(5);
    expect(unwanted).toEqual([]);
    await page.close();
  });
});
