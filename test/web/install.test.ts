import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { untrainedServers } from '../live/server.ts';
import { browserPages, faults, type PageOptions, withoutBrowser } from './browser.ts';
import { hostedPages } from './hosted-pages.ts';

const start = untrainedServers();
const open = browserPages({ withWindows: true });
const installed: PageOptions = { serviceWorkers: 'allow', permissions: ['notifications'] };

/** The scripts that are kept, by cache. */
const caches = (page: Page) =>
  page.evaluate(async () => {
    const { caches } = globalThis as unknown as { caches: CacheStorageOfPage };
    const names = await caches.keys();
    return Promise.all(
      names.map(async (name) => ({ name, urls: (await (await caches.open(name)).keys()).map(({ url }) => url) })),
    );
  });
interface CacheStorageOfPage {
  keys(): Promise<string[]>;
  open(name: string): Promise<{ keys(): Promise<{ readonly url: string }[]> }>;
}

const entryOf = (page: Page) =>
  page.evaluate<string>("document.querySelector('script[type=module]').src.split('/').at(-1)");
/** Whether a service worker is not in use yet. A reload before that may hold it up for minutes: the browser lets the old one finish. */
const newWorker =
  'navigator.serviceWorker.getRegistration().then(({ installing, waiting }) => (installing ?? waiting) !== null)';
const message = (page: Page) => page.getByLabel('Message', { exact: true });

async function kept(page: Page): Promise<void> {
  await page.evaluate('navigator.serviceWorker.ready');
  const entry = await entryOf(page);
  await expect.poll(async () => (await caches(page)).some(({ name }) => name.includes(entry))).toBe(true);
}

/** As if somebody turned to another app, and back. */
async function turnAway(page: Page): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: true, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);
}
async function turnBack(page: Page): Promise<void> {
  await page.evaluate(`
    delete document.hidden;
    document.dispatchEvent(new Event('visibilitychange'))`);
}

describe.skipIf(withoutBrowser)('installed page', () => {
  test('below a path prefix, server down or silent: opens, with views that were never open', async () => {
    const pages = await hostedPages((await start()).base);
    const page = await open(pages.base, installed);
    await kept(page);
    for (const state of ['down', 'silent'] as const) {
      pages.state = state;
      await page.goto('about:blank');
      await page.goto(`${pages.base}#/chat`);
      await message(page).waitFor();
      for (const name of ['Write', 'Draw', 'Sound', 'Knowledge']) {
        await page.getByRole('link', { name, exact: true }).click();
        await page.getByRole('main').getByRole('heading').first().waitFor();
      }
      // Pages about the server lead back to the start page.
      await page.goto(`${pages.base}inspector`);
      await page.getByRole('link', { name: 'Chat', exact: true }).waitFor();
      pages.state = 'up';
    }
  });

  test('a new build: a page that is open says so and keeps the text, and the next load shows it', async () => {
    const pages = await hostedPages((await start()).base);
    const page = await open(`${pages.base}#/chat`, installed);
    await kept(page);
    const before = await entryOf(page);
    await message(page).fill('half a sentence');
    pages.update();
    await page.clock.install();
    await page.clock.fastForward(60_000);
    await turnAway(page);
    await turnBack(page);
    const notice = page.getByText('A new version of Parley is ready.');
    await notice.waitFor();
    expect(await message(page).inputValue()).toBe('half a sentence');
    expect(await entryOf(page)).toBe(before);
    // A view of the old build that was not open yet.
    await page.getByRole('link', { name: 'Sound', exact: true }).click();
    await page.getByRole('main').getByRole('heading').first().waitFor();
    await page.goBack();
    await expect.poll(() => page.evaluate(newWorker)).toBe(false);
    await page.getByRole('button', { name: 'Reload', exact: true }).click();
    await expect.poll(() => entryOf(page).catch(() => before)).not.toBe(before);
    await expect.poll(() => message(page).inputValue()).toBe('half a sentence');
    const entry = await entryOf(page);
    await expect.poll(async () => (await caches(page)).map(({ name }) => name.split(' ').at(-1))).toEqual([entry]);
    const urls = (await caches(page)).flatMap((cache) => cache.urls);
    expect(urls.filter((url) => url.endsWith(before))).toEqual([]);
    expect(faults.get(page)).toEqual([]);
  });

  test('what another app shares: waits for the server, and is put into a new chat', async () => {
    const pages = await hostedPages((await start()).base);
    const page = await open(pages.base, installed);
    await kept(page);
    await expect.poll(() => page.evaluate('navigator.serviceWorker.controller !== null')).toBe(true);
    pages.state = 'down';
    await page.evaluate(async () => {
      const form = new FormData();
      form.set('title', 'A page');
      form.set('text', 'Look at this https://a.example/');
      form.set('url', 'https://a.example/');
      form.append('files', new File(['one two three'], 'note.txt', { type: 'text/plain' }));
      await fetch('./share', { method: 'POST', body: form, redirect: 'manual' });
    });
    await page.goto(`${pages.base}#/chat`);
    await page.reload();
    await page.getByText('What you shared is added as soon as the server responds.').waitFor();
    pages.state = 'up';
    await page.getByRole('button', { name: 'Retry now' }).click();
    await expect.poll(() => message(page).inputValue()).toBe('A page\nLook at this https://a.example/');
    await page.getByText('note.txt').first().waitFor();
    await expect
      .poll(async () => (await caches(page)).filter(({ name }) => name.startsWith('parley-shared')))
      .toEqual([]);
  });

  test('a long reply that ends on a hidden page: is told with the title of its chat', async () => {
    const pages = await hostedPages((await start()).base);
    const page = await open(`${pages.base}#/chat`, installed);
    await kept(page);
    await page.evaluate(`localStorage.setItem('parley.notifications', '{"enabled":true,"offered":true}')`);
    await page.clock.install();
    await page.reload();
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/\/v1\/chat\/completions$/, async (route) => {
      await answered;
      const delta = { choices: [{ index: 0, delta: { content: 'A secret.' }, finish_reason: 'stop' }] };
      const body = `data: ${JSON.stringify(delta)}\n\ndata: [DONE]\n\n`;
      await route.fulfill({ contentType: 'text/event-stream', body });
    });
    await message(page).fill('Tell me');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
    await turnAway(page);
    await page.clock.fastForward(20_000);
    answer();
    const shown = () =>
      page.evaluate(`navigator.serviceWorker.ready.then(async (registration) =>
        (await registration.getNotifications()).map(({ title, body, data }) => ({ title, body, data })))`);
    await expect
      .poll(shown)
      .toEqual([{ title: 'Tell me', body: 'The reply is done.', data: { hash: expect.stringMatching(/^#\/chat\//) } }]);
    await turnBack(page);
    await expect.poll(shown).toEqual([]);
  });
});
