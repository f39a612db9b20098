import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startChromium } from '../../bench/chromium.ts';
import { wavOf } from '../../src/protocols/realtime/audio-buffer.ts';
import { type LiveServer, liveServers } from '../live/server.ts';
import { barriers, withoutBrowser } from './browser.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-talk-'));
const rate = 24_000;
let server: LiveServer;
let browser: Browser;

/** The voice of the server says this into the microphone of the browser, again and again, with pauses in between. */
beforeAll(async () => {
  if (withoutBrowser) return;
  server = await start();
  const body = JSON.stringify({ input: 'What is the capital of France?', response_format: 'pcm' });
  const reply = await fetch(`${server.base}/v1/audio/speech`, { method: 'POST', body });
  const speech = new Int16Array(await reply.arrayBuffer());
  const recording = new Int16Array(2 * rate + speech.length + 6 * rate);
  recording.set(speech, 2 * rate);
  const file = join(folder, 'question.wav');
  writeFileSync(file, wavOf(recording, rate));
  browser = await startChromium([
    `--use-file-for-fake-audio-capture=${file}`,
    '--autoplay-policy=no-user-gesture-required',
  ]);
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

async function open(): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  await page.goto(`${server.base}/`);
  return page;
}

describe.skipIf(withoutBrowser)('Talk', () => {
  test('what is said on both sides: becomes messages of the chat', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Talk' }).click();
    const panel = page.getByRole('region', { name: 'Spoken conversation' });
    await panel.getByText('Listening').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page
      .locator('article.user', { hasText: /capital of France/i })
      .first()
      .waitFor();
    const answer = page.locator('article.assistant').first();
    await answer.waitFor();
    await expect.poll(async () => (await answer.innerText()).length).toBeGreaterThan(5);
    await panel.getByRole('button', { name: 'Switch the microphone off' }).click();
    await panel.getByText('Microphone off').waitFor();
    await panel.getByRole('button', { name: 'End the conversation' }).click();
    await panel.waitFor({ state: 'detached' });
    // The messages stay, and typed ones follow them.
    expect(await page.locator('article.user').count()).toBeGreaterThanOrEqual(1);
    await page.context().close();
  });

  test('a page that may not use the microphone: says why', async () => {
    const page = await open();
    await page.addInitScript('Object.defineProperty(navigator, "mediaDevices", { value: undefined })');
    await page.reload();
    await page.getByRole('button', { name: 'Talk' }).click();
    const panel = page.getByRole('region', { name: 'Spoken conversation' });
    await panel.getByRole('alert').filter({ hasText: 'only on secure pages' }).waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await page.context().close();
  });
});
