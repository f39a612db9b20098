import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LiveServer, liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
const folder = mkdtempSync(join(tmpdir(), 'parley-documents-'));
const everything = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);
const mcpFile = join(folder, 'servers.json');
let live: LiveServer;
/** A search page that answers, or fails. */
let found = '';
const searchPage = createServer((_, response) => {
  response.statusCode = found === '' ? 500 : 200;
  response.end(found);
});

beforeAll(async () => {
  if (withoutBrowser) return;
  await new Promise<void>((resolve) => searchPage.listen(0, '127.0.0.1', resolve));
  writeFileSync(mcpFile, JSON.stringify({ mcpServers: { every: { command: process.execPath, args: [everything] } } }));
  const { port } = searchPage.address() as AddressInfo;
  const search = ['--websearch', '--websearchurl', `http://127.0.0.1:${port}/`];
  live = await start(['--mcpfile', mcpFile, '--admin', ...search]);
  await live.says('MCP Server every: ');
});
afterAll(() => {
  searchPage.close();
  rmSync(folder, { recursive: true });
});

async function chatPage(): Promise<Page> {
  const page = await open(live.base, { settings: { replyLength: 8 } });
  await field(page).waitFor();
  return page;
}
const field = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const sources = (page: Page) => page.locator('article').last().getByRole('region', { name: 'Sources' });

async function say(page: Page, text: string): Promise<void> {
  const before = await page.locator('article.assistant').count();
  await field(page).fill(text);
  await field(page).press('Enter');
  await page.locator('article.assistant').nth(before).waitFor();
  await page.locator('article[aria-busy="true"]').waitFor({ state: 'detached', timeout: 60_000 });
}

async function menu(page: Page, entry: string): Promise<void> {
  await button(page, 'Chat menu').click();
  await page.getByRole('menuitem', { name: entry }).click();
}

const line = (at: number): string =>
  `Entry ${at}: the ${['herring', 'salt', 'timber', 'wool', 'copper'][at % 5]} trade of the town went on as in other years.`;
/** About 24 KB, 6 times the context, with one odd fact in its middle. */
const chronicle = [
  ...Array.from({ length: 140 }, (_, at) => line(at)),
  'The astronomer Ottilie kept a tame walrus called Bartholomew in her observatory.',
  ...Array.from({ length: 140 }, (_, at) => line(140 + at)),
].join('\n\n');

describe.skipIf(withoutBrowser)('documents, web search and tools on the chat page', () => {
  test('a long document is embedded, and the passage that answers is sent and shown', async () => {
    const page = await chatPage();
    await page.getByLabel('Files to attach', { exact: true }).setInputFiles({
      name: 'chronicle.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from(chronicle),
    });
    const mode = page.getByRole('combobox', { name: 'How to send chronicle.txt' });
    await mode.waitFor();
    await expect.poll(() => mode.inputValue()).toBe('passages');
    await page.getByText(/^\d+ passages$/).waitFor({ timeout: 240_000 });
    expect(await barriers(page)).toEqual([]);
    await say(page, 'Which tame animal did the astronomer keep?');
    await sources(page).getByRole('button').first().waitFor();
    await menu(page, 'Show prompt');
    const prompt = await page.getByRole('dialog', { name: 'Prompt' }).locator('pre').innerText();
    expect(prompt).toContain('tame walrus called Bartholomew');
    expect(prompt.length).toBeLessThan(8000);
    expect(faults.get(page)).toEqual([]);
    // The vectors are kept: after a reload the next question needs no embedding of the document.
    await page.reload();
    await field(page).waitFor();
    let inputs = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/v1/embeddings')) inputs += (request.postDataJSON() as { input: [] }).input.length;
    });
    await say(page, 'And its name?');
    await sources(page).waitFor();
    expect(inputs).toBeLessThanOrEqual(2);
  }, 300_000);

  test('indexing of a document ends when its chip is removed or the page is left', async () => {
    const page = await chatPage();
    let held = 0;
    const ended: string[] = [];
    page.on('requestfailed', (request) => ended.push(new URL(request.url()).pathname));
    // Not answered, as by a server that takes long.
    await page.route('**/v1/embeddings', () => void held++);
    const files = page.getByLabel('Files to attach', { exact: true });
    const file = { name: 'chronicle.txt', mimeType: 'text/plain', buffer: Buffer.from(chronicle) };
    await files.setInputFiles(file);
    await page.getByText(/^Indexing 0 of \d+$/).waitFor();
    await expect.poll(() => held).toBe(1);
    await button(page, 'Remove chronicle.txt').click();
    await expect.poll(() => ended).toEqual(['/v1/embeddings']);
    await files.setInputFiles(file);
    await expect.poll(() => held).toBe(2);
    await page.getByRole('link', { name: 'Draw' }).first().click();
    await expect.poll(() => ended).toHaveLength(2);
  });

  test('on a phone the button that sends is at the right end of the last line', async () => {
    for (const width of [320, 390]) {
      const page = await open(live.base, { viewport: { width, height: 844 } });
      await button(page, 'Web search').waitFor();
      const [box, field] = await Promise.all(
        [button(page, 'Send'), page.locator('.composer')].map((one) => one.boundingBox()),
      );
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeGreaterThan((field?.x ?? 0) + (field?.width ?? 0) - 20);
      expect((field?.y ?? 0) + (field?.height ?? 0)).toBeLessThan(844);
      expect(await page.evaluate<boolean>(`document.documentElement.scrollWidth <= innerWidth`)).toBe(true);
    }
  });

  test('web search: results are sources with links, and a failed search does not stop the message', async () => {
    const page = await chatPage();
    await button(page, 'Web search').click();
    await expect.poll(() => button(page, 'Web search').getAttribute('aria-pressed')).toBe('true');
    found = JSON.stringify({
      results: [{ title: 'Walruses', url: 'http://127.0.0.1:9/w', content: 'A walrus weighs a ton.' }],
    });
    await say(page, 'How heavy is a walrus?');
    await sources(page)
      .getByRole('button', { name: /Walruses/ })
      .click();
    const link = page.getByRole('dialog', { name: '1. Walruses' }).getByRole('link');
    await expect.poll(() => link.getAttribute('href')).toBe('http://127.0.0.1:9/w');
    await page.keyboard.press('Escape');
    found = '';
    await say(page, 'And how old does a walrus get?');
    await page.getByText(/Web search failed/).waitFor();
    await expect.poll(() => page.locator('article.assistant').count()).toBe(2);
  });

  test('a page of this machine is not attached, with the reason', async () => {
    const page = await chatPage();
    await button(page, 'Attach web page').click();
    await page.getByLabel('Address').fill('http://127.0.0.1/secret');
    await page.getByLabel('Address').press('Enter');
    await page.getByText(/is not on the public internet/).waitFor();
  });

  test('tools: servers with state, switched on per chat; resources are attached, prompts inserted, servers added', async () => {
    const page = await chatPage();
    await menu(page, 'Tools');
    const dialog = page.getByRole('dialog', { name: 'Tools' });
    const server = dialog.getByRole('region', { name: 'every' });
    await server.getByRole('switch', { name: 'All tools of every' }).click();
    await server.getByText(/^(\d+) of \1 on$/).waitFor();
    await server.getByRole('switch', { name: 'echo', exact: true }).click();
    expect(await barriers(page)).toEqual([]);
    await dialog.getByText('Prompts').click();
    await dialog
      .getByRole('button', { name: /^Insert / })
      .first()
      .waitFor();
    expect(await barriers(page)).toEqual([]);
    await dialog.getByText('Resources').click();
    const attach = dialog.getByRole('button', { name: /^Attach / });
    await attach.first().click();
    await page.getByText(/ attached\.$/).waitFor();
    await dialog.getByText('Tools', { exact: true }).last().click();
    await dialog.getByText('Add a server').click();
    await dialog.getByLabel('Name').fill('far');
    await dialog.getByLabel('Address').fill('http://127.0.0.1:9/mcp');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByRole('region', { name: 'far' }).waitFor();
    expect(JSON.parse(readFileSync(mcpFile, 'utf8')).mcpServers.far).toEqual({ url: 'http://127.0.0.1:9/mcp' });
    await dialog.getByRole('button', { name: 'Remove far' }).click();
    await dialog.getByRole('region', { name: 'far' }).waitFor({ state: 'detached' });
    await dialog.getByText('Prompts').click();
    await dialog.getByRole('button', { name: /^Insert simple/i }).click();
    await expect.poll(() => field(page).inputValue()).not.toBe('');
  });
});
