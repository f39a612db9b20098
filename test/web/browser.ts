import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { chromiumProgram, startChromium } from '../../bench/chromium.ts';

/** Tests of pages need a browser; without one they are skipped by name. */
export const withoutBrowser = chromiumProgram === undefined;

/** A page for a fresh person: nothing is there of what other pages have kept. */
export type OpenPage = (address: string, options?: BrowserContextOptions) => Promise<Page>;

/** What the page has complained about: errors, refused by the content policy, scripts that failed. */
export const faults = new WeakMap<Page, string[]>();

/** One browser for the tests of a file. */
export function browserPages(): OpenPage {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (!withoutBrowser) browser = await startChromium();
  });
  afterAll(() => browser?.close());
  return async (address, options = {}) => {
    if (!browser) throw new Error('no browser');
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(20_000);
    const page = await context.newPage();
    const heard: string[] = [];
    faults.set(page, heard);
    page.on('pageerror', (error) => heard.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') heard.push(message.text());
    });
    await page.goto(address);
    return page;
  };
}

/** What keeps somebody with a screen reader or a keyboard from using the page as it is shown now. */
export async function barriers(page: Page): Promise<string[]> {
  // Evaluated rather than added as a script, which the content policy of the pages would refuse.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}
