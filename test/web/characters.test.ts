import { readFile } from 'node:fs/promises';
import { deflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { zipOf } from '../../src/documents/testing/zip.ts';
import { packed, pngOf, textChunk } from '../../web/src/files/testing/png.ts';
import { checksum } from '../../web/src/files/zip.ts';
import { type LiveServer, liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, quickPictures, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
let started: Promise<LiveServer> | undefined;
const server = (): Promise<LiveServer> => {
  started ??= start();
  return started;
};

/** A picture that browsers can decode, with a card in it. */
function pictureWith(card: object): Uint8Array {
  const head = Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0);
  const pixels = new Uint8Array(deflateSync(Uint8Array.of(0, 26, 115, 96)));
  return withChecksums(pngOf(['IHDR', head], textChunk('chara', packed(card)), ['IDAT', pixels]));
}

function withChecksums(png: Uint8Array): Uint8Array {
  const view = new DataView(png.buffer);
  for (let at = 8; at < png.length; ) {
    const length = view.getUint32(at);
    view.setUint32(at + 8 + length, checksum(png.subarray(at + 4, at + 8 + length)));
    at += 12 + length;
  }
  return png;
}

const ada = {
  spec: 'chara_card_v2',
  spec_version: '2.0',
  data: {
    name: 'Ada',
    description: '{{char}} mends engines for {{user}}.',
    first_mes: 'Come in, {{user}}.',
    alternate_greetings: ['You again, {{user}}?'],
    character_book: { entries: [{ keys: ['lamp'], content: 'The lamp burns whale oil.', enabled: true }] },
  },
};
const bo = {
  spec: 'chara_card_v3',
  spec_version: '3.0',
  data: { name: 'Bo', description: 'A dog.', first_mes: 'Woof.' },
};
const cy = {
  spec: 'chara_card_v3',
  spec_version: '3.0',
  data: { name: 'Cy', description: 'A cat.', first_mes: 'Mew.' },
};

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const field = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
const replies = (page: Page) => page.locator('article.assistant');
const finished = (page: Page) => page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' });

async function chatPage(): Promise<Page> {
  const page = await open((await server()).base, { settings: { replyLength: 6 } });
  await field(page).waitFor();
  return page;
}

async function openPicker(page: Page): Promise<void> {
  await page.evaluate(`location.hash = '#/chat'`);
  await page.getByRole('button', { name: /^Play/ }).click();
  await page.getByRole('dialog', { name: 'Characters' }).waitFor();
}

async function importCard(page: Page, name: string, content: Uint8Array | string): Promise<void> {
  await openPicker(page);
  await page
    .getByLabel('Character cards to import')
    .setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
  await page.getByRole('dialog', { name: 'Characters' }).waitFor({ state: 'hidden' });
}

async function menu(page: Page, entry: string): Promise<void> {
  await button(page, 'Chat menu').click();
  await page.getByRole('menuitem', { name: entry }).click();
}

async function promptOf(page: Page): Promise<string> {
  await menu(page, 'Show prompt');
  const text = await page.locator('dialog[open] pre').innerText();
  await page.keyboard.press('Escape');
  return text;
}

async function say(page: Page, text: string, count: number): Promise<void> {
  await field(page).fill(text);
  await field(page).press('Enter');
  await replies(page)
    .nth(count - 1)
    .waitFor();
  await finished(page);
}

/** The entries of the open menu that a click on their middle or end would not hit. */
const coveredEntries = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('[role="menuitem"]')].filter((entry) => {
    const { top, bottom, left, right } = entry.getBoundingClientRect();
    const hit = (x) => entry.contains(document.elementFromPoint(x, (top + bottom) / 2));
    return !hit((left + right) / 2) || !hit(right - 5);
  }).map(({ innerText }) => innerText)`);

/** Drops a file on the page. Returns what the page says about it. */
async function drop(page: Page, name: string, content: string): Promise<string> {
  await page.evaluate(`location.hash = '#/chat'`);
  await field(page).waitFor();
  const dataTransfer = await page.evaluateHandle(`(() => {
    const carried = new DataTransfer();
    carried.items.add(new File([${JSON.stringify(content)}], '${name}'));
    return carried;
  })()`);
  await field(page).dispatchEvent('drop', { dataTransfer });
  const notice = page.getByRole('status').getByRole('paragraph').last();
  const said = await notice.innerText();
  await button(page, 'Dismiss').last().click();
  return said;
}

describe.skipIf(withoutBrowser)('characters', () => {
  test('a card that is chosen with the paperclip becomes a character, with undo', async () => {
    const page = await chatPage();
    await page
      .getByLabel('Files to attach', { exact: true })
      .setInputFiles({ name: 'ada.png', mimeType: 'image/png', buffer: Buffer.from(pictureWith(ada)) });
    await page.getByText('Ada added to your characters.').waitFor();
    await page.getByText('Come in, You.').waitFor();
    // The notice is still there, and covers no entry of a menu.
    await button(page, 'Chat menu').click();
    await page.getByRole('menuitem').first().waitFor();
    expect(await coveredEntries(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: /^Play/ }).waitFor();
    await expect.poll(() => page.getByRole('complementary').getByRole('link').count()).toBe(0);
    expect(faults.get(page)).toEqual([]);
  });

  test('a new persona that is left empty is not kept', async () => {
    const page = await chatPage();
    await openPicker(page);
    await button(page, 'Personas').click();
    await button(page, 'New persona').click();
    await page.getByLabel('Name', { exact: true }).and(page.locator(':focus')).waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await button(page, 'Personas').click();
    await page.getByText('No personas yet. Without one you are “You”.').waitFor();
    await expect.poll(() => page.getByLabel('Name', { exact: true }).count()).toBe(0);
    expect(await page.evaluate(`localStorage.getItem('parley.characters') ?? ''`)).not.toMatch(/"persona":"\w/);
  });

  test('a V2 PNG card becomes a chat: greeting versions, lorebook, persona and names in the prompt', async () => {
    const page = await chatPage();
    await importCard(page, 'ada.png', pictureWith(ada));
    await page.getByText('Come in, You.').waitFor();
    await expect.poll(() => replies(page).first().locator('img').first().getAttribute('src')).toMatch(/^blob:/);
    await replies(page).first().getByRole('button', { name: 'Next version' }).click();
    await page.getByText('You again, You?').waitFor();

    await say(page, 'Light the lamp.', 2);
    const prompt = await promptOf(page);
    for (const part of [
      'Ada mends engines for You.',
      'You again, You?',
      'The lamp burns whale oil.',
      'Light the lamp.',
    ])
      expect(prompt).toContain(part);

    await menu(page, 'Chat settings');
    await button(page, 'Edit personas').click();
    await button(page, 'New persona').click();
    await page.getByLabel('Name', { exact: true }).fill('Maren');
    await page.getByLabel('Name', { exact: true }).press('Tab');
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByLabel('Your persona').selectOption('Maren');
    await page.getByLabel('Prompt format').selectOption('names');
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByText('You again, Maren?').waitFor();
    expect(await promptOf(page)).toMatch(/\nAda: You again, Maren\?\nMaren: Light the lamp\.\nAda:$/);
    await say(page, 'And now?', 3);
    await expect.poll(() => replies(page).last().getByText('Maren:').count()).toBe(0);
    expect(faults.get(page)).toEqual([]);
  });

  test('V3 JSON and charx make a group that speaks in order', async () => {
    const page = await chatPage();
    await importCard(page, 'bo.json', JSON.stringify(bo));
    await page.getByText('Woof.').waitFor();
    await importCard(page, 'cy.charx', await zipOf({ 'card.json': JSON.stringify(cy) }));
    await page.getByText('Mew.').waitFor();
    await openPicker(page);
    expect(await barriers(page)).toEqual([]);
    await button(page, 'New group').click();
    await page.getByRole('button', { name: /^Select\s+Cy/ }).click();
    await page.getByRole('button', { name: /^Select\s+Bo/ }).click();
    await button(page, 'Start group of 2').click();
    await page.getByText('Woof.').waitFor();
    await say(page, 'Hello, both.', 4);
    const names = await replies(page).evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
    expect(names).toEqual(['Cy', 'Bo', 'Cy', 'Bo']);
    expect(await promptOf(page)).toContain('[Write the next reply only as Bo.]');
    expect(faults.get(page)).toEqual([]);
  });

  test('the card menu edits, exports and deletes with undo; a hostile key does not block the page', async () => {
    const page = await chatPage();
    const hostile = [
      { keys: ['/(x+)+$/'], content: 'Never.', enabled: true, comment: 'Slow' },
      { keys: ['/(?<=a)b/'], content: 'Never.', enabled: true, comment: 'Refused' },
    ];
    const card = { ...cy, data: { ...cy.data, character_book: { entries: hostile } } };
    await importCard(page, 'cy.json', JSON.stringify(card));
    await say(page, `${'x'.repeat(60)}!`, 2);
    expect(await promptOf(page)).not.toContain('Never.');

    await openPicker(page);
    const choose = async (entry: string) => {
      await button(page, 'Options for Cy').click();
      await page.getByRole('menuitem', { name: entry, exact: true }).click();
    };
    await choose('Edit');
    await page.getByRole('textbox', { name: 'Scenario' }).fill('A lighthouse.');
    await page.getByText('Lorebook (2)').click();
    await page.getByText('Refused').click();
    await page.getByText('/(?<=a)b/ is not searched: the pattern uses a look-behind').waitFor();
    expect(await barriers(page)).toEqual([]);
    await button(page, 'Done').click();
    const downloaded = page.waitForEvent('download');
    await choose('Export as JSON card');
    const file = JSON.parse(await readFile(await (await downloaded).path(), 'utf8'));
    expect(file.data).toMatchObject({ name: 'Cy', scenario: 'A lighthouse.' });
    await choose('Delete');
    await page.getByText('No characters yet.').waitFor();
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).last().click();
    await button(page, 'Options for Cy').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('dropped files say what they became; an exported chat brings its characters', async () => {
    const page = await chatPage();
    const book = { entries: { 0: { key: ['lamp'], comment: 'Lamp', content: 'Oil.', order: 1 } } };
    expect(await drop(page, 'Sea.json', JSON.stringify(book))).toContain('Sea: 1 lorebook entry added to this chat.');
    const preset = { temp: 1.2, top_p: 0.9, rep_pen: 1.05 };
    expect(await drop(page, 'Warm.json', JSON.stringify(preset))).toContain('Warm added to your presets.');
    const lines = [
      { user_name: 'Maren', character_name: 'Edda', chat_metadata: {} },
      { name: 'Edda', is_user: false, mes: 'Welcome.' },
    ];
    const chat = lines.map((line) => JSON.stringify(line)).join('\n');
    expect(await drop(page, 'talk.jsonl', chat)).toBe('1 chat imported. New characters: Edda.');
    await page.getByText('Welcome.').waitFor();

    await button(page, 'Export').click();
    const downloaded = page.waitForEvent('download');
    await button(page, 'Parley file').click();
    const file = await readFile(await (await downloaded).path(), 'utf8');
    const other = await chatPage();
    expect(await drop(other, 'Edda.json', file)).toBe('1 chat imported. New characters: Edda.');
    expect(await drop(other, 'Edda.json', file)).toBe('1 chat imported.');
    await other
      .getByRole('textbox', { name: 'Message', exact: true })
      .and(other.getByPlaceholder('Message Edda'))
      .waitFor();
    expect(faults.get(other)).toEqual([]);
  });

  test('the role-play menu writes as the person and draws the scene; the chat is summarized', async () => {
    const page = await chatPage();
    await importCard(page, 'bo.json', JSON.stringify(bo));
    await say(page, 'Hello.', 2);
    await button(page, 'Role-play').click();
    await page.getByRole('menuitem', { name: 'Impersonate (write my reply)' }).click();
    await expect.poll(() => field(page).inputValue()).not.toBe('');
    await field(page).press('Enter');
    await replies(page).nth(2).waitFor();
    await finished(page);
    await quickPictures(page);
    await button(page, 'Role-play').click();
    await page.getByRole('menuitem', { name: 'Draw the scene' }).click();
    await replies(page).nth(3).locator('img').last().waitFor();
    await menu(page, 'Chat settings');
    await button(page, 'Summarize now').click();
    await page.getByText('Covers the first').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('details summary[title]').first().waitFor();
    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);
  });
});
