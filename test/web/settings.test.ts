import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type LiveServer, liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
let started: Promise<LiveServer> | undefined;
/** One for all tests of this file, with a default of its own. */
const server = (): Promise<LiveServer> => {
  started ??= start(['--gendefaults', '{"top_k": 33}']);
  return started;
};

async function settingsPage(tab: string): Promise<Page> {
  const page = await open(`${(await server()).base}/#/settings/${tab}`);
  await page.getByRole('tabpanel').waitFor();
  return page;
}

const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true });
const close = (page: Page) => page.getByRole('button', { name: 'Close', exact: true }).click();

async function menu(page: Page, kind: string, entry: string): Promise<void> {
  await page.getByRole('button', { name: `${kind} presets`, exact: true }).click();
  await page.getByRole('menuitem', { name: entry }).click();
}

/** Sends a message in a new chat; the body of the request and the reply. */
async function asked(page: Page, text: string): Promise<{ body: Record<string, unknown>; reply: string }> {
  const before = await page.locator('article.assistant').count();
  const request = page.waitForRequest((one) => one.url().endsWith('/v1/chat/completions'));
  const field = page.getByRole('textbox', { name: 'Message', exact: true });
  await field.fill(text);
  await field.press('Enter');
  const body = (await request).postDataJSON() as Record<string, unknown>;
  const article = page.locator('article.assistant').nth(before);
  await article.waitFor();
  await page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' });
  return { body, reply: (await article.locator('.markdown').first().innerText()).trim() };
}

describe.skipIf(withoutBrowser)('settings', () => {
  test('search: finds choices and settings that appear later; voices have names, and one is chosen', async () => {
    const page = await settingsPage('general');
    const search = page.getByRole('searchbox', { name: 'Search settings' });
    await search.fill('dark');
    await page.getByRole('radio', { name: 'Dark' }).waitFor();
    await search.fill('voice');
    const voice = page.getByRole('combobox', { name: 'Voice', exact: true });
    await voice.waitFor();
    await expect.poll(() => page.getByText(/^No setting found/).count()).toBe(0);
    await expect.poll(() => voice.locator('option').allInnerTexts()).toContain('Slt (American, female)');
    await expect.poll(() => voice.locator('option:checked').innerText()).toBe('Default voice');
    await search.fill('nothing like this');
    await page.getByText('No setting found for “nothing like this”.').waitFor();
    expect(await barriers(page)).toEqual([]);
  });

  test('notices do not cover the tabs', async () => {
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 390, height: 844 },
    ]) {
      const page = await open(`${(await server()).base}/#/settings/samplers`, { viewport });
      await page.getByRole('button', { name: 'Sampler presets', exact: true }).waitFor();
      await menu(page, 'Sampler', 'Save as new preset…');
      await page.getByLabel('Name', { exact: true }).fill('Mine');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await menu(page, 'Sampler', 'Delete');
      const undo = page.getByRole('status').getByRole('button', { name: 'Undo' });
      const [notice, tabs] = await Promise.all([undo.boundingBox(), page.getByRole('tablist').boundingBox()]);
      expect(notice?.y).toBeGreaterThan((tabs?.y ?? 0) + (tabs?.height ?? 0));
    }
  });

  test('tabs, search and server defaults', async () => {
    const page = await settingsPage('samplers');
    expect(new URL(page.url()).hash).not.toContain('settings');
    // Empty fields show the default of the server, also one that it was started with.
    const topK = page.getByLabel('Top-K', { exact: true });
    await page.getByText('Truncation', { exact: true }).click();
    await page.locator('#sampler-top_k[placeholder="33"]').waitFor();
    await expect.poll(() => topK.inputValue()).toBe('');
    for (const name of ['Output', 'Data', 'About', 'General', 'Replies']) {
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Settings', exact: true }).click();
      await tab(page, name).click();
      expect(await barriers(page), name).toEqual([]);
    }
    await tab(page, 'Replies').focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => tab(page, 'Samplers').getAttribute('aria-selected')).toBe('true');

    await page.getByLabel('Search settings').fill('stop sequences');
    await page.getByRole('textbox', { name: 'Stop sequences' }).waitFor();
    await expect.poll(() => page.getByText('Temperature').count()).toBe(0);
    await page.getByLabel('Search settings').fill('xyzzy');
    await page.getByText('No setting found for').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('Back: goes to the page before and closes the settings', async () => {
    const page = await open(`${(await server()).base}/#/chat`);
    await page.getByRole('link', { name: 'Draw', exact: true }).click();
    await page.getByRole('button', { name: 'Settings', exact: true }).click();
    await page.getByRole('tabpanel').waitFor();
    await page.goBack();
    await page.getByRole('tabpanel').waitFor({ state: 'detached' });
    await page.getByRole('textbox', { name: 'Message', exact: true }).click();
    expect(faults.get(page)).toEqual([]);
  });

  test('presets are saved, exported and imported, also those of SillyTavern and KoboldAI Lite', async () => {
    const page = await settingsPage('samplers');
    const picker = page.getByLabel('Sampler preset', { exact: true });
    const temperature = page.getByLabel('Temperature', { exact: true });
    await temperature.fill('1.25');
    await temperature.blur();
    await menu(page, 'Sampler', 'Save as new preset…');
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Mine saved.').waitFor();
    await temperature.fill('0.5');
    await temperature.blur();
    await page.locator('option', { hasText: 'Mine (changed)' }).waitFor({ state: 'attached' });
    const downloading = page.waitForEvent('download');
    await menu(page, 'Sampler', 'Export this preset');
    const file = JSON.parse(readFileSync(await (await downloading).path(), 'utf8'));
    expect(file).toMatchObject({ format: 'parley.presets', presets: [{ name: 'Mine' }] });
    await menu(page, 'Sampler', 'Delete');
    await page.getByText('Mine deleted.').waitFor();

    const json = (name: string, content: unknown) => ({
      name,
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(content)),
    });
    const files = page.getByRole('dialog', { name: 'Settings' }).locator('input[type="file"]').first();
    await files.setInputFiles(json('mine.preset.json', file));
    await page.getByText('Mine imported.').waitFor();
    await expect.poll(() => temperature.inputValue()).toBe('1.25');

    await files.setInputFiles(
      json('Tavern.json', { temp: 0.9, top_p: 1, top_k: 5, eta_cutoff: 3, banned_tokens: 'sigh' }),
    );
    await page.getByRole('dialog', { name: 'Imported with gaps' }).getByText('eta_cutoff').waitFor();
    await page.getByRole('button', { name: 'OK', exact: true }).click();
    await expect.poll(() => temperature.inputValue()).toBe('0.9');

    const lite = { savedsettings: { temperature: 0.75, typ_s: 1, tfs_s: 0.9, instruct_sysprompt: 'Be brief.' } };
    await files.setInputFiles(json('lite.json', lite));
    await page.getByText('lite imported.').waitFor();
    await expect.poll(() => temperature.inputValue()).toBe('0.75');
    await files.setInputFiles(json('other.json', { a: 1 }));
    await page.getByText('Can’t import other.json').waitFor();

    await page.reload();
    await page.getByRole('button', { name: 'Settings', exact: true }).click();
    await tab(page, 'Replies').click();
    await page.getByLabel('Prompt preset', { exact: true }).selectOption({ label: 'lite' });
    await expect.poll(() => page.getByLabel('System prompt').inputValue()).toBe('Be brief.');
    await tab(page, 'Samplers').click();
    await expect
      .poll(() => picker.locator('option').allInnerTexts())
      .toEqual(expect.arrayContaining(['Mine', 'Tavern', 'lite']));
    expect(faults.get(page)).toEqual([]);
  });

  test('grammar, banned phrases, bias and order reach the model', async () => {
    const { base } = await server();
    const page = await settingsPage('samplers');
    await page.getByText('Seed', { exact: true }).first().click();
    await page.getByLabel('Seed', { exact: true }).fill('7');
    await page.getByRole('button', { name: 'Move Temperature up' }).click();
    await page.getByRole('button', { name: 'Move Temperature up' }).press('Enter');
    await tab(page, 'Replies').click();
    await page.getByLabel('Reply length').fill('16');
    await tab(page, 'Output').click();
    await close(page);
    const free = await asked(page, 'Hello there');
    expect(free.body).toMatchObject({ sampler_order: [6, 0, 1, 3, 5, 4, 2], sampler_seed: 7, seed: 7, max_tokens: 16 });
    const slots = (await (await fetch(`${base}/slots`)).json()) as { params: { samplers: string[]; seed: number } }[];
    expect(slots[0]?.params.samplers.slice(0, 4)).toEqual(['dry', 'penalties', 'top_k', 'temperature']);
    expect(slots[0]?.params.seed).toBe(7);

    const word = /[A-Za-z]{3,}/.exec(free.reply)?.[0] ?? 'fox';
    await page.getByRole('button', { name: 'Settings', exact: true }).click();
    await page.getByLabel('Banned phrases').fill(word);
    await page.getByRole('textbox', { name: 'Token' }).fill('#5');
    await page.getByRole('textbox', { name: 'Token' }).blur();
    await page.getByText(/Tokens: .*#5/).waitFor();
    await close(page);
    const banned = await asked(page, 'Hello there');
    expect(banned.body).toMatchObject({ banned_tokens: [word], logit_bias: [[5, -5]] });
    expect(banned.reply).not.toContain(word);

    await page.getByRole('button', { name: 'Settings', exact: true }).click();
    await page.getByLabel('JSON schema').fill('{"type":');
    await page.getByText('Not valid JSON').waitFor();
    await page.getByLabel('JSON schema').fill('');
    await page.getByLabel('Grammar (GBNF)').fill('root ::= "yes" | "no"');
    await close(page);
    expect((await asked(page, 'Are you there?')).reply).toMatch(/^(yes|no)$/);

    // The same settings in a story.
    await page.getByRole('link', { name: 'Write', exact: true }).click();
    const field = page.getByLabel('Message', { exact: true });
    const request = page.waitForRequest((one) => /generate(\/stream)?$/.test(one.url()));
    await field.fill('Once there was a cat.');
    await field.press('Enter');
    const body = (await request).postDataJSON() as Record<string, unknown>;
    expect(body).toMatchObject({ banned_tokens: [word], logit_bias: { 5: -5 }, sampler_order: [6, 0, 1, 3, 5, 4, 2] });
    await page
      .getByRole('article', { name: 'Text' })
      .getByText(/(yes|no)$/)
      .waitFor();
    expect(faults.get(page)).toEqual([]);
  });
});
