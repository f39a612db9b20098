import type { Browser, Page } from 'playwright-core';
import { startChromium } from './chromium.ts';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';
import { startServer } from './server-process.ts';
import { median } from './statistics.ts';

const kilobyte = 1024;
/** 48 KB is close to what the field can hold; more is a file. */
const sizes = [0, 10, 48, 1024, 5 * 1024].map((count) => count * kilobyte);
const sentence = 'The river had risen in the night, and nobody could say where the road had been. ';

/** How long the page takes for a key in the message field, and for a long paste. */
export async function composerBench({ server: entry, quick, log }: BenchOptions): Promise<Row[]> {
  const server = await startServer(entry, { flags: [] });
  const browser = await startChromium();
  try {
    const base = `http://localhost:${server.port}`;
    const rows: Row[] = [];
    for (const size of sizes) rows.push(...(await typing(browser, base, size, quick ? 5 : 20, log)));
    return rows;
  } finally {
    await browser.close();
    await server.stop();
  }
}

async function typing(
  browser: Browser,
  base: string,
  size: number,
  keys: number,
  log: BenchOptions['log'],
): Promise<Row[]> {
  const page = await composerPage(browser, base);
  const pasted = size > 0 ? await paste(page, size) : undefined;
  const times: number[] = [];
  for (let key = 0; key < keys; key += 1) {
    await page.evaluate('void (globalThis.keyTime = new Promise((resolve) => (globalThis.painted = resolve)))');
    await page.keyboard.press('x');
    times.push(await page.evaluate<number>('globalThis.keyTime'));
  }
  await page.context().close();
  const name =
    size === 0 ? 'nothing' : size < kilobyte * kilobyte ? `${size / kilobyte} KB` : `${size / kilobyte ** 2} MB`;
  log(`${name}: ${times.map((time) => time.toFixed(0)).join(', ')} ms a key, paste ${pasted?.toFixed(0) ?? '-'} ms`);
  const row = { bench: 'composer', unit: 'ms' };
  return [
    { ...row, what: `a key with ${name} in the message, median`, value: median(times), goal: { atMost: 50 } },
    { ...row, what: `longest key with ${name} in the message`, value: Math.max(...times), goal: { atMost: 50 } },
    ...(size === sizes.at(-1) && pasted !== undefined
      ? [{ ...row, what: `a paste of ${name}`, value: pasted, goal: { atMost: 500 } }]
      : []),
  ];
}

/** Pastes stay in the field up to what it can hold; the time of a key is until its frame is painted. */
async function composerPage(browser: Browser, origin: string): Promise<Page> {
  const localStorage = [{ name: 'parley.settings', value: JSON.stringify({ longPaste: 0 }) }];
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    storageState: { cookies: [], origins: [{ origin, localStorage }] },
  });
  const page = await context.newPage();
  await page.goto(`${origin}/#/chat`);
  const field = page.getByLabel('Message', { exact: true });
  await field.waitFor();
  await field.focus();
  await page.evaluate(`{
    const field = document.activeElement;
    field.addEventListener('keydown', () => {
      const startedAt = performance.now();
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => globalThis.painted(performance.now() - startedAt);
        port2.postMessage(undefined);
      });
    });
  }`);
  return page;
}

/** Milliseconds until the frame after the paste. Text that the page does not take is inserted, as a browser does it. */
function paste(page: Page, size: number): Promise<number> {
  return page.evaluate<number>(`(async () => {
    const text = ${JSON.stringify(sentence)}.repeat(${Math.ceil(size / sentence.length)}).slice(0, ${size});
    const carried = new DataTransfer();
    carried.setData('text/plain', text);
    const event = new ClipboardEvent('paste', { clipboardData: carried, bubbles: true, cancelable: true });
    const field = document.activeElement;
    const startedAt = performance.now();
    if (field.dispatchEvent(event)) {
      field.setRangeText(text, 0, 0, 'end');
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    }
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return performance.now() - startedAt;
  })()`);
}
