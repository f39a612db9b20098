import type { Browser, Page } from 'playwright-core';
import { startChromium } from './chromium.ts';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';
import { startServer } from './server-process.ts';
import { median } from './statistics.ts';

/** As the web client is to bear it: a model that writes 300 tokens a second. */
const intervalMicroseconds = 3333;
const storyLength = 200_000;
const chatTurns = 2000;
const chatScroller = '[aria-label="Conversation"]';

/** What the browser has to do for the pages: how much it fetches, and how often it is busy for so long that people notice. */
export async function pagesBench({ server: entry, quick, log }: BenchOptions): Promise<Row[]> {
  const server = await startServer(entry, {
    flags: [],
    nodeFlags: ['--import', new URL('swap-worker.js', import.meta.url).href],
    environment: { BENCH_INTERVAL_US: String(intervalMicroseconds) },
  });
  const browser = await startChromium();
  try {
    const base = `http://localhost:${server.port}`;
    const rows: Row[] = [];
    for (const view of ['chat', 'write']) rows.push(...(await firstLoad(browser, base, view, quick ? 1 : 5, log)));
    rows.push(...(await longChat(browser, base, quick ? 300 : 900, log)));
    rows.push(...(await longStory(browser, base, quick ? 300 : 900, log)));
    return rows;
  } finally {
    await browser.close();
    await server.stop();
  }
}

async function firstLoad(
  browser: Browser,
  base: string,
  view: string,
  rounds: number,
  log: BenchOptions['log'],
): Promise<Row[]> {
  const times: number[] = [];
  let bytes = 0;
  for (let round = 0; round < rounds; round += 1) {
    const context = await browser.newContext({ serviceWorkers: 'block' });
    const page = await context.newPage();
    const sizes: Promise<number>[] = [];
    page.on('requestfinished', (request) => {
      if (!/\/(api|v1)\//.test(request.url()))
        sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    const startedAt = performance.now();
    await page.goto(`${base}/#/${view}`, { waitUntil: 'commit' });
    await page.getByLabel('Message', { exact: true }).waitFor();
    times.push(performance.now() - startedAt);
    await page.waitForLoadState('networkidle');
    bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    await context.close();
  }
  log(`${view}: ${times.map((time) => time.toFixed(0)).join(', ')} ms, ${(bytes / 1024).toFixed(0)} KB`);
  const row = { bench: 'pages' };
  return [
    { ...row, what: `${view}: fetched at the first visit`, value: bytes / 1024, unit: 'KB', goal: { atMost: 400 } },
    { ...row, what: `${view}: until somebody can type`, value: median(times), unit: 'ms', goal: { atMost: 1500 } },
  ];
}

async function longStory(
  browser: Browser,
  base: string,
  replyTokens: number,
  log: BenchOptions['log'],
): Promise<Row[]> {
  const page = await watchedPage(browser, base, { replyLength: replyTokens });
  await page.goto(`${base}/#/write`);
  await page.getByLabel('Message', { exact: true }).waitFor();
  const buffer = Buffer.from(longText());
  await page.getByLabel('Files to import').setInputFiles({ name: 'long.txt', mimeType: 'text/plain', buffer });
  await page.getByRole('article', { name: 'Text' }).waitFor();
  await settled(page);

  const scrolled = await busyWhile(page, () => scroll(page, '.scroller', -1));
  const edited = await busyWhile(page, () => edit(page));
  const back = await busyWhile(page, () => scroll(page, '.scroller', 1));
  const written = await busyWhile(page, async () => {
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor({ timeout: 60_000 });
  });
  await page.context().close();
  return [
    ...rowsOf(`a story of ${storyLength.toLocaleString('en')} characters scrolls`, [...scrolled, ...back], log),
    ...rowsOf(`it is edited in its middle, ${edits} keys`, edited, log),
    ...rowsOf(`a reply of ${replyTokens} tokens arrives in it at 300 a second`, written, log),
  ];
}

async function longChat(browser: Browser, base: string, replyTokens: number, log: BenchOptions['log']): Promise<Row[]> {
  const page = await watchedPage(browser, base, { replyLength: replyTokens });
  await page.goto(`${base}/#/chat`);
  await page.getByLabel('Message', { exact: true }).waitFor();
  const conversations = Array.from({ length: chatTurns }, (_, turn) => ({
    from: turn % 2 === 0 ? 'human' : 'gpt',
    value:
      turn % 2 === 0
        ? `What is thing ${turn}?`
        : `Thing **${turn}** is:\n\n- one\n- two\n\n\`\`\`js\nlet x = ${turn};\n\`\`\``,
  }));
  const buffer = Buffer.from(JSON.stringify([{ title: 'Long', conversations }]));
  await page.getByLabel('Files to import').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer });
  await page.getByText(`Thing ${chatTurns - 1} is`).waitFor();
  await settled(page);

  const scrolled = await busyWhile(page, () => scroll(page, chatScroller, -1));
  const back = await busyWhile(page, () => scroll(page, chatScroller, 1));
  const typed = await busyWhile(page, () =>
    page.getByLabel('Message', { exact: true }).pressSequentially('And now? '.repeat(6)),
  );
  const written = await busyWhile(page, async () => {
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor({ timeout: 60_000 });
  });
  await page.context().close();
  return [
    ...rowsOf(`a chat of ${chatTurns.toLocaleString('en')} turns scrolls`, [...scrolled, ...back], log),
    ...rowsOf('somebody types in it', typed, log),
    ...rowsOf(`a reply of ${replyTokens} tokens arrives in the chat at 300 a second`, written, log),
  ];
}

/** A page that notes its long tasks. */
async function watchedPage(browser: Browser, origin: string, settings: object): Promise<Page> {
  const localStorage = [{ name: 'parley.settings', value: JSON.stringify(settings) }];
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    storageState: { cookies: [], origins: [{ origin, localStorage }] },
  });
  const page = await context.newPage();
  await page.addInitScript(noteLongTasks);
  return page;
}

/** In the browser, whose types Node does not know. */
const noteLongTasks = `
  globalThis.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longTasks.push(duration);
  }).observe({ type: 'longtask' });`;

/** The long tasks of this time, in milliseconds. */
async function busyWhile(page: Page, run: () => Promise<void>): Promise<number[]> {
  await page.evaluate('longTasks.splice(0)');
  await run();
  await settled(page);
  return page.evaluate<number[]>('longTasks.splice(0)');
}

/** Some frames, so that what is noted late is noted. */
async function settled(page: Page): Promise<void> {
  await page.waitForTimeout(600);
}

/** From one end to the other, within 150 frames. */
async function scroll(page: Page, scroller: string, direction: 1 | -1): Promise<void> {
  await page.evaluate(`(async () => {
    const element = document.querySelector(${JSON.stringify(scroller)});
    for (let frame = 0; frame < 150; frame += 1) {
      element.scrollBy(0, (${direction} * element.scrollHeight) / 150);
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  })()`);
}

const edits = 60;

async function edit(page: Page): Promise<void> {
  const passage = page.locator('[data-passage]').nth(200);
  await passage.scrollIntoViewIfNeeded();
  await passage.click();
  await page.keyboard.type('word '.repeat(edits / 5));
  await page.keyboard.press('Control+Enter');
}

function rowsOf(what: string, tasks: readonly number[], log: BenchOptions['log']): Row[] {
  log(`${what}: ${tasks.map((task) => task.toFixed(0)).join(', ') || 'none'}`);
  return [{ bench: 'pages', what: `${what}: tasks over 50 ms`, value: tasks.length, unit: '', goal: { atMost: 0 } }];
}

function longText(): string {
  const sentence = 'The river had risen in the night, and by the morning nobody could say where the road had been. ';
  const paragraphs: string[] = [];
  for (let length = 0; length < storyLength; length += sentence.length * 4 + 2)
    paragraphs.push(sentence.repeat(4).trim());
  return paragraphs.join('\n\n');
}
