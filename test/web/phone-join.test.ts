import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Locator, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startChromium } from '../../bench/chromium.ts';
import { wavOf } from '../../src/protocols/realtime/audio-buffer.ts';
import { liveServers, program, programEnvironment } from '../live/server.ts';
import { barriers, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-phone-join-'));
const rate = 24_000;
const question = join(folder, 'question.wav');

/** The voice of the server says this into the microphone of the phone. */
beforeAll(async () => {
  if (withoutBrowser) return;
  const server = await start();
  const body = JSON.stringify({ input: 'Tell me a story about a fox.', response_format: 'pcm' });
  const reply = await fetch(`${server.base}/v1/audio/speech`, { method: 'POST', body });
  const speech = new Int16Array(await reply.arrayBuffer());
  const recording = new Int16Array(2 * rate + speech.length + 8 * rate);
  recording.set(speech, 2 * rate);
  writeFileSync(question, wavOf(recording, rate));
  await server.stop();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The link behind the QR code of a server that was just started, by a name that leads there from this machine only. */
async function invitation(): Promise<string> {
  const { port } = await start(['--lan', '--host', '127.0.0.1']);
  const command = [program, 'lan', '--new', '--port', String(port)];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env: programEnvironment() });
  const [, token] = /\/join#(\S+)/.exec(stdout) ?? [];
  return `http://parley.local:${port}/join#${token}`;
}

async function startPhone(flags: readonly string[]): Promise<Browser> {
  const browser = await startChromium([
    '--host-resolver-rules=MAP parley.local 127.0.0.1',
    `--use-file-for-fake-audio-capture=${question}`,
    ...flags,
  ]);
  onTestFinished(() => browser.close());
  return browser;
}

/** A phone that has scanned the QR code and opened its link. Taps count from here on. */
async function scan(
  browser: Browser,
  link: string,
): Promise<{ page: Page; asked: readonly Request[]; tap: (on: Locator) => Promise<number> }> {
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
    reducedMotion: 'reduce',
    serviceWorkers: 'block',
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const heard: string[] = [];
  faults.set(page, heard);
  page.on('pageerror', (error) => heard.push(error.message));
  const asked: Request[] = [];
  page.on('request', (request) => void asked.push(request));
  await page.goto(link);
  let taps = 0;
  const tap = async (on: Locator): Promise<number> => {
    await on.tap();
    taps += 1;
    return taps;
  };
  return { page, asked, tap };
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

async function converses(page: Page): Promise<void> {
  await page
    .locator('article.user', { hasText: /story about a fox/i })
    .first()
    .waitFor();
  const answer = page.locator('article.assistant').first();
  await expect.poll(async () => (await answer.innerText()).length).toBeGreaterThan(5);
}

describe.skipIf(withoutBrowser)('from the QR code of --lan to a spoken conversation', () => {
  test('a phone that trusts the certificate: three taps, and the token does not leave the phone unencrypted', async () => {
    const link = await invitation();
    const browser = await startPhone(['--ignore-certificate-errors']);
    const { page, tap, asked } = await scan(browser, link);
    await button(page, 'Join').waitFor();
    expect(page.url()).toMatch(/^https:\/\/parley\.local:\d+\/join$/);
    expect(await barriers(page)).toEqual([]);
    await tap(button(page, 'Join'));
    const talk = await tap(button(page, 'Talk'));
    // With the question about the microphone.
    expect(talk + 1).toBe(3);
    await converses(page);
    const unencrypted = asked.filter((request) => request.url().startsWith('http://'));
    expect(unencrypted.map((request) => request.postData())).toEqual(unencrypted.map(() => null));
    const [, token = ''] = link.split('#');
    const headers = await Promise.all(unencrypted.map((request) => request.allHeaders()));
    expect(JSON.stringify(headers)).not.toMatch(new RegExp(`${token}|authorization|cookie`));
    expect(faults.get(page)).toEqual([]);
  });

  test('any other phone: six taps, on through the warning of the browser', async () => {
    const link = await invitation();
    const browser = await startPhone([]);
    const { page, tap } = await scan(browser, link);
    await tap(button(page, 'Join'));
    await tap(button(page, 'Open with HTTPS'));
    await tap(page.locator('#details-button'));
    await tap(page.locator('#proceed-link'));
    const talk = await tap(button(page, 'Talk'));
    expect(talk + 1).toBe(6);
    await converses(page);
  });
});
