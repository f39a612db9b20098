import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContextOptions, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LiveServer, liveServers, program } from '../live/server.ts';
import { barriers, browserPages, faults, quickPictures, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
const opening = 'The ship left the harbour at dawn, and nobody waved.';

describe.skipIf(withoutBrowser)('write page', () => {
  let server: LiveServer;
  let folder = '';
  afterAll(() => rm(folder, { recursive: true, force: true }));
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-web-'));
    const given = {
      gamestarted: true,
      title: 'The inn',
      prompt: 'The inn was full.',
      actions: [],
      savedsettings: { opmode: 1 },
    };
    await writeFile(join(folder, 'given.json'), JSON.stringify(given));
    const flags = [
      '--multiplayer',
      '--savedatafile',
      join(folder, 'slots'),
      '--preloadstory',
      join(folder, 'given.json'),
    ];
    // The shared story is kept in the data folder.
    server = await start(flags, { command: ['env', `PARLEY_HOME=${folder}`, process.execPath, program] });
  });

  /** A page of somebody who has these settings. */
  async function writing(settings: object = {}, options: BrowserContextOptions = {}): Promise<Page> {
    const kept = { replyLength: 24, sampling: { sampler_seed: 7 }, ...settings };
    return open(`${server.base}/#/write`, { settings: kept, ...options });
  }
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const message = (page: Page) => page.getByLabel('Message', { exact: true });
  const text = (page: Page) => page.getByRole('article', { name: 'Text' });
  const isLonger = (page: Page, than: number) =>
    expect.poll(async () => (await reading(page)).length, { interval: 50 }).toBeGreaterThan(than);

  async function send(page: Page, typed: string): Promise<void> {
    await message(page).fill(typed);
    await message(page).press('Enter');
    await button(page, 'Send').waitFor();
  }

  async function reading(page: Page): Promise<string> {
    return (await text(page).locator('.block p').allTextContents()).join('\n');
  }

  test('continues a story, keeps versions, edits anywhere, undo and redo', async () => {
    const page = await writing();
    await send(page, opening);
    const first = await reading(page);
    expect(first.startsWith(opening)).toBe(true);
    expect(first.length).toBeGreaterThan(opening.length);

    await button(page, 'Retry').click();
    await page.getByText('2/2', { exact: true }).waitFor();
    await button(page, 'Send').waitFor();
    await button(page, 'Previous version').click();
    await page.getByText('1/2', { exact: true }).waitFor();
    await expect.poll(() => reading(page)).toBe(first);

    await button(page, 'Edit').click();
    await page.getByRole('textbox', { name: 'Passage' }).fill(' Then came the fog.');
    await button(page, 'Save').click();
    await expect.poll(() => reading(page)).toContain('Then came the fog.');
    await button(page, 'Undo').click();
    await expect.poll(() => reading(page)).toBe(first);
    await button(page, 'Redo').click();
    await expect.poll(() => reading(page)).toContain('Then came the fog.');

    await text(page)
      .getByText('nobody waved')
      .click({ position: { x: 5, y: 8 } });
    await page.keyboard.press('Home');
    await page.keyboard.type('Slowly. ');
    await page.keyboard.press('Control+Enter');
    await expect.poll(() => reading(page)).toMatch(/^Slowly\. The ship/);
    await page.keyboard.press('Control+z');
    await expect.poll(() => reading(page)).toMatch(/^The ship/);

    const before = (await reading(page)).length;
    await button(page, 'Continue').click();
    await button(page, 'Send').waitFor();
    await expect.poll(async () => (await reading(page)).length).toBeGreaterThan(before);

    await page.reload();
    await text(page).waitFor();
    await expect.poll(() => reading(page)).toContain('Then came the fog.');
    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);
  });

  test('a long pasted text stays with its story, also over a reload', async () => {
    const page = await writing({ replyLength: 4 });
    await send(page, opening);
    const story = page.url();
    const pasted = button(page, 'Remove Pasted text (17 KB)');
    await message(page).focus();
    await page.evaluate(`
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', 'The tide turned. '.repeat(1000));
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));`);
    await pasted.waitFor();
    await page.goto(`${server.base}/#/write`);
    await page.getByRole('heading', { name: 'Start writing' }).waitFor();
    expect(await pasted.count()).toBe(0);
    await page.goto(story);
    await pasted.waitFor();
    await page.reload();
    await pasted.waitFor();
    await send(page, '');
    expect(await pasted.count()).toBe(0);
    await expect.poll(() => reading(page)).toContain('The tide turned.');
    await page.reload();
    await text(page).waitFor();
    expect(await pasted.count()).toBe(0);
    expect(faults.get(page)).toEqual([]);
  });

  test('stops a reply, and resumes one after a reload', async () => {
    const page = await writing({ replyLength: 350 });
    await message(page).fill(opening);
    await button(page, 'Send').click();
    await isLonger(page, opening.length + 10);
    await page.keyboard.press('Escape');
    await button(page, 'Send').waitFor();
    const stopped = await reading(page);

    await message(page).fill('Half a thought');
    await page.reload();
    await text(page).waitFor();
    await expect.poll(() => reading(page)).toBe(stopped);
    await expect.poll(() => message(page).inputValue()).toBe('Half a thought');

    await message(page).fill('');
    await button(page, 'Continue').click();
    await isLonger(page, stopped.length + 10);
    const left = (await reading(page)).length;
    await page.reload();
    await isLonger(page, left + 1);
    await button(page, 'Stop').waitFor();
    await button(page, 'Stop').click();
    await button(page, 'Send').waitFor();
    await expect.poll(async () => (await reading(page)).startsWith(stopped)).toBe(true);

    await text(page)
      .getByText('nobody waved')
      .click({ position: { x: 5, y: 8 } });
    await page.keyboard.press('Home');
    await page.keyboard.type('Never saved. ');
    await page.reload();
    await text(page).getByText('Never saved. The ship').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('sends memory, note and world info, streamed and polled', async () => {
    const page = await writing({ delivery: 'polling' });
    const asked: Request[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().includes('generate')) asked.push(request);
    });
    await page.getByText('Dialogue', { exact: true }).click();
    await send(page, 'Do you know the fox?');
    await page.getByLabel('Memory', { exact: true }).fill('Parley is a gardener.');
    await page.getByLabel("Author's note", { exact: true }).fill('gentle');
    await page.getByRole('group', { name: 'World info' }).getByRole('button', { name: 'Add entry' }).click();
    await page.getByLabel('Keys, separated by commas').fill('Fox, vixen');
    await page.getByLabel('Content').fill('The fox is called Rill.');
    await page.getByText('in use').waitFor();
    await send(page, 'And now?');

    const sent = asked
      .filter((request) => request.url().endsWith('api/extra/generate/stream'))
      .map((one) => one.postDataJSON());
    expect(sent).toHaveLength(2);
    expect(sent[1]).toMatchObject({
      memory: 'Parley is a gardener.\nThe fox is called Rill.\n',
      max_length: 24,
      sampler_seed: 7,
    });
    expect(sent[1].prompt).toMatch(
      /^\[Author's note: gentle\]\nYou: Do you know the fox\?\nParley: .*\nYou: And now\?\nParley:$/,
    );
    expect(sent[1].stop_sequence).toContain('\nYou:');
    expect(sent[0].genkey).not.toBe(sent[1].genkey);
    expect(faults.get(page)).toEqual([]);
  });

  test('shows token alternatives and continues with another one; chats are not affected', async () => {
    const page = await writing();
    await send(page, opening);
    await button(page, 'Token probabilities').click();
    expect(await page.evaluate(`localStorage.getItem('parley.settings')`)).not.toContain('"showProbabilities":true');
    await send(page, ' Then');
    const tokens = page.getByRole('region', { name: 'Token probabilities' });
    await tokens.getByRole('button').nth(3).click();
    await tokens.getByRole('listitem').getByRole('button', { disabled: false }).first().click();
    await page.getByText('2/2', { exact: true }).waitFor();
    await button(page, 'Send').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('draws the scene after the last passage, and reads it aloud', async () => {
    const page = await writing();
    await quickPictures(page);
    await page.getByRole('button', { name: 'The lamp that went out' }).click();
    await page.getByRole('button', { name: 'Draw the scene' }).click();
    const picture = page.getByRole('article', { name: 'Text' }).locator('figure img');
    await picture.waitFor();
    await page.reload();
    await picture.waitFor();
    await expect.poll(() => picture.getAttribute('alt')).toMatch(/\w+/);
    const spoken = page.waitForResponse('**/v1/audio/speech');
    await page.getByRole('button', { name: 'Read aloud' }).click();
    expect((await spoken).status()).toBe(200);
    await page.getByRole('button', { name: 'Delete image' }).click();
    await picture.waitFor({ state: 'detached' });
    expect(faults.get(page)).toEqual([]);
  });

  test('imports and exports files, and reports damaged ones', async () => {
    const page = await writing();
    const files = page.getByLabel('Files to import');
    const bring = (name: string, content: string | Uint8Array) =>
      files.setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
    const take = async (format: string): Promise<string> => {
      await button(page, 'Export story').click();
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: format }).click(),
      ]);
      return readFile(await file.path(), 'utf8');
    };

    const save = {
      gamestarted: true,
      prompt: 'A fox.',
      actions: [' It ran.'],
      memory: 'Fable.',
      savedsettings: { opmode: 1 },
    };
    await bring('fox.json', JSON.stringify(save));
    await page.getByRole('heading', { name: 'fox' }).waitFor();
    await expect.poll(() => reading(page)).toBe('A fox. It ran.');
    expect(JSON.parse(await take('KoboldAI Lite file'))).toMatchObject(save);
    expect(await take('Plain text')).toBe('A fox. It ran.');
    const own = await take('Parley file, all branches');
    await bring('again.json', own);
    await expect.poll(() => page.getByRole('listitem').count()).toBe(2);
    await expect.poll(() => reading(page)).toBe('A fox. It ran.');

    const dropped = await page.evaluateHandle(`(() => {
      const carried = new DataTransfer();
      carried.items.add(new File(['It snowed.\\n\\nAnd snowed.'], 'snow.txt'));
      return carried;
    })()`);
    await page.getByRole('main').locator('.view').dispatchEvent('drop', { dataTransfer: dropped });
    await page.getByRole('heading', { name: 'snow' }).waitFor();
    await expect.poll(() => reading(page)).toBe('It snowed.\nAnd snowed.');

    await button(page, 'New').click();
    await page.getByRole('button', { name: /^The inn/ }).click();
    await text(page).getByText('The inn was full.').waitFor();

    await bring('half.json', '{"gamestarted": tr');
    await page.getByText("Can't open half.json: the JSON is not valid").waitFor();
    await expect.poll(() => page.getByRole('listitem').count()).toBe(4);
    expect(faults.get(page)).toEqual([]);
  });

  test('saves stories on the server for other browsers', async () => {
    const page = await writing();
    await page.getByRole('button', { name: /^Tea with the clockmaker/ }).click();
    await button(page, 'Stories on the server').click();
    await button(page, 'Save “Tea with the clockmaker”').click();
    await page.getByText('saved on the server').waitFor();

    const other = await writing();
    await button(other, 'Stories on the server').click();
    await button(other, 'Open').click();
    await other.getByRole('heading', { name: 'Tea with the clockmaker' }).waitFor();
    await expect.poll(() => reading(other)).toBe(await reading(page));
    await button(other, 'Stories on the server').click();
    await button(other, 'Delete slot 1').click();
    await other.getByText('deleted from the server').waitFor();
    expect(faults.get(page)).toEqual([]);
    expect(faults.get(other)).toEqual([]);
  });

  test('shares a story between two people', async () => {
    const join = async (page: Page, name: string): Promise<void> => {
      await button(page, 'Write together').click();
      await page.getByLabel('Your name', { exact: true }).last().fill(name);
      await button(page, 'Join the shared story').click();
      await button(page, 'Join the shared story').waitFor({ state: 'detached' });
    };
    const [ann, bea] = [await writing(), await writing()];
    await ann.getByRole('button', { name: /^Tea with the clockmaker/ }).click();
    await join(ann, 'Ann');
    await join(bea, 'Bea');
    await text(bea).getByText('Mind the step').waitFor();
    await send(bea, 'Which one runs backwards?');
    await text(ann).getByText('Which one runs backwards?').waitFor();
    await text(ann).getByText('Bea', { exact: true }).waitFor();
    // The reply may still be coming.
    await expect.poll(async () => (await reading(ann)) === (await reading(bea))).toBe(true);
    expect([...(faults.get(ann) ?? []), ...(faults.get(bea) ?? [])]).toEqual([]);
  });

  test('phone: all functions are reachable', async () => {
    const page = await writing({}, { viewport: { width: 390, height: 844 }, hasTouch: true });
    await page.getByRole('button', { name: /^Below the city/ }).click();
    // Enter makes a new line on touch screens.
    await message(page).fill('follow the');
    await message(page).press('Enter');
    await expect.poll(() => message(page).inputValue()).toBe('follow the\n');
    await message(page).fill('follow the arrow');
    await button(page, 'Send').click();
    await button(page, 'Send').waitFor();
    await expect.poll(() => reading(page)).toContain('You follow the arrow.');
    expect(await barriers(page)).toEqual([]);
    await button(page, 'Notes').click();
    await page.getByLabel('Memory', { exact: true }).waitFor();
    expect(await barriers(page)).toEqual([]);
    await button(page, 'Close').click();
    await button(page, 'Chats and stories').click();
    await button(page, 'Actions for Below the city').click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).click();
    await button(page, 'Chats and stories').click();
    await page.getByRole('link', { name: /^Below the city/ }).waitFor();
    await expect.poll(() => page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    expect(faults.get(page)).toEqual([]);
  });
});
