import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { chromiumProgram, headlessShell, startChromium } from '../../bench/chromium.ts';

/** Tests of pages need a browser; without one they are skipped by name. */
export const withoutBrowser = chromiumProgram === undefined;

export interface PageOptions extends BrowserContextOptions {
  /** Settings that this person has made before. */
  readonly settings?: object;
}

/** A page for a fresh person: nothing is there of what other pages have kept. Closed at the end of the test. */
export type OpenPage = (address: string, options?: PageOptions) => Promise<Page>;

/** What the page has complained about: errors, refused by the content policy, scripts that failed. */
export const faults = new WeakMap<Page, string[]>();

/** One browser for the tests of a file; `withWindows` where hidden pages and notifications matter. */
export function browserPages({ withWindows = false } = {}): OpenPage {
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (!withoutBrowser)
      browser = await startChromium([], withWindows ? chromiumProgram : (headlessShell ?? chromiumProgram));
  });
  afterAll(() => browser?.close());
  return async (address, { settings, ...options } = {}) => {
    if (!browser) throw new Error('no browser');
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      // What moves would be waited for.
      reducedMotion: 'reduce',
      // What it fetches passes by the routes of a test, and each page that it gives out takes twice as long.
      serviceWorkers: 'block',
      ...(settings && { storageState: withSettings(address, settings) }),
      ...options,
    });
    // It would go on asking the server.
    onTestFinished(() => context.close());
    context.setDefaultTimeout(120_000);
    const page = await context.newPage();
    const heard: string[] = [];
    faults.set(page, heard);
    page.on('pageerror', (error) => heard.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') heard.push(`${message.text()} ${message.location().url}`);
    });
    await page.goto(address);
    return page;
  };
}

type StorageState = NonNullable<BrowserContextOptions['storageState']>;

function withSettings(address: string, settings: object): StorageState {
  const localStorage = [{ name: 'parley.settings', value: JSON.stringify(settings) }];
  return { cookies: [], origins: [{ origin: new URL(address).origin, localStorage }] };
}

/** Another window of the same person: a tab behind another one is drawn twice in a second, and actions wait for that. */
export async function anotherWindow(page: Page, address: string): Promise<Page> {
  const [other] = await Promise.all([
    page.context().waitForEvent('page'),
    page.evaluate(`void open(${JSON.stringify(address)}, '_blank', 'popup,noopener')`),
  ]);
  await other.waitForLoadState();
  return other;
}

/**
 * Pictures of few steps, in the size of the model: how they look does not matter, and enlarging takes longest. Returns the
 * requests of the page as they were.
 */
export async function quickPictures(page: Page, steps = 2): Promise<readonly object[]> {
  const asked: object[] = [];
  await page.route('**/sdapi/v1/txt2img', (route) => {
    const body = route.request().postDataJSON() as object;
    asked.push(body);
    return route.continue({ postData: JSON.stringify({ ...body, steps, width: 64, height: 64, cfg_scale: 1 }) });
  });
  return asked;
}

/** What keeps somebody with a screen reader or a keyboard from using the page as it is shown now. */
export async function barriers(page: Page): Promise<string[]> {
  // Evaluated rather than added as a script, which the content policy of the pages would refuse.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}
