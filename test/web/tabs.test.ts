import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { nativeClient } from '../live/client.ts';
import { type LiveServer, liveServers } from '../live/server.ts';
import { anotherWindow, browserPages, faults, quickPictures, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
let started: Promise<LiveServer> | undefined;
const server = (): Promise<LiveServer> => {
  started ??= start([]);
  return started;
};

const field = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const replies = (page: Page) => page.locator('article.assistant');
const messages = (page: Page) => page.locator('article.user');
const finished = (page: Page) => page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' });
const endless = { use_default_badwordsids: 1 };

/** A page with these settings, and another one of the same browser at the same address. */
async function firstPage(settings: object): Promise<Page> {
  const page = await open((await server()).base, { settings });
  await field(page).waitFor();
  return page;
}

async function another(page: Page): Promise<Page> {
  const other = await anotherWindow(page, page.url());
  await field(other).waitFor();
  return other;
}

/** The same numbers for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

async function edit(page: Page, index: number, text: string): Promise<void> {
  const message = messages(page).nth(index);
  await message.hover();
  await message.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Edit text' }).fill(text);
  await button(page, 'Save').click();
}

const textsOf = (page: Page): Promise<string[]> => messages(page).locator('.text').allInnerTexts();

describe.skipIf(withoutBrowser)('two tabs', () => {
  test('edits of one chat in both, in random order, are all kept and shown in both', async () => {
    const one = await firstPage({ replyLength: 4 });
    for (const text of ['First', 'Second', 'Third', 'Fourth']) {
      const before = await replies(one).count();
      await field(one).fill(text);
      await field(one).press('Enter');
      await replies(one).nth(before).waitFor();
      await finished(one);
    }
    const two = await another(one);
    await expect.poll(() => textsOf(two)).toEqual(['First', 'Second', 'Third', 'Fourth']);
    const next = numbers(7);
    const expected = ['First', 'Second', 'Third', 'Fourth'];
    for (let round = 0; round < 3; round += 1) {
      // Each tab edits another message at the same time.
      const at = next(4);
      const other = (at + 1 + next(3)) % 4;
      expected[at] = `one ${round}`;
      expected[other] = `two ${round}`;
      await Promise.all([edit(one, at, `one ${round}`), edit(two, other, `two ${round}`)]);
    }
    for (const page of [one, two]) await expect.poll(() => textsOf(page)).toEqual(expected);
    await one.reload();
    await expect.poll(() => textsOf(one)).toEqual(expected);

    // The last edit of either tab is undone, after the reload too.
    await button(one, 'Undo').click();
    await expect.poll(async () => (await textsOf(two)).join()).not.toBe(expected.join());
    await button(two, 'Redo').click();
    await expect.poll(() => textsOf(one)).toEqual(expected);
    for (const page of [one, two]) expect(faults.get(page) ?? []).toEqual([]);
  });

  test('a running reply is shown in the other tab, goes on there if its tab is closed, and can be stopped there', async () => {
    const one = await firstPage({ replyLength: 4000, sampling: endless });
    await field(one).fill('Tell me a story.');
    await field(one).press('Enter');
    await replies(one).first().waitFor();
    const two = await another(one);
    await expect.poll(() => replies(two).innerText()).toMatch(/\w+ \w+ \w+/);
    await button(two, 'Stop').waitFor();
    const shown = (await replies(two).locator('.text').innerText()).length;
    await expect.poll(async () => (await replies(two).locator('.text').innerText()).length).toBeGreaterThan(shown);
    await one.close();
    const left = (await replies(two).locator('.text').innerText()).length;
    await expect.poll(async () => (await replies(two).locator('.text').innerText()).length).toBeGreaterThan(left);
    const three = await another(two);
    await button(three, 'Stop').click();
    for (const page of [two, three]) {
      await finished(page);
      await page.getByText('Stopped.').waitFor();
    }
    await expect.poll(() => replies(two).count()).toBe(1);
    await expect
      .poll(() => replies(two).locator('.text').innerText())
      .toBe(await replies(three).locator('.text').innerText());
  });

  test('a story in both: edits are kept, and a running reply is shown and stopped in the other tab', async () => {
    const one = await firstPage({ replyLength: 4000, sampling: endless });
    const story = (id: string) => ({
      ...{
        id,
        title: 'Fox',
        mode: 'story',
        changed: 1,
        memory: '',
        world: [],
        worldDepth: 0,
        me: 'You',
        them: 'Parley',
      },
      note: { text: '', template: '<|>', depth: 320 },
      oneLine: true,
      stops: [],
      prefill: '',
      passages: ['a', 'b', 'c'].map((name) => ({
        id: name,
        by: 'person',
        branches: [{ text: `${name} text.\n\n` }],
        shown: 0,
      })),
    });
    await one.evaluate(`new Promise((done) => {
      const request = indexedDB.open('parley');
      request.onsuccess = () => {
        const writing = request.result.transaction('stories', 'readwrite');
        writing.objectStore('stories').put(${JSON.stringify(story('s'))});
        writing.oncomplete = () => { request.result.close(); done(); };
      };
    })`);
    const address = `${(await server()).base}/#/write/s`;
    const two = await anotherWindow(one, 'about:blank');
    await one.goto('about:blank');
    for (const page of [one, two]) {
      await page.goto(address);
      await page.getByText('a text.').waitFor();
    }
    const retype = async (page: Page, from: string, text: string): Promise<void> => {
      await page.getByText(from).click();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.insertText(text);
      await page.keyboard.press('ControlOrMeta+Enter');
    };
    await Promise.all([retype(one, 'a text.', 'A by one.'), retype(two, 'c text.', 'C by two.')]);
    for (const page of [one, two])
      for (const text of ['A by one.', 'b text.', 'C by two.']) await page.getByText(text).waitFor();

    await button(one, 'Continue').click();
    await button(two, 'Stop').waitFor();
    const length = () =>
      two
        .getByRole('article', { name: 'Text' })
        .innerText()
        .then((text) => text.length);
    await expect.poll(length).toBeGreaterThan(60);
    await button(two, 'Stop').click();
    for (const page of [one, two]) await button(page, 'Stop').waitFor({ state: 'detached' });
    const final = (page: Page) => page.getByRole('article', { name: 'Text' }).innerText();
    await expect.poll(async () => (await final(one)) === (await final(two))).toBe(true);
  });

  test('files that are not sent survive another chat and a reload', async () => {
    const page = await firstPage({ replyLength: 4 });
    await page
      .getByLabel('Files to attach')
      .setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Some notes') });
    await page.getByText('notes.txt').waitFor();
    await page.reload();
    await page.getByText('notes.txt').waitFor();
    await button(page, 'Remove notes.txt').click();
    await page.reload();
    await field(page).waitFor();
    await expect.poll(() => page.getByText('notes.txt').count()).toBe(0);
  });

  test('a file that is read while another chat is opened stays with its chat', async () => {
    const page = await firstPage({ replyLength: 4 });
    await field(page).fill('Hello');
    await field(page).press('Enter');
    await expect.poll(() => page.url()).toContain('#/chat/');
    await page.locator('article.assistant.last').waitFor();
    await button(page, 'Stop').waitFor({ state: 'detached' });
    await page.evaluate(`
      const { text } = Blob.prototype;
      const read = new Promise((resolve) => { globalThis.finishReading = resolve; });
      Blob.prototype.text = async function () { await read; return text.call(this); };`);
    const notes = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Some notes') };
    await page.getByLabel('Files to attach').setInputFiles(notes);
    await page.getByText('Reading …').waitFor();
    const chat = page.url();
    await page.goto(`${(await server()).base}/#/chat`);
    // The other chat does not wait for it.
    await page.getByText('Reading …').waitFor({ state: 'detached' });
    await page.evaluate('finishReading()');
    await page.goto(chat);
    await page.getByText('notes.txt').waitFor();
    await page.goBack();
    await page.getByRole('article').waitFor({ state: 'detached' });
    expect(await page.getByText('notes.txt').count()).toBe(0);
    await page.reload();
    await field(page).waitFor();
    expect(await page.getByText('notes.txt').count()).toBe(0);
  });

  test('a drawing arrives in the chat after a reload', async () => {
    const page = await firstPage({ replyLength: 4 });
    // Takes long enough for a reload, and no longer.
    await quickPictures(page, 6);
    await field(page).fill('a red apple');
    await button(page, 'Draw image').click();
    await page.getByRole('dialog').getByRole('button', { name: /^Draw/ }).click();
    await button(page, 'Stop drawing').waitFor();
    // The server has the request: one that a reload takes back while it is sent is drawn by nobody.
    await nativeClient((await server()).base).performanceWhere(({ idle }) => idle === 0);
    await page.reload();
    const picture = page.locator('article.assistant img[alt="a red apple"]');
    await picture.waitFor();
    await expect
      .poll(() => picture.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth))
      .toBe(64);
  });

  test('a tab of an older version keeps the database: the page says so, and goes on when it is closed', async () => {
    const page = await open((await server()).base);
    const old = await anotherWindow(page, 'about:blank');
    await page.goto('about:blank');
    await old.goto(`${(await server()).base}/api/extra/version`);
    await old.evaluate(`new Promise((done) => {
      indexedDB.deleteDatabase('parley').onsuccess = () => {
        const request = indexedDB.open('parley', 1);
        request.onupgradeneeded = () => {
          for (const name of ['chats', 'stories', 'pictures', 'sounds', 'presets'])
            request.result.createObjectStore(name, { keyPath: 'id' });
          request.transaction.objectStore('chats').put({ id: 'old', title: 'An old chat', titled: true, folder: '',
            createdAt: 1, changedAt: 1, turns: {}, chosen: {} });
        };
        request.onsuccess = () => { globalThis.kept = request.result; done(); };
      };
    })`);
    await page.goto((await server()).base);
    await page.getByText(/^Parley was updated\. Close its other tabs/).waitFor();
    await field(page).waitFor();
    await old.close();
    await page.getByRole('link', { name: 'An old chat' }).waitFor();
  });
});
