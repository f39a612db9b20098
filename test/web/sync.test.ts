import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { freePort } from '../live/free-port.ts';
import { liveServers } from '../live/server.ts';
import { browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
const folder = mkdtempSync(join(tmpdir(), 'parley-sync-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const texts = (page: Page): Promise<string[]> => page.locator('article.user .text').allInnerTexts();
/** Begins a round, as looking at the window does. */
const look = (page: Page) => page.evaluate(`dispatchEvent(new Event('focus'))`);

async function arrives<Value>(page: Page, find: () => Promise<Value>, expected: Value): Promise<void> {
  await expect
    .poll(
      async () => {
        await look(page);
        return find();
      },
      { timeout: 30_000 },
    )
    .toEqual(expected);
}

/** A chat of questions and answers. */
function chat(id: string, questions: readonly string[]): object {
  const turns: Record<string, object> = {};
  const chosen: Record<string, string> = {};
  let parent: string | null = null;
  for (const [index, text] of questions.flatMap((question) => [question, `Answer to ${question}`]).entries()) {
    const turn: string = `t${index}`;
    turns[turn] = { id: turn, parent, role: index % 2 === 0 ? 'user' : 'assistant', text, at: index };
    chosen[parent ?? 'root'] = turn;
    parent = turn;
  }
  return { id, title: id, titled: true, folder: '', createdAt: 1, changedAt: 1, turns, chosen };
}

/** Stores records before the page is used; the chat `a` gets a picture. */
async function store(page: Page, records: Readonly<Record<string, readonly object[]>>): Promise<void> {
  await page.evaluate(`new Promise((done) => {
    const records = ${JSON.stringify(records)};
    const request = indexedDB.open('parley');
    request.onsuccess = () => {
      const writing = request.result.transaction(Object.keys(records), 'readwrite');
      const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
      const bytes = Uint8Array.from(atob(pixel), (sign) => sign.charCodeAt(0));
      const blob = new Blob([bytes], { type: 'image/png' });
      for (const [name, list] of Object.entries(records))
        for (const record of list) {
          if (record.id === 'a') record.turns.t0.attachments = [{ id: 'p', kind: 'image', name: 'pixel.png', blob }];
          writing.objectStore(name).put(record);
        }
      writing.oncomplete = () => { request.result.close(); done(); };
    };
  })`);
}

async function dataTab(page: Page): Promise<void> {
  await button(page, 'Settings').click();
  await page.getByRole('tab', { name: 'Data', exact: true }).click();
}

const keepOnServer = (page: Page) =>
  page.getByRole('switch', { name: 'Keep chats, stories and characters on this server' });

/** Switched on by hand, on the page of a chat. */
async function device(base: string, options: BrowserContextOptions, records: Record<string, object[]>): Promise<Page> {
  const page = await open(base, { settings: { replyLength: 8 }, ...options });
  await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
  await store(page, records);
  await page.reload();
  await dataTab(page);
  await keepOnServer(page).click();
  await page.getByText(/^Synchronised at/).waitFor();
  await button(page, 'Close').click();
  return page;
}

async function edit(page: Page, index: number, text: string): Promise<void> {
  const message = page.locator('article.user').nth(index);
  await message.hover();
  await message.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByRole('textbox', { name: 'Edit text' }).fill(text);
  await button(page, 'Save').click();
}

/** The titles and names of the stored records of a kind. */
const stored = (page: Page, kind: string): Promise<string[]> =>
  page.evaluate(`new Promise((done) => {
    const request = indexedDB.open('parley');
    request.onsuccess = () => {
      const reading = request.result.transaction('${kind}').objectStore('${kind}').getAll();
      reading.onsuccess = () => {
        request.result.close();
        done(reading.result.map(({ title, name }) => title ?? name).sort());
      };
    };
  })`);

/** What the page asks of the server to synchronise, by the last part of the path. */
function countRequests(page: Page): Record<string, number> {
  const counts: Record<string, number> = {};
  page.on('request', (request) => {
    const [, what] = /\/api\/extra\/sync\/(\w+)/.exec(request.url()) ?? [];
    if (what) counts[what] = (counts[what] ?? 0) + 1;
  });
  return counts;
}

describe.skipIf(withoutBrowser)('records on the server', () => {
  test('two devices show the same chats, stories and characters, and ask little when nothing is new', async () => {
    const file = join(folder, 'saves');
    const server = await start(['--savedatafile', file], { port: await freePort() });
    const story = { id: 's', title: 'Lighthouse', changed: 1, passages: [] };
    const desk = await device(
      server.base,
      {},
      {
        chats: [chat('a', ['One', 'Two', 'Three']), chat('b', ['Other']), chat('long', questions(1000))],
        stories: [story],
      },
    );
    const ada = {
      id: 'ada',
      changedAt: 1,
      name: 'Ada',
      description: 'A cook',
      personality: '',
      scenario: '',
      greetings: [],
      examples: '',
      system: '',
      afterMessages: '',
      world: [],
      creatorNotes: '',
      tags: [],
    };
    const pocket = await device(server.base, phone, { characters: [ada] });
    await arrives(pocket, () => stored(pocket, 'chats'), ['a', 'b', 'long']);
    await arrives(pocket, () => stored(pocket, 'stories'), ['Lighthouse']);
    await arrives(desk, () => stored(desk, 'characters'), ['Ada']);

    for (const page of [desk, pocket]) {
      await page.goto(`${server.base}/#/chat/a`);
      await expect.poll(() => texts(page)).toEqual(['One', 'Two', 'Three']);
      await page.locator('article.user img[alt="pixel.png"]').waitFor();
    }
    expect(
      await pocket.evaluate(`(async () => {
        const picture = document.querySelector('img[alt="pixel.png"]');
        await picture.decode();
        return picture.naturalWidth;
      })()`),
    ).toBe(1);

    // Both at the same time.
    await Promise.all([edit(desk, 0, 'One of the desk'), edit(pocket, 2, 'Three of the phone')]);
    await Promise.all([look(desk), look(pocket)]);
    for (const page of [desk, pocket])
      await arrives(page, () => texts(page), ['One of the desk', 'Two', 'Three of the phone']);

    // A reply is sent when it is complete.
    await pocket.getByRole('textbox', { name: 'Message', exact: true }).fill('Four');
    await button(pocket, 'Send').click();
    await pocket.locator('article.assistant').nth(3).waitFor();
    await arrives(desk, () => desk.locator('article').count(), 8);
    expect(await desk.locator('article[aria-busy="true"]').count()).toBe(0);
    await pocket.locator('article[aria-busy="true"]').waitFor({ state: 'detached' });
    const reply = (page: Page) => page.locator('article.assistant .text').last().innerText();
    await expect.poll(async () => (await reply(desk)) === (await reply(pocket))).toBe(true);

    await desk.goto(`${server.base}/#/chat/b`);
    await button(desk, 'Chat menu').click();
    await desk.getByRole('menuitem', { name: 'Delete', exact: false }).click();
    await arrives(desk, () => stored(desk, 'chats'), ['a', 'long']);
    await arrives(pocket, () => stored(pocket, 'chats'), ['a', 'long']);

    const counts = [countRequests(desk), countRequests(pocket)];
    for (let round = 1; round <= 3; round += 1)
      for (const [index, page] of [desk, pocket].entries()) {
        const before = counts[index]?.list ?? 0;
        await arrives(page, async () => (counts[index]?.list ?? 0) > before, true);
      }
    for (const count of counts) expect(Object.keys(count)).toEqual(['list']);

    // Another server at the same address, without the flag: the page says what is missing.
    const { port } = server;
    await server.stop();
    await dataTab(desk);
    await look(desk);
    await desk.getByText(/^Not synchronised: .* Changes are kept here and sent later\.$/).waitFor();
    const without = await start(['--nomodel'], { port });
    const shows = (text: string | RegExp) => arrives(desk, () => desk.getByText(text).count(), 1);
    await shows('The server must be started with --savedatafile FILE for this.');
    await without.stop();
    await start(['--nomodel', '--savedatafile', file], { port });
    await shows(/^Synchronised at/);

    await keepOnServer(desk).click();
    await button(desk, 'Close').click();
    await desk.goto(`${server.base}/#/chat/a`);
    await edit(desk, 1, 'Two, here only');
    const quiet = countRequests(desk);
    await look(desk);
    await expect.poll(() => texts(desk)).toContain('Two, here only');
    await arrives(pocket, () => stored(pocket, 'chats'), ['a', 'long']);
    expect(quiet).toEqual({});
    expect(await texts(pocket)).toContain('Two');

    // Switched on again: what was changed meanwhile is sent.
    await dataTab(desk);
    await expect.poll(() => keepOnServer(desk).isChecked()).toBe(false);
    await keepOnServer(desk).click();
    await arrives(pocket, async () => (await texts(pocket)).includes('Two, here only'), true);
    for (const page of [desk, pocket])
      expect((faults.get(page) ?? []).filter((fault) => !/ERR_CONNECTION|Failed to load resource/.test(fault))).toEqual(
        [],
      );
  });

  test('what the server refuses stays in the browser and is not sent again; that nobody is signed in is told', async () => {
    const server = await start(['--nomodel', '--savedatafile', join(folder, 'others'), '--password', 'secret']);
    // As an earlier version has kept the password: the page signs in with it.
    const storageState = {
      cookies: [],
      origins: [{ origin: server.base, localStorage: [{ name: 'parley.key', value: 'secret' }] }],
    };
    const page = await open(server.base, { storageState });
    await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
    await store(page, { chats: [chat('Odd_Id', ['One']), chat('fine', ['One'])], stories: [], characters: [] });
    await page.evaluate(`new Promise((done) => {
      const request = indexedDB.open('parley');
      request.onsuccess = () => {
        const writing = request.result.transaction('personas', 'readwrite');
        writing.objectStore('personas').put({ id: 'big', changedAt: 1, name: 'Big', description: 'x'.repeat(33e6) });
        writing.oncomplete = () => { request.result.close(); done(); };
      };
    })`);
    await page.reload();
    const counts = countRequests(page);
    await dataTab(page);
    await keepOnServer(page).click();
    await page.getByText(/^Synchronised at .* Odd_Id stays in this browser: /).waitFor();
    expect(counts.save).toBe(2);
    const before = counts.list ?? 0;
    await arrives(page, async () => (counts.list ?? 0) > before, true);
    await page.getByText(/^Synchronised at .* Odd_Id stays in this browser: /).waitFor();
    expect(counts.save).toBe(2);

    expect(await page.evaluate(`localStorage.getItem('parley.key')`)).toBeNull();
    await page.context().clearCookies();
    await page.reload();
    await dataTab(page);
    await page.getByText(/^Not synchronised: Sign in to this server first/).waitFor();
  });
});

function questions(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `Question ${index} ${'word '.repeat(80)}`);
}
