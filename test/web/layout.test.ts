import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startChromium } from '../../bench/chromium.ts';
import { untrainedServers } from '../live/server.ts';
import { withoutBrowser } from './browser.ts';
import { hiddenFields, layoutFaults } from './layout-faults.ts';
import { type Servers, scenes } from './scenes.ts';

const start = untrainedServers();
let browser: Browser;
let page: Page;
let devtools: CDPSession;
let servers: Servers;

/** Width, height, and what a notch, round corners and the bar of the system cover. */
const devices = {
  'small phone': [360, 640, {}],
  phone: [390, 844, { top: 47, bottom: 34 }],
  'phone on its side': [844, 390, { left: 47, right: 47, bottom: 21 }],
  tablet: [820, 1180, { top: 24, bottom: 20 }],
  'tablet on its side': [1180, 820, { top: 24, bottom: 20 }],
} as const;

beforeAll(async () => {
  if (withoutBrowser) return;
  const [server, launcher] = await Promise.all([
    start(['--admin', '--inspect', '5']),
    start(['--showgui'], { until: 'The address works once', listening: 'The launcher is at ' }),
  ]);
  servers = { base: server.base, launcher: /The launcher is at (\S+)/.exec(launcher.output())?.[1] ?? '' };
  browser = await startChromium();
  // One page for all: a new one for each would take most of the time.
  const context = await browser.newContext({
    hasTouch: true,
    isMobile: true,
    reducedMotion: 'reduce',
    serviceWorkers: 'block',
    viewport: { width: 390, height: 844 },
  });
  context.setDefaultTimeout(60_000);
  page = await context.newPage();
  devtools = await context.newCDPSession(page);
});
afterAll(() => browser?.close());

async function show(name: string): Promise<void> {
  await page.unrouteAll();
  await page.goto('about:blank');
  await resize(390, 844, {});
  await scenes[name]?.(page, servers);
}

async function resize(width: number, height: number, insets: object): Promise<void> {
  await page.setViewportSize({ width, height });
  await devtools.send('Emulation.setSafeAreaInsetsOverride', { insets });
  // What follows the size of the window has done so after a frame.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

describe.skipIf(withoutBrowser)('pages on touch screens', () => {
  test.each(Object.keys(scenes))(
    '%s: nothing is too wide, too small to press, covered, or hidden by a keyboard',
    async (name) => {
      await show(name);
      const found: Record<string, readonly string[]> = {};
      for (const [device, [width, height, insets]] of Object.entries(devices)) {
        await resize(width, height, insets);
        found[device] = await layoutFaults(page);
      }
      await resize(360, 360, {});
      found['above a keyboard'] = await hiddenFields(page);
      expect(found).toEqual(Object.fromEntries(Object.keys(found).map((device) => [device, []])));
    },
  );

  test('chat, a keyboard that lies over the page: the field and the button that sends are above it', async () => {
    await show('chat');
    await page.getByLabel('Message', { exact: true }).fill('And in fog?');
    await page.evaluate(`
      Object.defineProperty(visualViewport, 'height', { value: 500, configurable: true });
      visualViewport.dispatchEvent(new Event('resize'));`);
    const send = page.getByRole('button', { name: 'Send', exact: true });
    const bottom = async () => {
      const box = await send.boundingBox();
      return box ? box.y + box.height : Number.NaN;
    };
    await expect.poll(bottom).toBeLessThanOrEqual(500);
    expect(await hiddenFields(page)).toEqual([]);
    await page.evaluate(`
      delete visualViewport.height;
      visualViewport.dispatchEvent(new Event('resize'));`);
    await expect.poll(bottom).toBeGreaterThan(600);
  });
});
