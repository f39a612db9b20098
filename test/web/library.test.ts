import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { packed, pngOf, textChunk } from '../../web/src/files/testing/png.ts';
import { type LiveServer, liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const field = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
const entry = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const focused = (page: Page) => page.evaluate<string>('document.activeElement.textContent.trim()');

/** A drop of files on an element, as a browser reports it. */
async function drop(page: Page, target: string, name: string, content: Uint8Array | string): Promise<void> {
  const base64 = Buffer.from(content).toString('base64');
  const dataTransfer = await page.evaluateHandle(`(() => {
    const carried = new DataTransfer();
    const bytes = Uint8Array.from(atob('${base64}'), (sign) => sign.charCodeAt(0));
    carried.items.add(new File([bytes], '${name}'));
    return carried;
  })()`);
  await page.locator(target).first().dispatchEvent('drop', { dataTransfer });
}

/** A paste, as a browser reports it: the clipboard of a test would be that of the machine. */
const paste = (page: Page, text: string) =>
  page.evaluate(`(() => {
    const carried = new DataTransfer();
    carried.setData('text/plain', ${text});
    const event = new ClipboardEvent('paste', { clipboardData: carried, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
  })()`);

describe.skipIf(withoutBrowser)('list and composer', () => {
  let server: LiveServer;
  beforeAll(async () => {
    server = await start();
  });

  async function opened(options: BrowserContextOptions = {}, settings: object = {}): Promise<Page> {
    const page = await open(`${server.base}/#/chat`, { settings: { replyLength: 12, ...settings }, ...options });
    await field(page).waitFor();
    return page;
  }

  /** Two chats and a story. */
  async function withItems(page: Page, openList = async () => {}): Promise<void> {
    const chats = ['Bread', 'Bergen'].map((title) => ({
      title,
      conversations: [
        { from: 'human', value: `Tell me about ${title}.` },
        { from: 'gpt', value: 'Gladly.' },
      ],
    }));
    const bring = async (name: string, text: string) => {
      await openList();
      await page
        .getByLabel('Files to import')
        .setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) });
    };
    await bring('chats.json', JSON.stringify(chats));
    await page.getByText('2 chats imported.').waitFor();
    await bring('Lighthouse.txt', 'The lamp went out. It was the last night of the year.');
    await heading(page, 'Lighthouse');
  }

  test('one list: search, kinds, pin, folders, many at once with undo', async () => {
    const page = await opened();
    await withItems(page);
    for (const name of ['Bread', 'Bergen', 'Lighthouse']) await entry(page, name).waitFor();
    expect(await barriers(page)).toEqual([]);

    await page.getByRole('searchbox').fill('last night');
    await entry(page, 'Bread').waitFor({ state: 'detached' });
    await entry(page, 'Lighthouse').waitFor();
    await entry(page, 'Lighthouse')
      .getByText(/last night/i)
      .waitFor();
    await page.getByRole('searchbox').fill('');
    await button(page, 'Chats').first().click();
    await entry(page, 'Lighthouse').waitFor({ state: 'detached' });
    await button(page, 'All').click();

    await button(page, 'Actions for Lighthouse').click();
    await page.getByRole('menuitem', { name: 'Pin' }).click();
    await page.getByRole('heading', { name: 'Pinned' }).waitFor();

    await button(page, 'Select').click();
    await page.getByRole('checkbox', { name: 'Select Bread' }).check();
    await page.getByRole('checkbox', { name: 'Select Lighthouse' }).check();
    expect(await barriers(page)).toEqual([]);
    await button(page, 'Move to folder').click();
    const moving = page.getByRole('dialog', { name: 'Move 2 items to a folder' });
    await moving.getByText('A folder groups chats and stories in the list.').waitFor();
    expect(await barriers(page)).toEqual([]);
    await moving.getByRole('textbox', { name: 'New folder' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type('Best');
    await page.keyboard.press('Enter');
    await button(page, 'Best').waitFor();
    // The folders that exist are offered.
    await button(page, 'Actions for Bread').click();
    await page.getByRole('menuitem', { name: 'Move to folder' }).click();
    const one = page.getByRole('dialog', { name: 'Move “Bread” to a folder' });
    expect(await one.getByRole('button', { name: 'Best', exact: true }).isDisabled()).toBe(true);
    await one.getByRole('button', { name: 'No folder' }).click();
    await one.waitFor({ state: 'hidden' });
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click();

    await button(page, 'Select').click();
    await button(page, 'Select all').click();
    await button(page, 'Delete').click();
    await page.getByText('3 items deleted.').waitFor();
    await expect.poll(() => page.getByRole('complementary').getByRole('link').count()).toBe(0);
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click();
    await expect.poll(() => page.getByRole('complementary').getByRole('link').count()).toBe(3);
    await page.reload();
    await entry(page, 'Lighthouse').waitFor();
    await page.getByRole('heading', { name: 'Pinned' }).waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('keyboard: the list, the pages and the sheet need no mouse', async () => {
    const page = await opened();
    await withItems(page);
    await page.keyboard.press('Alt+k');
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('search');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => focused(page)).toBe('Lighthouse');
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowUp');
    const name = await focused(page);
    await page.keyboard.press('F2');
    await page.getByRole('textbox', { name: 'Title' }).fill('Renamed');
    await page.keyboard.press('Enter');
    await entry(page, 'Renamed').waitFor();
    await expect.poll(() => entry(page, name).count()).toBe(0);
    await expect.poll(() => focused(page)).toBe('Renamed');
    await page.keyboard.press('Enter');
    await heading(page, 'Renamed');
    await entry(page, 'Renamed').focus();
    await page.keyboard.press('Delete');
    await page.getByText('“Renamed” deleted.').waitFor();
    await expect.poll(() => page.getByRole('complementary').getByRole('link').count()).toBe(2);

    await page.keyboard.press('Alt+n');
    await heading(page, 'New chat');
    await page.keyboard.press('Alt+PageDown');
    await heading(page, 'Lighthouse');
    await page.keyboard.press('Alt+PageDown');
    await page.getByText('Gladly.').waitFor();
    await page.keyboard.press('Alt+l');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    await page.keyboard.press('Alt+l');

    await page.keyboard.press('Alt+i');
    await page.keyboard.press('ArrowUp');
    await expect.poll(() => page.getByRole('textbox', { name: 'Edit text' }).inputValue()).toMatch(/^Tell me about/);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+i');
    await page.keyboard.type('What?');
    await expect.poll(() => field(page).inputValue()).toBe('What?');
    await page.keyboard.press('Control+/');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Alt+N').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+r');
    await page.getByText('2/2').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('a paste of 5 MB becomes a file that can be opened, edited and removed; typing goes on', async () => {
    const page = await opened({}, { sendKey: 'ctrl-enter' });
    await field(page).focus();
    await paste(page, "'The river had risen in the night. '.repeat(154_203)");
    await button(page, 'Pasted text (5.0 MB)').waitFor();
    await page.keyboard.type('Summarize it.');
    await expect.poll(() => field(page).inputValue()).toBe('Summarize it.');
    await button(page, 'Pasted text (5.0 MB)').click();
    await page.getByText('Part 1 of 132').waitFor();
    await expect.poll(() => button(page, 'Insert as text').isDisabled()).toBe(true);
    await button(page, 'Next part').click();
    await page.getByText('Part 2 of 132').waitFor();
    expect(await barriers(page)).toEqual([]);
    await button(page, 'Close').click();
    await button(page, 'Remove Pasted text (5.0 MB)').click();

    await field(page).focus();
    await paste(page, "'word '.repeat(1000)");
    await button(page, 'Pasted text (5 KB)').click();
    await page.getByRole('dialog').getByLabel('Text', { exact: true }).fill('A short text.');
    await button(page, 'Save changes').click();
    await button(page, 'Pasted text (13 bytes)').click();
    await button(page, 'Insert as text').click();
    await expect.poll(() => field(page).inputValue()).toBe('Summarize it. A short text.');
    await field(page).press('Enter');
    await expect.poll(() => page.locator('article').count()).toBe(0);
    await page.reload();
    await expect.poll(async () => (await field(page).inputValue()).trim()).toBe('Summarize it. A short text.');
    await field(page).press('Control+Enter');
    await page.locator('article.user').getByText('Summarize it. A short text.').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('dropped files open where they belong, on every page; others are attached or named', async () => {
    const page = await opened();
    const card = { spec: 'chara_card_v2', data: { name: 'Ada', first_mes: 'Come in.' } };
    await page.getByRole('link', { name: 'Sound', exact: true }).click();
    await page.getByRole('main').getByRole('heading').first().waitFor();
    await drop(page, 'nav', 'ada.png', pngOf(textChunk('chara', packed(card))));
    await heading(page, 'Ada');
    await page.getByText('Come in.').waitFor();
    await button(page, 'Characters').click();
    await page.getByRole('complementary').getByRole('link', { name: 'Ada' }).locator('img').waitFor();
    await button(page, 'All').click();

    await drop(page, 'main', 'notes.txt', 'Milk, eggs.');
    await button(page, 'Remove notes.txt').waitFor();
    await drop(page, 'main', 'bin.dat', new Uint8Array([0, 1, 2, 255]));
    await page.getByText("Can't attach bin.dat: unsupported file type.").waitFor();
    const save = { gamestarted: true, prompt: 'A fox.', actions: [' It ran.'], savedsettings: { opmode: 1 } };
    await drop(page, 'main', 'fox.json', JSON.stringify(save));
    await heading(page, 'fox');
    expect(faults.get(page)).toEqual([]);
  });

  test('phone: one drawer for chats and stories; Enter makes a new line', async () => {
    const page = await opened(phone);
    const list = () => page.getByRole('button', { name: /^Chats( and stories)?$/ }).first();
    await withItems(page, () => list().click());
    await list().click();
    await page.getByRole('dialog', { name: 'Chats and stories' }).waitFor();
    expect(await barriers(page)).toEqual([]);
    await button(page, 'Choose what to create').click();
    await page.getByRole('menuitem', { name: 'Adventure' }).click();
    await page.getByRole('radio', { name: /^Adventure/ }).waitFor();
    await expect.poll(() => page.getByRole('radio', { name: /^Adventure/ }).isChecked()).toBe(true);
    await list().click();
    await entry(page, 'Bread').click();
    await heading(page, 'Bread');
    await field(page).fill('And rye?');
    await field(page).press('Enter');
    await expect.poll(() => field(page).inputValue()).toBe('And rye?\n');
    await button(page, 'Send').click();
    await page.locator('article.user').getByText('And rye?').waitFor();
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(faults.get(page)).toEqual([]);
  });
});
