import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import { untrainedServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';
import { ScriptedDocuments, withDocuments } from './scripted-documents.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-knowledge-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = untrainedServers();
const open = browserPages();
let base: Promise<string> | undefined;

/** A page whose server has these collections. */
async function opened(path: string, documents: ScriptedDocuments, size = { width: 1280, height: 800 }): Promise<Page> {
  base ??= start(['--ctx-size', '4096', '--websearch']).then((server) => server.base);
  const page = await open('about:blank', { viewport: size });
  await documents.serve(page, await base);
  await page.goto(`${await base}/${path}`);
  return page;
}

const button = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' });
const field = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
const sources = (page: Page) => page.locator('article').last().getByRole('region', { name: 'Sources' });
const fits = (page: Page) => page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth');
const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });

/** What the model writes from now on. */
async function writes(page: Page, text: string): Promise<Record<string, unknown>[]> {
  const asked: Record<string, unknown>[] = [];
  const chunk = (choice: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
  await page.route('**/v1/chat/completions', (route) => {
    asked.push(route.request().postDataJSON() as Record<string, unknown>);
    const body = `${chunk({ delta: { content: text } })}${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`;
    return route.fulfill({ contentType: 'text/event-stream', body });
  });
  return asked;
}

async function say(page: Page, text: string): Promise<void> {
  const before = await page.locator('article.assistant').count();
  await field(page).fill(text);
  await field(page).press('Enter');
  await page.locator('article.assistant').nth(before).waitFor();
  await page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' });
}

const tea = 'Tea is served at four in the lamp room.';
const lamp = 'The lamp is lit at dusk, in the lamp room.';

describe.skipIf(withoutBrowser)('knowledge', () => {
  test('with the collections of a server: a file is added, found, opened at its passage, and asked about', async () => {
    const { base: own } = await start(['--ctx-size', '4096', '--documentsdir', folder]);
    const page = await open(`${own}/#/knowledge`, { settings: { replyLength: 8 } });
    await page.getByLabel('Files to add').setInputFiles([file('tea.md', `# Tea\n\n${tea}\n\n# Lamp\n\n${lamp}\n`)]);
    await page.getByText(/^1 file, \d+ passages?/).waitFor();
    await page.getByRole('searchbox', { name: 'Search this collection' }).fill('When is tea served?');
    await page.keyboard.press('Enter');
    const results = page.getByRole('region', { name: 'Passages found' });
    await results
      .getByRole('link', { name: /Open tea.md/ })
      .first()
      .click();
    await expect.poll(() => page.locator('mark').first().innerText()).toContain('Tea');
    await page.goBack();
    await button(page, 'Ask in a chat').click();
    await button(page, 'Remove Documents').waitFor();
    await say(page, 'When is tea served?');
    await sources(page)
      .getByRole('button', { name: /tea.md/ })
      .first()
      .click();
    await page.getByRole('dialog').locator('mark').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('an empty server says how to begin, and files that are chosen become a collection', async () => {
    const documents = new ScriptedDocuments();
    const page = await opened('#/knowledge', documents);
    await page.getByText('Drop files here to begin.').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByLabel('Files to add').setInputFiles([file('tea.txt', tea), file('lamp.txt', lamp)]);
    await page.getByRole('heading', { name: 'Documents' }).waitFor();
    await page.getByText('lamp.txt').waitFor();
    await page.getByText('2 files, 2 passages').waitFor();
    expect(documents.collections[0]?.files.map(({ name }) => name)).toEqual(['lamp.txt', 'tea.txt']);
    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);
  });

  test('a collection is created, renamed and deleted; names are not given twice', async () => {
    const documents = new ScriptedDocuments();
    documents.add('Manual');
    const page = await opened('#/knowledge', documents);
    await button(page, 'New collection').click();
    await page.getByLabel('Name', { exact: true }).fill('manual');
    await button(page, 'Create').click();
    await page.getByText('There is a collection with the name manual.').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Log book');
    await page.getByLabel('Description').fill('What happened.');
    await button(page, 'Create').click();
    await page.getByRole('heading', { name: 'Log book' }).waitFor();
    await button(page, 'Collection menu').click();
    await page.getByRole('menuitem', { name: 'Name and description' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Diary');
    await button(page, 'Save').click();
    await page.getByRole('heading', { name: 'Diary' }).waitFor();
    await button(page, 'Collection menu').click();
    await page.getByRole('menuitem', { name: 'Delete collection' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('“Diary” deleted.').waitFor();
    await page.getByRole('link', { name: /Manual/ }).waitFor();
    expect(documents.collections.map(({ name }) => name)).toEqual(['Manual']);
    expect(faults.get(page)).toEqual([]);
  });

  test('files have their state, progress and error; pages and folders are added, and all can be removed', async () => {
    const documents = new ScriptedDocuments();
    const manual = documents.add('Manual', { 'tea.txt': tea }, { is_outdated: true, embedding: 'old-model' });
    documents.addFile(manual, 'scan.pdf', '', {
      status: 'failed',
      error: { code: 'unsupported_file', message: 'This PDF has no text.' },
    });
    documents.addFile(manual, 'log.epub', '', { status: 'in_progress', progress: 0.4 });
    const page = await opened(`#/knowledge/${manual.id}`, documents, { width: 360, height: 640 });
    await page.getByText('This PDF has no text.').waitFor();
    await page.getByText('Indexing, 40 %').waitFor();
    await page.getByText('Indexing 2 of 3').first().waitFor();
    expect(await fits(page)).toBe(true);
    expect(await barriers(page)).toEqual([]);
    await page.getByText('old-model').waitFor();
    await button(page, 'Index again').click();
    await page.getByText('All files are indexed again.').waitFor();
    await page.getByText('old-model').waitFor({ state: 'detached' });
    await button(page, 'Remove scan.pdf').click();
    await page.getByText('This PDF has no text.').waitFor({ state: 'detached' });
    await button(page, 'Add web page').click();
    await page.getByLabel('Address').fill('nothing');
    await page.getByLabel('Address').press('Enter');
    await page.getByText('Enter an address').waitFor();
    await page.getByLabel('Address').fill('a.example/tides');
    await page.getByLabel('Address').press('Enter');
    await page.getByText('https://a.example/tides').waitFor();
    await button(page, 'Watch a folder').click();
    await button(page, 'Watch').click();
    await page.getByText('Enter the path of a folder.').waitFor();
    await page.getByLabel('Folder on the machine').fill('/srv/docs');
    await page.getByText('Only some of its files').click();
    await page.getByLabel('Only these').fill('*.pdf, notes/**');
    await button(page, 'Watch').click();
    await page.getByText('/srv/docs').waitFor();
    expect(manual.folders[0]).toMatchObject({ path: '/srv/docs', include: ['*.pdf', 'notes/**'] });
    await button(page, 'Stop watching /srv/docs').click();
    await page.getByText('/srv/docs', { exact: true }).waitFor({ state: 'detached' });
    expect(faults.get(page)).toEqual([]);
  });

  test('who may not add folders is not offered it', async () => {
    const documents = new ScriptedDocuments();
    documents.canAddFolders = false;
    const { id } = documents.add('Manual');
    const page = await opened(`#/knowledge/${id}`, documents);
    await button(page, 'Add web page').waitFor();
    expect(await button(page, 'Watch a folder').count()).toBe(0);
  });

  test('dropped and pasted files, and pasted text, become documents', async () => {
    const documents = new ScriptedDocuments();
    const manual = documents.add('Manual');
    const page = await opened(`#/knowledge/${manual.id}`, documents);
    await page.getByText('No files yet.').waitFor();
    const put = (type: string, files: readonly string[], text = '') =>
      page.evaluate(
        `{ const data = new DataTransfer();
        for (const name of ${JSON.stringify(files)}) data.items.add(new File(['Tea'], name));
        if (${JSON.stringify(text)}) data.setData('text/plain', ${JSON.stringify(text)});
        const event = ${JSON.stringify(type)} === 'paste'
          ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
          : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
        document.querySelector(event.type === 'drop' ? 'main > div' : 'h1').dispatchEvent(event); }`,
      );
    await put('drop', ['dropped.txt']);
    await page.getByText('dropped.txt', { exact: true }).waitFor();
    await put('paste', ['pasted.txt']);
    await page.getByText('pasted.txt', { exact: true }).waitFor();
    await put('paste', [], 'Tides of May\nHigh at noon.');
    await page.getByText('Tides of May.txt', { exact: true }).waitFor();
    expect(manual.files[0]?.text).toBe('Tides of May\nHigh at noon.');
  });

  test('a search shows passages with how they were found, and opens them in their document', async () => {
    const documents = new ScriptedDocuments();
    const manual = documents.add('Manual', { 'manual.pdf': `Before all.\n${tea}\nAfter all.`, 'lamp.txt': lamp });
    const page = await opened(`#/knowledge/${manual.id}`, documents);
    await page.getByRole('searchbox', { name: 'Search this collection' }).fill('When is tea served?');
    await page.keyboard.press('Enter');
    const results = page.getByRole('region', { name: 'Passages found' });
    await results.getByText('1st by meaning').first().waitFor();
    expect(documents.searches.at(-1)).toMatchObject({ query: 'When is tea served?', collections: [manual.id] });
    expect(await barriers(page)).toEqual([]);
    await results.getByRole('link', { name: /Open manual.pdf/ }).click();
    await expect.poll(() => page.locator('mark').innerText()).toBe(tea);
    await page.getByText('Page 3', { exact: true }).waitFor();
    const text = page.getByRole('region', { name: 'Text of the document' });
    await expect.poll(() => text.innerText()).toMatch(/Before all\.[\s\S]*After all\./);
    expect(await barriers(page)).toEqual([]);
    const [saved] = await Promise.all([page.waitForEvent('download'), button(page, 'Save the file').click()]);
    expect(saved.suggestedFilename()).toBe('manual.pdf');
    const [popup] = await Promise.all([page.waitForEvent('popup'), button(page, 'Open the file at page 3').click()]);
    await popup.close();
    await page.getByRole('link', { name: 'Manual' }).click();
    await page.getByRole('heading', { name: 'Manual' }).waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('/documents/ID opens the passage; one that is gone is said to be', async () => {
    const documents = new ScriptedDocuments();
    const { id } = documents.add('Manual', { 'tea.txt': tea });
    const page = await opened(`documents/${id}.1`, documents);
    await expect.poll(() => page.locator('mark').innerText()).toBe(tea);
    await page.goto(`${await base}/documents/${id}.9`);
    await page.getByText('This passage does not exist any more.').waitFor();
  });

  test('#name takes a collection along for a message: chosen with the keyboard, removed, kept over a reload', async () => {
    const documents = new ScriptedDocuments();
    const { id } = documents.add('Manual', { 'tea.txt': tea });
    documents.add('Music');
    const page = await opened('#/chat', documents, { width: 360, height: 640 });
    const asked = await writes(page, 'At four [1], not [7].');
    await field(page).pressSequentially('When is tea served? #m');
    await page.getByRole('option', { name: /Music/ }).waitFor();
    expect(await field(page).getAttribute('aria-activedescendant')).not.toBeNull();
    expect(await barriers(page)).toEqual([]);
    await field(page).press('ArrowDown');
    await field(page).press('Enter');
    await button(page, 'Remove Music').click();
    await field(page).pressSequentially('#man');
    await page.getByRole('option', { name: /Manual/ }).waitFor();
    await field(page).press('Escape');
    await page.getByRole('option').waitFor({ state: 'detached' });
    await field(page).pressSequentially(' #Ma');
    await page.getByRole('option', { name: /Manual/ }).click();
    await button(page, 'Remove Manual').waitFor();
    await page.reload();
    await button(page, 'Remove Manual').waitFor();
    expect(await fits(page)).toBe(true);
    await say(page, 'When is tea served?');
    expect(documents.searches).toMatchObject([{ query: 'When is tea served?', collections: [id] }]);
    expect(JSON.stringify(asked[0]?.messages)).toContain(`[1] tea.txt, Introduction\\n\`\`\`\\n${tea}`);
    expect(await button(page, 'Remove Manual').count()).toBe(0);
    await say(page, 'And now?');
    expect(documents.searches).toHaveLength(1);
    // In a chat that has begun, too.
    await field(page).pressSequentially('#Ma');
    await page.getByRole('option', { name: /Manual/ }).click();
    await say(page, 'When is tea served today?');
    expect(documents.searches).toHaveLength(2);
    expect(await button(page, 'Remove Manual').count()).toBe(0);
    await say(page, 'And tomorrow?');
    expect(documents.searches).toHaveLength(2);
    await page.goto(`${await base}/#/chat`);
    await say(page, 'And elsewhere?');
    expect(documents.searches).toHaveLength(2);
    expect(faults.get(page)).toEqual([]);
  });

  test('a quick reply with {{input}} takes along what the send button does: files, collections, the start of the reply', async () => {
    const documents = new ScriptedDocuments();
    const { id } = documents.add('Manual', { 'tea.txt': tea });
    const page = await opened('#/settings/scripts', documents);
    const briefly = { label: 'Briefly', text: '{{input}} In short.', send: true, button: true };
    const list = JSON.stringify({ format: 'parley.quick-replies', version: 1, replies: [briefly] });
    await page.getByLabel('Quick replies to import').setInputFiles([file('briefly.json', list)]);
    await button(page, 'Edit Briefly').waitFor();
    await page.keyboard.press('Escape');
    const asked = await writes(page, ' at four.');
    await page.getByLabel('Files to attach', { exact: true }).setInputFiles([file('lamp.txt', lamp)]);
    await button(page, 'Remove lamp.txt').waitFor();
    await button(page, 'Prefill the reply').click();
    await page.getByLabel('Start of the reply').fill('Well,');
    await field(page).pressSequentially('#man');
    await page.getByRole('option').waitFor();
    await field(page).press('Tab');
    await field(page).fill('When is tea served?');
    await button(page, 'Briefly').click();
    await page.locator('article.assistant').getByText('Well, at four.').waitFor();
    expect(documents.searches).toMatchObject([{ query: 'When is tea served? In short.', collections: [id] }]);
    expect(JSON.stringify(asked[0]?.messages)).toContain(lamp);
    expect(await field(page).inputValue()).toBe('');
    expect(await button(page, /^Remove (lamp.txt|Manual)$/).count()).toBe(0);
    // The next one is a message of its own.
    await field(page).fill('And now?');
    await button(page, 'Briefly').click();
    await page.locator('article.assistant').nth(1).getByText('at four.').waitFor();
    expect(await page.locator('article.user').last().innerText()).toContain('And now? In short.');
    expect(documents.searches).toHaveLength(1);
    expect(faults.get(page)).toEqual([]);
  });

  test('/search takes along what the send button does', async () => {
    const documents = new ScriptedDocuments();
    const { id } = documents.add('Manual', { 'tea.txt': tea });
    const page = await opened('#/chat', documents);
    const web: unknown[] = [];
    await page.route('**/api/extra/websearch', (route) => {
      web.push(route.request().postDataJSON());
      return route.fulfill({ json: [] });
    });
    await writes(page, ' at four.');
    await button(page, 'Prefill the reply').click();
    await page.getByLabel('Start of the reply').fill('Well,');
    await field(page).pressSequentially('#man');
    await page.getByRole('option').click();
    await say(page, '/search When is tea served?');
    await page.locator('article.assistant').getByText('Well, at four.').waitFor();
    expect(web).toHaveLength(1);
    expect(documents.searches).toMatchObject([{ query: 'When is tea served?', collections: [id] }]);
    expect(await button(page, 'Remove Manual').count()).toBe(0);
    await say(page, 'And now?');
    expect([web.length, documents.searches.length]).toEqual([1, 1]);
    expect(faults.get(page)).toEqual([]);
  });

  test('a name that is typed in full takes its collection along, too', async () => {
    const documents = new ScriptedDocuments();
    const { id } = documents.add('Lighthouse manual', { 'tea.txt': tea });
    const page = await opened('#/chat', documents);
    await writes(page, 'At four.');
    await field(page).pressSequentially('Look in #Lighthouse manual: when is tea served?');
    await field(page).press('Enter');
    await sources(page).waitFor();
    expect(documents.searches[0]?.collections).toEqual([id]);
  });

  test('answers have marks that open the passage; other numbers stay text; the list says how each was found', async () => {
    const documents = new ScriptedDocuments();
    const { id } = documents.add('Manual', { 'tea.pdf': `First.\n${tea}`, 'lamp.txt': lamp });
    const page = await opened('#/chat', documents);
    await writes(page, 'At four [2], and the lamp at dusk [1, 9]. See array[7] and `x[1]`.');
    await field(page).pressSequentially('#man');
    await page.getByRole('option').waitFor();
    await field(page).press('Tab');
    await say(page, 'When is tea served in the lamp room?');
    const answer = page.locator('article.assistant').last();
    await sources(page).waitFor();
    await expect.poll(() => answer.locator('.citation button').allInnerTexts()).toEqual(['2', '1']);
    expect(await answer.locator('.markdown').innerText()).toContain('array[7] and x[1].');
    expect(await answer.getByRole('button', { name: 'Source 2: tea.pdf, page 3' }).getAttribute('title')).toContain(
      tea,
    );
    await sources(page).getByText('2 of 2 cited.').click();
    await sources(page).getByText('1st by meaning, 2nd by words, reranked 0.90').waitFor();
    expect(await barriers(page)).toEqual([]);
    await answer.getByRole('button', { name: 'Source 2: tea.pdf, page 3' }).press('Enter');
    const dialog = page.getByRole('dialog', { name: '2. tea.pdf, page 3' });
    await expect.poll(() => dialog.locator('mark').innerText()).toBe(tea);
    expect(await barriers(page)).toEqual([]);
    await dialog.getByRole('link', { name: 'Show in its document' }).click();
    await expect.poll(() => page.url()).toContain(`#/knowledge/${id}.`);
    await page.goBack();
    // What was sent is kept with the message.
    documents.collections.length = 0;
    await sources(page)
      .getByRole('button', { name: /tea.pdf/ })
      .click();
    await page.getByText('The server does not have this passage any more.').waitFor();
    await dialog.getByText(tea).waitFor();
    expect(faults.get(page)?.filter((fault) => !fault.includes('404'))).toEqual([]);
  });

  test('a chat and a folder of chats have collections for good', async () => {
    const documents = new ScriptedDocuments();
    const manual = documents.add('Manual', { 'tea.txt': tea });
    const log = documents.add('Log', { 'log.txt': 'Tea was late.' });
    const page = await opened('#/chat', documents);
    await writes(page, 'At four.');
    // Before the first message, too.
    await button(page, 'Knowledge').click();
    await page.getByLabel('When to search Manual').selectOption({ label: 'This chat' });
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await say(page, 'When is tea served?');
    await say(page, 'When is tea served today?');
    expect(documents.searches.map(({ collections }) => collections)).toEqual([[manual.id], [manual.id]]);
    expect(documents.searches[1]?.conversation).toEqual(['When is tea served?', 'At four.']);
    // Not another chat.
    await page.goto(`${await base}/#/chat`);
    await say(page, 'And elsewhere?');
    expect(documents.searches).toHaveLength(2);
    await page.goBack();
    await button(page, /^Actions for When/).click();
    await page.getByRole('menuitem', { name: 'Move to folder' }).click();
    await page.getByLabel('New folder').fill('Work');
    await button(page, 'Move').click();
    await button(page, 'Chat menu').click();
    await page.getByRole('menuitem', { name: 'Chat settings' }).click();
    const settings = page.getByRole('dialog', { name: 'Chat settings' });
    await settings.getByLabel('When to search Manual').selectOption({ label: 'Off' });
    await settings.getByLabel('When to search Log').selectOption({ label: 'All chats in Work' });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Log', exact: true }).waitFor();
    await say(page, 'When was tea served?');
    expect(documents.searches.at(-1)?.collections).toEqual([log.id]);
  });

  test('documents of a chat become a collection by one click, and stay in the chat', async () => {
    const documents = new ScriptedDocuments();
    documents.add('When is tea served?');
    const page = await opened('#/chat', documents);
    await writes(page, 'At four.');
    await page
      .getByLabel('Files to attach', { exact: true })
      .setInputFiles([file('tea.txt', tea), file('lamp.txt', lamp)]);
    await button(page, 'Remove lamp.txt').waitFor();
    await say(page, 'When is tea served?');
    await button(page, 'Chat menu').click();
    await page.getByRole('menuitem', { name: 'Keep documents as collection' }).click();
    await button(page, 'Open').click();
    await page.getByRole('heading', { name: 'When is tea served? 2' }).waitFor();
    await page.getByText('tea.txt').waitFor();
    expect(documents.collections[1]?.files.map(({ text }) => text)).toEqual([lamp, tea]);
    await page.goBack();
    await button(page, 'tea.txt').waitFor();
  });

  test('a server without collections offers none', async () => {
    base ??= start(['--ctx-size', '4096', '--websearch']).then((server) => server.base);
    const page = await open('about:blank');
    await withDocuments(page, await base, false);
    await page.goto(`${await base}/#/chat`);
    await field(page).pressSequentially('Hello #');
    expect(await button(page, 'Knowledge').count()).toBe(0);
    expect(await page.getByRole('option').count()).toBe(0);
  });
});
