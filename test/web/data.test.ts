import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type LiveServer, liveServers } from '../live/server.ts';
import { anotherWindow, browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
let started: Promise<LiveServer> | undefined;
const server = (): Promise<LiveServer> => {
  started ??= start([]);
  return started;
};

const field = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const texts = (page: Page): Promise<string[]> => page.locator('article.user .text').allInnerTexts();

async function send(page: Page, text: string): Promise<void> {
  const before = await page.locator('article.assistant').count();
  await field(page).fill(text);
  await field(page).press('Enter');
  await page.locator('article.assistant').nth(before).waitFor();
  await page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' });
}

async function edit(page: Page, index: number, text: string): Promise<void> {
  const message = page.locator('article.user').nth(index);
  await message.hover();
  await message.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Edit text' }).fill(text);
  await button(page, 'Save').click();
}

async function dataTab(page: Page): Promise<void> {
  await button(page, 'Settings').click();
  await page.getByRole('tab', { name: 'Data', exact: true }).click();
}

/** Numbers of stored rows by store of the database. */
const rows = (page: Page): Promise<Record<string, number>> =>
  page.evaluate(`new Promise((done) => {
    const request = indexedDB.open('parley');
    request.onsuccess = async () => {
      const found = {};
      for (const name of request.result.objectStoreNames)
        await new Promise((next) => {
          const counting = request.result.transaction(name).objectStore(name).count();
          counting.onsuccess = () => { if (counting.result > 0) found[name] = counting.result; next(); };
        });
      request.result.close();
      done(found);
    };
  })`);

describe.skipIf(withoutBrowser)('data', () => {
  test('an edited chat is exported, deleted with everything, and imported with its undo history, in all tabs', async () => {
    const page = await open((await server()).base, { settings: { replyLength: 4 } });
    for (const text of ['First', 'Second']) await send(page, text);
    const address = page.url();
    // Written as a changed part of the chat.
    await edit(page, 0, 'First, edited');
    await field(page).fill('Half a thought');
    const other = await anotherWindow(page, address);
    await expect.poll(() => texts(other)).toEqual(['First, edited', 'Second']);

    await dataTab(page);
    const [saved] = await Promise.all([page.waitForEvent('download'), button(page, 'Export everything').click()]);
    const file = readFileSync(await saved.path());
    expect(file.toString()).toContain('First, edited');
    await button(page, 'Delete everything').click();
    await Promise.all([
      ...[page, other].map((one) => one.waitForEvent('load')),
      page
        .getByRole('dialog', { name: 'Delete everything?' })
        .getByRole('button', { name: 'Delete everything' })
        .click(),
    ]);
    for (const one of [page, other]) {
      await field(one).waitFor();
      await expect.poll(() => texts(one)).toEqual([]);
    }
    expect(await rows(page)).toEqual({});
    await expect.poll(() => page.evaluate(`localStorage.getItem('parley.settings')`)).not.toContain('"replyLength":4,');

    await dataTab(page);
    await Promise.all([
      ...[page, other].map((one) => one.waitForEvent('load')),
      page
        .locator('input[type=file][accept=".json"]')
        .setInputFiles({ name: 'all.parley.json', mimeType: 'application/json', buffer: file }),
    ]);
    await page.goto(address);
    await expect.poll(() => texts(page)).toEqual(['First, edited', 'Second']);
    await expect.poll(() => field(page).inputValue()).toBe('Half a thought');
    await button(page, 'Undo').click();
    await expect.poll(() => texts(page)).toEqual(['First', 'Second']);

    // The same backup again: the newer state here stays.
    await dataTab(page);
    await Promise.all([
      page.waitForEvent('load'),
      page
        .locator('input[type=file][accept=".json"]')
        .setInputFiles({ name: 'all.parley.json', mimeType: 'application/json', buffer: file }),
    ]);
    await expect.poll(() => texts(page)).toEqual(['First', 'Second']);
    for (const one of [page, other]) expect(faults.get(one) ?? []).toEqual([]);
  });
});
