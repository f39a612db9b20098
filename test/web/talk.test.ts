import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startChromium } from '../../bench/chromium.ts';
import { wavOf } from '../../src/protocols/realtime/audio-buffer.ts';
import { neverEnding } from '../live/client.ts';
import { type LiveServer, liveServers } from '../live/server.ts';
import { barriers, withoutBrowser } from './browser.ts';
import { ScriptedDocuments } from './scripted-documents.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-talk-'));
const rate = 24_000;
let server: LiveServer;
let browser: Browser;

/**
 * The voice of the server says this into the microphone of the browser, again and again, with pauses in between. No answer ends by
 * itself: it is spoken for longer than the pauses.
 */
beforeAll(async () => {
  if (withoutBrowser) return;
  server = await start(['--gendefaults', JSON.stringify({ temperature: 0, ...neverEnding })]);
  const body = JSON.stringify({ input: 'Tell me a story about a fox.', response_format: 'pcm' });
  const reply = await fetch(`${server.base}/v1/audio/speech`, { method: 'POST', body });
  const speech = new Int16Array(await reply.arrayBuffer());
  const recording = new Int16Array(2 * rate + speech.length + 3 * rate);
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
  onTestFinished(() => context.close());
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  await page.addInitScript(watchSound);
  await page.goto(`${server.base}/`);
  return page;
}

/** Keeps how many pieces of sound the page plays or has scheduled, how many seconds it has played, and its microphone. */
const watchSound = `
  globalThis.sounds = 0;
  globalThis.secondsPlayed = 0;
  const { start } = AudioBufferSourceNode.prototype;
  AudioBufferSourceNode.prototype.start = function (...at) {
    sounds += 1;
    this.addEventListener('ended', () => {
      sounds -= 1;
      secondsPlayed += this.buffer.duration;
    });
    return start.apply(this, at);
  };
  const { getUserMedia } = MediaDevices.prototype;
  MediaDevices.prototype.getUserMedia = async function (asked) {
    globalThis.microphone = await getUserMedia.call(this, asked);
    return microphone;
  };`;

interface RealtimeEvent {
  readonly type: string;
  readonly [name: string]: unknown;
}

interface RetrievedItem {
  readonly item: { readonly content: readonly [{ readonly transcript: string }] };
}

/** The events of the conversation in both directions, as they pass. */
function eventsOf(page: Page): RealtimeEvent[] {
  const events: RealtimeEvent[] = [];
  const keep = ({ payload }: { readonly payload: string | Buffer }) => {
    events.push(JSON.parse(String(payload)) as RealtimeEvent);
  };
  page.on('websocket', (socket) => {
    if (!socket.url().includes('/v1/realtime')) return;
    socket.on('framesent', keep);
    socket.on('framereceived', keep);
  });
  return events;
}

describe.skipIf(withoutBrowser)('Talk', () => {
  test('what is said on both sides: becomes messages of the chat', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Talk' }).click();
    const panel = page.getByRole('region', { name: 'Spoken conversation' });
    await panel.getByText('Listening').waitFor();
    expect(await barriers(page)).toEqual([]);
    // Otherwise the answer would interrupt itself.
    expect(await page.evaluate('microphone.getAudioTracks()[0].getSettings().echoCancellation')).toBe(true);
    await page
      .locator('article.user', { hasText: /story about a fox/i })
      .first()
      .waitFor();
    const answer = page.locator('article.assistant').first();
    await answer.waitFor();
    await expect.poll(async () => (await answer.innerText()).length).toBeGreaterThan(5);
    await panel.getByRole('button', { name: 'Switch the microphone off' }).click();
    await panel.getByText('The microphone is off.').waitFor();
    await panel.getByRole('button', { name: 'End the conversation' }).click();
    await panel.waitFor({ state: 'detached' });
    // The messages stay, and typed ones follow them.
    expect(await page.locator('article.user').count()).toBeGreaterThanOrEqual(1);
    await page.context().close();
  });

  test('somebody who speaks during the answer: is heard, and the answer ends where it was interrupted', async () => {
    const page = await open();
    const events = eventsOf(page);
    const find = (type: string) => events.find((event) => event.type === type);
    await page.getByRole('button', { name: 'Talk' }).click();
    const panel = page.getByRole('region', { name: 'Spoken conversation' });
    const questions = page.locator('article.user');
    const answers = page.locator('article.assistant');
    await questions.first().waitFor();
    // The recording goes on, and is heard again when the microphone is switched on.
    await panel.getByRole('button', { name: 'Switch the microphone off' }).click();
    await panel.getByText('Speaking').waitFor();
    // Long enough for the first words.
    await expect.poll(() => page.evaluate('secondsPlayed')).toBeGreaterThan(2);
    const asked = await questions.count();
    const answer = answers.last();
    events.length = 0;
    await panel.getByRole('button', { name: 'Switch the microphone on' }).click();
    await expect.poll(() => find('conversation.item.truncated')).toMatchObject({ audio_end_ms: expect.any(Number) });
    await expect.poll(() => page.evaluate('sounds')).toBe(0);
    await answer.getByText('Interrupted.').waitFor();
    const heard = (find('conversation.item.retrieved') as unknown as RetrievedItem).item.content[0].transcript;
    expect(heard).not.toBe('');
    expect(await answer.locator('.text').innerText()).toBe(heard.trim());
    await questions.nth(asked).waitFor();
    await panel.getByRole('button', { name: 'Switch the microphone off' }).click();
    await page.locator('article.user ~ article.assistant.last').waitFor();
    await panel.getByText('Speaking').waitFor();
    await page.context().close();
  });

  test('an answer that is stopped: nothing that arrives of it later is shown or heard', async () => {
    const page = await open();
    const sent: RealtimeEvent[] = [];
    const second = Buffer.alloc(2 * rate).toString('base64');
    await page.routeWebSocket(/v1\/realtime/, (socket) => {
      const tell = (type: string, more: object) => socket.send(JSON.stringify({ type, ...more }));
      const say = (item_id: string, delta: string) =>
        tell('response.output_audio_transcript.delta', { item_id, delta });
      const playMinute = (item_id: string) => {
        for (let count = 0; count < 60; count += 1) tell('response.output_audio.delta', { item_id, delta: second });
      };
      const retrieved = (id: unknown, transcript: string) =>
        tell('conversation.item.retrieved', { item: { id, content: [{ transcript }] } });
      const over = () => tell('response.done', { response: { status: 'cancelled' } });
      socket.onMessage((message) => {
        const event = JSON.parse(String(message)) as RealtimeEvent;
        sent.push(event);
        switch (event.type) {
          case 'session.update':
            tell('session.updated', {});
            tell('response.created', {});
            say('first', 'Once upon a time, ');
            playMinute('first');
            break;
          case 'response.cancel':
            // Sent before the server knew.
            say('first', 'there was a fox. ');
            playMinute('first');
            over();
            break;
          case 'conversation.item.retrieve':
            retrieved(event.item_id, event.item_id === 'first' ? 'Once upon ' : '');
            break;
          case 'response.create':
            // The sentence is written, its sound is not made yet, and somebody speaks.
            tell('response.created', {});
            say('second', 'Nobody hears this.');
            tell('input_audio_buffer.speech_started', {});
            over();
            break;
        }
      });
    });
    await page.getByRole('button', { name: 'Talk' }).click();
    const panel = page.getByRole('region', { name: 'Spoken conversation' });
    await panel.getByText('Speaking').waitFor();
    await panel.getByRole('button', { name: 'Stop the answer' }).click();
    const [first, nothing] = [page.locator('article.assistant').first(), page.locator('article.assistant').nth(1)];
    await first.getByText('Interrupted.').waitFor();
    expect(await first.locator('.text').innerText()).toBe('Once upon');
    await expect.poll(() => page.evaluate('sounds')).toBe(0);
    await page.getByRole('textbox', { name: 'Message' }).fill('Go on.');
    await page.keyboard.press('Enter');
    await nothing.getByText('Interrupted.').waitFor();
    expect(await nothing.locator('.text').count()).toBe(0);
    expect(sent.filter(({ type }) => type === 'conversation.item.truncate')).toMatchObject([
      { item_id: 'first' },
      { item_id: 'second', audio_end_ms: 0 },
    ]);
    await page.context().close();
  });

  test('a typed message with more than text is sent as in any chat', async () => {
    const page = await open();
    const documents = new ScriptedDocuments();
    const { id } = documents.add('Manual', { 'tea.txt': 'Tea is served at four.' });
    await documents.serve(page, server.base);
    const asked: object[] = [];
    await page.route('**/v1/chat/completions', (route) => {
      asked.push(route.request().postDataJSON() as object);
      return route.fulfill({ contentType: 'text/event-stream', body: 'data: [DONE]\n\n' });
    });
    const said: RealtimeEvent[] = [];
    await page.routeWebSocket(/v1\/realtime/, (socket) => {
      socket.onMessage((message) => {
        const event = JSON.parse(String(message)) as RealtimeEvent;
        if (event.type === 'session.update') socket.send(JSON.stringify({ type: 'session.updated' }));
        if (event.type === 'conversation.item.create') said.push(event);
      });
    });
    await page.reload();
    await page.getByRole('button', { name: 'Talk' }).click();
    await page.getByRole('region', { name: 'Spoken conversation' }).getByText('Listening').waitFor();
    const field = page.getByRole('textbox', { name: 'Message', exact: true });
    await field.pressSequentially('#man');
    await page.getByRole('option').click();
    await field.fill('When is tea served?');
    await page.keyboard.press('Enter');
    await expect.poll(() => documents.searches).toMatchObject([{ collections: [id] }]);
    await expect.poll(() => asked).toHaveLength(1);
    await page.getByRole('button', { name: 'Prefill the reply' }).click();
    await page.getByLabel('Start of the reply').fill('Well,');
    await field.fill('And today?');
    await page.keyboard.press('Enter');
    await expect.poll(() => asked).toHaveLength(2);
    expect(JSON.stringify(asked[1])).toContain('Well,');
    expect(said).toEqual([]);
    await page.context().close();
  });

  test('a chat with a character: it is the character that answers', async () => {
    const page = await open();
    const sent: RealtimeEvent[] = [];
    await page.routeWebSocket(/v1\/realtime/, (socket) => {
      const tell = (type: string, more: object) => socket.send(JSON.stringify({ type, ...more }));
      socket.onMessage((message) => {
        const event = JSON.parse(String(message)) as RealtimeEvent;
        sent.push(event);
        if (event.type !== 'conversation.item.create') return;
        tell('conversation.item.input_audio_transcription.completed', { transcript: 'Good evening.' });
        tell('response.created', {});
        tell('response.output_audio_transcript.delta', { item_id: 'first', delta: 'Mind the oil, {{user}}.' });
        tell('response.done', { response: { status: 'completed' } });
      });
    });
    await page.getByRole('button', { name: /^Play/ }).click();
    const data = { name: 'Ada', description: '{{char}} mends engines for {{user}}.', first_mes: 'Come in, {{user}}.' };
    const card = Buffer.from(JSON.stringify({ spec: 'chara_card_v3', spec_version: '3.0', data }));
    await page
      .getByLabel('Character cards to import')
      .setInputFiles({ name: 'ada.json', mimeType: 'application/json', buffer: card });
    await page.getByText('Come in, You.').waitFor();
    await page.getByRole('button', { name: 'Talk', exact: true }).click();
    await page.locator('article.user', { hasText: 'Good evening.' }).waitFor();
    const answer = page.locator('article.assistant').nth(1);
    await answer.getByText('Mind the oil, You.').waitFor();
    expect(await answer.getAttribute('aria-label')).toBe('Ada');
    const [update, greeting] = sent.filter(({ type }) => type !== 'input_audio_buffer.append');
    expect(JSON.stringify(update)).toContain('Ada mends engines for You.');
    expect(JSON.stringify(greeting)).toContain('Come in, You.');
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
