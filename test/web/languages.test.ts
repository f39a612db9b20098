import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type LiveServer, liveServers } from '../live/server.ts';
import { browserPages, faults, withoutBrowser } from './browser.ts';
import { overflowing, plainEnglish, speakPseudo } from './pseudo-language.ts';
import { accented } from './pseudo-text.ts';

const start = liveServers();
const open = browserPages();
let started: Promise<LiveServer> | undefined;
const server = (): Promise<LiveServer> => {
  started ??= start(['--admin']);
  return started;
};

const phone = { width: 390, height: 844 };
const htmlOf = (page: Page) =>
  page.evaluate<string>('document.documentElement.lang + " " + document.documentElement.dir');
const directionOf = (element: unknown): string =>
  (globalThis as unknown as { getComputedStyle: (of: unknown) => { direction: string } }).getComputedStyle(element)
    .direction;
const entry = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

/** Paths of the files of languages that a page has asked for. */
function languageFilesOf(page: Page): string[] {
  const paths: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (/\/assets\/([a-z]{2}|zh-Han[st]|pt-BR)-[\w-]{8}\.js$/.test(pathname)) paths.push(pathname);
  });
  return paths;
}

describe.skipIf(withoutBrowser)('languages', () => {
  test('the first language of the browser that there is; its file is the only one, and English has none', async () => {
    const { base } = await server();
    const german = await open('about:blank', { locale: 'de-AT' });
    const files = languageFilesOf(german);
    await german.goto(base);
    await entry(german, 'Schreiben').waitFor();
    expect(await htmlOf(german)).toBe('de ltr');
    await german.getByRole('button', { name: 'Design: System', exact: true }).click();
    await german.getByRole('button', { name: 'Design: Dunkel', exact: true }).waitFor();
    expect(files).toEqual([expect.stringMatching(/\/de-/)]);
    const english = await open('about:blank', { locale: 'en-GB' });
    const none = languageFilesOf(english);
    await english.goto(base);
    await entry(english, 'Write').waitFor();
    expect(none).toEqual([]);
    expect(
      await english.evaluate('performance.getEntriesByType("resource").some(({ name }) => /\\/de-/.test(name))'),
    ).toBe(false);
  });

  test('the choice of the settings loads the page anew, and is remembered', async () => {
    const { base } = await server();
    const page = await open(base, { locale: 'de-DE' });
    const choose = async (label: string, code: string, result: string): Promise<void> => {
      await page.evaluate("location.hash = '#/settings/general'");
      await page.getByRole('combobox', { name: label, exact: true }).selectOption(code);
      await expect.poll(() => htmlOf(page).catch(() => '')).toBe(result);
    };
    await choose('Sprache', 'fr', 'fr ltr');
    await page.reload();
    await choose('Langue', 'en', 'en ltr');
    await choose('Language', '', 'de ltr');
    expect(faults.get(page)).toEqual([]);
  });

  test.each(['de-DE', 'ar'])('%s: without its file the page is English', async (locale) => {
    const page = await open('about:blank', { locale });
    await page.route(/\/assets\/(de|ar)-/, (route) => route.abort());
    await page.goto((await server()).base);
    await entry(page, 'Write').waitFor();
    expect(await htmlOf(page)).toBe('en ltr');
  });

  test('from right to left: the views, the list and the settings change sides; code does not', async () => {
    const { base } = await server();
    const page = await open('about:blank');
    await speakPseudo(page, 'rtl');
    await page.goto(base);
    const views = page.getByRole('navigation').first();
    await entry(page, accented('Write')).waitFor();
    expect(await htmlOf(page)).toBe('ar rtl');
    const sides = async () => (await views.boundingBox())?.x ?? 0;
    expect(await sides()).toBeGreaterThan(1100);
    const list = page.getByRole('complementary').first();
    const box = await list.boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeCloseTo(await sides(), 0);
    expect(await overflowing(page)).toEqual([]);
    const message = page.locator('.composer textarea');
    expect(await message.evaluate(directionOf)).toBe('rtl');
    await message.fill('Hello');
    expect(await message.evaluate(directionOf)).toBe('ltr');
    await message.fill('');
    await page.goto(`${base}/#/settings/samplers`);
    const dialog = page.getByRole('dialog').first();
    await dialog.getByRole('tabpanel').waitFor();
    expect((await dialog.boundingBox())?.x).toBe(0);
    const number = page.locator('.field input[type="number"]').first();
    expect(await number.evaluate(directionOf)).toBe('ltr');
    // Arrow keys follow what is seen.
    await page.locator('#settings-tab-samplers').focus();
    await page.keyboard.press('ArrowLeft');
    await page.locator('#settings-tab-output[aria-selected="true"]').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test.each(['ltr', 'rtl'] as const)(
    '%s on a phone: longer texts fit, and none of them is plain English',
    async (direction) => {
      const { base } = await server();
      const page = await open('about:blank', { viewport: phone });
      await speakPseudo(page, direction);
      await page.goto(base);
      const check = async (place: string): Promise<void> => {
        // Everything that can be opened.
        await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
        await expect.poll(async () => [place, ...(await plainEnglish(page))]).toEqual([place]);
        expect([place, ...(await overflowing(page))]).toEqual([place]);
      };
      const visit = async (view: string): Promise<void> => {
        await entry(page, accented(view)).click();
        await entry(page, accented(view)).and(page.locator('[aria-current="page"]')).waitFor();
      };
      for (const view of ['Chat', 'Write', 'Draw', 'Sound', 'Knowledge']) {
        await visit(view);
        await check(view);
      }
      await visit('Chat');
      for (const tab of ['general', 'replies', 'samplers', 'output', 'scripts', 'data', 'people', 'about']) {
        await page.evaluate(`location.hash = '#/settings/${tab}'`);
        await page.locator(`#settings-tab-${tab}[aria-selected="true"]`).waitFor();
        await check(tab);
      }
      await page.keyboard.press('Escape');
      await page
        .getByRole('button', { name: /parley-mini/ })
        .first()
        .click();
      await page.getByRole('dialog').getByRole('heading', { level: 3 }).first().waitFor();
      await check('models');
      expect(faults.get(page)).toEqual([]);
    },
  );
});
