import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Download, Page } from 'playwright-core';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { type LiveServer, liveServers, type StartOptions } from '../live/server.ts';
import { callByTemplate, scripted as scriptedQuestion, toolTemplateFlags } from '../load/scripted.ts';
import { fakeEngineCommand } from '../load/servers.ts';
import { barriers, browserPages, faults, quickPictures, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
const folder = mkdtempSync(join(tmpdir(), 'parley-chat-'));
afterAll(() => rmSync(folder, { recursive: true }));
let started: Promise<LiveServer> | undefined;
/** One for all tests of this file, with a tool server behind it. */
const server = (): Promise<LiveServer> => {
  started ??= startWithTools(['--jinjatools']);
  return started;
};

async function startWithTools(flags: readonly string[], options?: StartOptions): Promise<LiveServer> {
  const tools = fileURLToPath(new URL('../../src/mcp/testing/small-server.mjs', import.meta.url));
  const file = join(folder, 'tools.json');
  writeFileSync(
    file,
    JSON.stringify({ mcpServers: { small: { command: process.execPath, args: [tools, 'get_weather'] } } }),
  );
  const live = await start(['--mcpfile', file, ...flags], options);
  await live.says('MCP Server small: 1 tool');
  return live;
}

interface Kept {
  readonly replyLength?: number;
  readonly sampling?: Readonly<Record<string, number>>;
  readonly delivery?: string;
  readonly showProbabilities?: boolean;
}
/** A reply of exactly its length: the token that ends one is banned. */
const endless = { use_default_badwordsids: 1 };

async function chatPage(kept: Kept = {}, base?: string): Promise<Page> {
  const page = await open(base ?? (await server()).base, { settings: { replyLength: 12, ...kept } });
  await field(page).waitFor();
  return page;
}

const field = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const replies = (page: Page) => page.locator('article.assistant');
const messages = (page: Page) => page.locator('article.user');
const finished = (page: Page) => page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' });

async function say(page: Page, text: string): Promise<void> {
  const before = await replies(page).count();
  await field(page).fill(text);
  await field(page).press('Enter');
  await replies(page).nth(before).waitFor();
}

async function sayAndHear(page: Page, text: string): Promise<void> {
  await say(page, text);
  await finished(page);
}

/** Passes connections on to a server of this machine, and cuts the first one that has brought the event of this number. */
async function cuttingProxy(target: number, event: number): Promise<number> {
  const sockets = new Set<Socket>();
  let uncut = true;
  const proxy = createServer((client) => {
    const onward = connect(target, '127.0.0.1');
    for (const socket of [client, onward]) sockets.add(socket.on('error', () => undefined));
    let received = '';
    onward.on('data', (bytes) => {
      received += bytes;
      if (uncut && received.includes(`\nid: ${event}\n`)) {
        uncut = false;
        onward.unpipe();
        client.destroy();
      }
    });
    client.pipe(onward).pipe(client);
    client.on('close', () => onward.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return (proxy.address() as AddressInfo).port;
}

async function contentOf(download: Download): Promise<string> {
  return readFileSync(await download.path(), 'utf8');
}

describe.skipIf(withoutBrowser)('chat page', () => {
  test('first visit: introduces the model, and one click asks a question', async () => {
    const page = await chatPage();
    await page.getByText(/parley-mini is a tiny built-in model/).waitFor();
    for (const name of ['Write', 'Draw']) await page.getByRole('main').getByRole('link', { name }).waitFor();
    await button(page, 'Use a larger model').click();
    await page.getByLabel('Words, or the address of a model').waitFor();
    await page.getByText('From the command line').click();
    for (const text of ['parley --showgui', 'parley --model path/to/model.gguf']) await page.getByText(text).waitFor();
    await page.keyboard.press('Escape');
    await button(page, 'Connect an app').click();
    await page
      .getByText(`${(await server()).base}/v1`)
      .first()
      .waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: /^Ask/ }).click();
    await finished(page);
    await expect.poll(() => replies(page).innerText()).toMatch(/\w+ \w+/);
    await page.getByText(/\d+ tokens · [\d.]+ tokens\/s · first token after/).waitFor();
    await expect.poll(() => page.getByRole('heading', { level: 1 }).innerText()).toBe('Hello! What can you do?');

    await button(page, 'Prefill the reply').click();
    await page.getByLabel('Start of the reply').fill('Arr, matey');
    await sayAndHear(page, 'Talk like a pirate.');
    await expect.poll(() => replies(page).last().locator('.text').innerText()).toMatch(/^Arr, matey./);
    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);
  });

  test('streams a reply, stops it on the server, and continues it', async () => {
    const page = await chatPage({ replyLength: 1500, sampling: endless });
    await say(page, 'Tell me a story.');
    await expect.poll(() => replies(page).innerText()).toMatch(/\w+ \w+ \w+/);
    await button(page, 'Stop').waitFor();
    await page.keyboard.press('Escape');
    await finished(page);
    await page.getByText('Stopped.').waitFor();
    const text = await replies(page).locator('.text').innerText();
    await expect
      .poll(async () => (await (await fetch(`${(await server()).base}/api/extra/perf`)).json()) as { idle: number })
      .toMatchObject({ idle: 1 });

    await page.evaluate(`localStorage.setItem('parley.settings', '{"replyLength": 8}')`);
    await page.reload();
    await button(page, 'Continue').click();
    await expect
      .poll(() =>
        replies(page)
          .locator('.text')
          .innerText()
          .then((now) => now.length),
      )
      .toBeGreaterThan(text.length);
    await finished(page);
    await expect
      .poll(async () => (await replies(page).locator('.text').innerText()).startsWith(text.slice(0, 20)))
      .toBe(true);
    expect(faults.get(page)).toEqual([]);
  });

  test('keeps versions of replies and messages, edits in place, undo and redo', async () => {
    const page = await chatPage();
    await sayAndHear(page, 'My name is Ada.');
    await button(page, 'Retry').click();
    await page.getByText('2/2').waitFor();
    await finished(page);
    const second = await replies(page).locator('.text').innerText();
    await button(page, 'Previous version').click();
    await page.getByText('1/2').waitFor();
    await button(page, 'Next version').click();
    await expect.poll(() => replies(page).locator('.text').innerText()).toBe(second);

    await replies(page).getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit text' }).fill('I am **changed**.');
    await button(page, 'Save').click();
    await expect.poll(() => replies(page).locator('strong').innerText()).toBe('changed');
    await button(page, 'Undo').click();
    await expect.poll(() => replies(page).locator('.text').innerText()).toBe(second);
    await button(page, 'Redo').click();
    await expect.poll(() => replies(page).locator('strong').innerText()).toBe('changed');

    await messages(page).getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit text' }).fill('My name is Bob.');
    await button(page, 'Save and send').click();
    await messages(page).getByText('2/2').waitFor();
    await finished(page);
    await expect.poll(() => messages(page).locator('.text').innerText()).toBe('My name is Bob.');
    await messages(page).getByRole('button', { name: 'Previous version' }).click();
    await expect.poll(() => replies(page).locator('strong').innerText()).toBe('changed');

    await page.reload();
    await messages(page).getByText('1/2').waitFor();
    await expect.poll(() => replies(page).locator('strong').innerText()).toBe('changed');
    await expect
      .poll(() => page.getByRole('navigation').or(page.getByRole('complementary')).getByText('My name is Ada.').count())
      .toBe(1);
    expect(faults.get(page)).toEqual([]);
  });

  test('reload: keeps the running reply and the draft', async () => {
    const page = await chatPage({ replyLength: 120, sampling: endless });
    await say(page, 'Tell me a long story about the sea.');
    await expect.poll(() => replies(page).innerText()).toMatch(/\w+ \w+/);
    await field(page).fill('not sent yet');
    await page.reload();
    await expect.poll(() => field(page).inputValue()).toBe('not sent yet');
    await replies(page).waitFor();
    await finished(page);
    // All that was asked for is there, however often the page was loaded.
    const said = await replies(page).locator('.text').innerText();
    expect(said.split(/\s+/).length).toBeGreaterThan(60);
    await expect.poll(() => page.locator('.failed').count()).toBe(0);
    expect(faults.get(page)).toEqual([]);
  });

  test('queued messages: one that is being edited stays with its chat while another one is open', async () => {
    const page = await chatPage();
    const { base } = await server();
    const edited = page.getByRole('textbox', { name: 'Queued message', exact: true });
    // Replies that do not end.
    await page.route(/\/v1\/chat\/completions$/, () => {});
    const queues = async (text: string): Promise<string> => {
      await page.goto(`${base}/#/chat`);
      await field(page).fill('Hi');
      await button(page, 'Send').click();
      await button(page, 'Stop').waitFor();
      await field(page).fill(text);
      await button(page, 'Send after the reply').click();
      await button(page, 'Edit queued message').click();
      expect(await edited.inputValue()).toBe(text);
      return page.url();
    };
    const one = await queues('One');
    await edited.fill('First');
    const two = await queues('Two');
    await page.goto(one);
    await expect.poll(() => edited.inputValue()).toBe('First');
    await edited.press('Enter');
    await page.getByRole('listitem').getByText('First', { exact: true }).waitFor();
    await page.goto(two);
    await edited.press('Escape');
    await page.getByRole('listitem').getByText('Two', { exact: true }).waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('lost connection: the reply goes on where it was cut, and nothing is missing or doubled', async () => {
    const { base, port } = await server();
    const proxy = await cuttingProxy(port, 20);
    const page = await chatPage({ replyLength: 60, sampling: endless }, `http://127.0.0.1:${proxy}`);
    const taken: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/api/extra/stream/')) taken.push(request.url());
    });
    const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'));
    await say(page, 'Tell me a long story about the hills.');
    await finished(page);
    const said = await replies(page).locator('.text').innerText();
    const { genkey } = (await sent).postDataJSON() as { genkey: string };
    const whole = await (await fetch(`${base}/api/extra/stream/${genkey}`)).text();
    const text = [...whole.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)]
      .map(([, json = '""']) => JSON.parse(json))
      .join('');
    const words = (all: string) => all.match(/\w+/g);
    expect(words(said)).toEqual(words(text));
    expect(taken.some((url) => /after=[1-9]/.test(url))).toBe(true);
    expect(await page.locator('.failed').count()).toBe(0);
  });

  test('attaches text and PDF files, and rejects images without vision', async () => {
    const page = await chatPage({ showProbabilities: true, delivery: 'polling' });
    const files = page.getByLabel('Files to attach');
    await files.setInputFiles({
      name: 'fox.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('The fox is called Rollo.'),
    });
    await button(page, 'Remove fox.txt').waitFor();
    await files.setInputFiles({ name: 'cat.png', mimeType: 'image/png', buffer: Buffer.from('x') });
    await page.getByText(/Can't attach cat.png: this model cannot see images/).waitFor();
    await files.setInputFiles({ name: 'note.pdf', mimeType: 'application/pdf', buffer: pdf('Meet at noon') });
    await button(page, 'Remove note.pdf').waitFor();
    await sayAndHear(page, 'What is the fox called?');
    await messages(page).getByText('fox.txt').waitFor();
    await page.getByText('Select a token to see its alternatives').waitFor();

    await button(page, 'Chat menu').click();
    await page.getByRole('menuitem', { name: 'Show prompt' }).click();
    await page.getByText(/File fox\.txt:\s.*\s.*Rollo[\s\S]*File note\.pdf:[\s\S]*Meet at noon/).waitFor();
    await page.getByText(/\d+ tokens, \d+ characters/).waitFor();
    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);
  });

  test('speaks a reply, dictates a message and draws an image', async () => {
    const page = await chatPage();
    const drawn = await quickPictures(page);
    await sayAndHear(page, 'Hi!');
    const spoken = page.waitForResponse((response) => response.url().endsWith('/v1/audio/speech'));
    await button(page, 'Speak').click();
    expect((await spoken).headers()['content-type']).toBe('audio/mpeg');
    await button(page, 'Stop speaking').click();

    const heard = page.waitForResponse((response) => response.url().endsWith('/v1/audio/transcriptions'));
    await button(page, 'Dictate').click();
    // A busy machine may skip a second of the clock.
    await page.getByText(/0:(?:0[1-9]|[1-5]\d)/).waitFor();
    await button(page, 'Stop recording').click();
    expect((await heard).status()).toBe(200);
    await button(page, 'Dictate').waitFor();

    await field(page).fill('a red house');
    await button(page, 'Draw image').click();
    await button(page, 'Draw').click();
    const picture = page.getByRole('img', { name: 'a red house' });
    await picture.waitFor();
    await expect
      .poll(() => page.evaluate(`document.querySelector('article img[alt="a red house"]').naturalWidth`))
      .toBe(64);
    expect(drawn).toMatchObject([{ prompt: expect.stringContaining('a red house'), width: 512, height: 512 }]);
    await expect.poll(() => field(page).inputValue()).toBe('');
    expect(faults.get(page)).toEqual([]);
  });

  test('imports and exports chats', async () => {
    const page = await chatPage();
    const conversations = [
      { from: 'human', value: 'Which formula?' },
      { from: 'gpt', value: 'It is $E = mc^2$.\n\n```js\nconst a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |' },
    ];
    const file = (name: string, text: string) => ({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
    await page
      .getByLabel('Files to import')
      .setInputFiles(file('x.json', JSON.stringify([{ title: 'Physics', conversations }])));
    await page.locator('math').waitFor();
    await page.locator('.hljs-keyword').waitFor();
    await page.getByRole('region', { name: 'Table' }).waitFor();
    expect(await barriers(page)).toEqual([]);

    const saved: Record<string, string> = {};
    for (const form of ['Parley file', 'ShareGPT file', 'Markdown']) {
      await button(page, 'Export').click();
      const download = page.waitForEvent('download');
      await button(page, form).click();
      saved[form] = await contentOf(await download);
    }
    expect(JSON.parse(saved['ShareGPT file'] ?? '')[0]).toMatchObject({ title: 'Physics', conversations });
    expect(saved.Markdown).toContain('# Physics\n\n## You\n\nWhich formula?');

    await button(page, 'Actions for Physics').click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await button(page, 'Undo').last().waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'Physics' }).count()).toBe(0);
    await page.getByLabel('Files to import').setInputFiles(file('y.json', saved['Parley file'] ?? ''));
    await page.locator('math').waitFor();
    await page.getByRole('link', { name: 'Physics' }).waitFor();
    await page.getByLabel('Files to import').setInputFiles(file('z.json', 'Dear diary'));
    await page.getByText(/Can't open z.json: the JSON is not valid/).waitFor();

    await page.getByRole('searchbox', { name: 'Search chats and stories' }).fill('formula nowhere');
    await page.getByText('Nothing found.').waitFor();
    await page.getByRole('searchbox', { name: 'Search chats and stories' }).fill('FORMULA');
    await page.getByRole('link', { name: 'Physics' }).waitFor();
    await button(page, 'Actions for Physics').click();
    await page.getByRole('menuitem', { name: 'Move to folder' }).click();
    await page.getByRole('textbox', { name: 'New folder' }).fill('School');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'School' }).waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('runs an approved tool and answers from its result', async () => {
    const { base } = await startWithTools(['--jinjatools', ...toolTemplateFlags()], { command: fakeEngineCommand });
    const page = await chatPage({ replyLength: 60 }, base);
    await button(page, 'Chat menu').click();
    await page.getByRole('menuitem', { name: 'Tools' }).click();
    await page.getByRole('switch', { name: 'get_weather' }).check();
    await page.keyboard.press('Escape');
    const call = callByTemplate('get_weather', { city: 'Paris' });
    await say(page, scriptedQuestion('What is the weather in Paris?', ...call, 'It is 21 degrees.'));
    await page.getByRole('region', { name: 'Tool get_weather' }).getByText('"city": "Paris"').waitFor();
    await button(page, 'Approve').click();
    await replies(page).last().getByText('It is 21 degrees.').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('folds the reasoning, asks before a tool runs, and sends its result', async () => {
    const page = await chatPage();
    const sent = await scripted(page);
    await page.reload();
    await button(page, 'Chat menu').click();
    await page.getByRole('menuitem', { name: 'Tools' }).click();
    await page.getByRole('switch', { name: 'roll_dice' }).check();
    await page.keyboard.press('Escape');
    await say(page, 'Roll the dice.');
    await button(page, 'Approve').waitFor();
    await expect.poll(() => page.getByText('A roll is wanted.').count()).toBe(0);
    await page.getByText('Thoughts').first().click();
    await page.getByText('A roll is wanted.').waitFor();
    expect(sent.tools).toEqual([]);
    expect(await barriers(page)).toEqual([]);

    await button(page, 'Deny').click();
    await replies(page).getByText('You rolled it.').waitFor();
    expect(sent.tools).toEqual([]);
    expect(sent.results.at(-1)).toContain('did not allow');
    await say(page, 'Roll it again.');
    await button(page, 'Always allow in this chat').click();
    await expect.poll(() => replies(page).last().innerText()).toContain('You rolled it.');
    expect(sent.results.at(-1)).toBe('a six');
    await say(page, 'And again.');
    await expect.poll(() => sent.tools.length).toBe(2);
    await finished(page);
    expect(sent.tools).toEqual([{ sides: 6 }, { sides: 6 }]);
    expect(faults.get(page)).toEqual([]);
  });

  test('phone: shows the chats in a drawer', async () => {
    const page = await open((await server()).base, {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await field(page).waitFor();
    await button(page, 'Chats').click();
    await button(page, 'New').waitFor();
    expect(await barriers(page)).toEqual([]);
    await button(page, 'New').click();
    await button(page, 'New').waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(faults.get(page)).toEqual([]);
  });

  test('asks for the key of a protected server, then sends', async () => {
    const locked = await start(['--password', 'sesame']);
    const page = await chatPage({}, locked.base);
    await say(page, 'Hello?');
    await page.getByLabel('Key or password', { exact: true }).fill('wrong');
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Wrong key or password.').waitFor();
    await page.getByLabel('Key or password', { exact: true }).fill('sesame');
    await page.getByRole('dialog').getByRole('button', { name: 'Sign in', exact: true }).click();
    await finished(page);
    await expect.poll(() => replies(page).innerText()).toMatch(/\w+/);
    await locked.stop();
  });
});

/** A model that thinks and always wants its tool, where the one that runs does not: what it would answer is written here. */
async function scripted(page: Page): Promise<{ readonly tools: unknown[]; readonly results: string[] }> {
  const seen = { tools: [] as unknown[], results: [] as string[] };
  await page.route(
    ({ pathname }) => pathname === '/mcp',
    async (route) => {
      const { id, method, params } = route.request().postDataJSON();
      if (method === 'tools/call') seen.tools.push(params.arguments);
      const tools = [
        { name: 'roll_dice', description: 'Rolls a die', inputSchema: { type: 'object', properties: {} } },
      ];
      const result = method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: 'a six' }] };
      await route.fulfill({ json: { jsonrpc: '2.0', id, result } });
    },
  );
  await page.route('**/v1/chat/completions', async (route) => {
    const { messages, tools } = route.request().postDataJSON();
    const last = messages.at(-1);
    const call = {
      index: 0,
      id: `call${messages.length}`,
      function: { name: tools[0].function.name, arguments: '{"sides":6}' },
    };
    const deltas =
      last.role === 'tool'
        ? [{ content: 'You rolled it.' }]
        : [{ reasoning_content: 'A roll is wanted.' }, { tool_calls: [call] }];
    if (last.role === 'tool') seen.results.push(last.content);
    const chunks = [...deltas, {}].map((delta, at) => ({
      choices: [{ delta, finish_reason: at === deltas.length ? 'stop' : null }],
    }));
    const body = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]']
      .map((data) => `data: ${data}\n\n`)
      .join('');
    await route.fulfill({ contentType: 'text/event-stream', body });
  });
  return seen;
}

/** A PDF of one page with one line. */
function pdf(line: string): Buffer {
  const content = `BT /F1 24 Tf 40 100 Td (${line}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let text = '%PDF-1.4\n';
  const places = objects.map((object, index) => {
    const place = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const table = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF`;
  return Buffer.from(`${text}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}${trailer}`);
}
