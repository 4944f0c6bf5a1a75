/** A real browser without a window: Chromium as the system's packages install it. */
import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';

const programs = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** @throws {Error} when there is none, with the package to install */
export function openBrowser(): Promise<Browser> {
  const executablePath = programs.find((file) => existsSync(file));
  if (executablePath === undefined) {
    throw new Error('the HTML report is looked at in Chromium: run apt-get install chromium');
  }
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ];
  return chromium.launch({ executablePath, args });
}

export interface Opened {
  readonly page: Page;
  /** Everything that the page asked for beside itself, and everything that went wrong in it. */
  readonly unwanted: readonly string[];
}

/** Opens one file and notes what it tries to fetch, to say or to ask. */
export async function openPage(browser: Browser, url: string): Promise<Opened> {
  const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
  const unwanted: string[] = [];
  page.on('request', (request) => {
    if (request.url() !== url) unwanted.push(`fetched ${request.url()}`);
  });
  page.on('console', (message) => unwanted.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => unwanted.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    unwanted.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  return { page, unwanted };
}
