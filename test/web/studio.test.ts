import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();

async function drawn(page: Page): Promise<number> {
  return page.getByRole('list', { name: 'History' }).getByRole('button').count();
}

function widthOf(image: Locator): Promise<number> {
  return image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth);
}

async function draw(page: Page, button = 'Draw image'): Promise<void> {
  const before = await drawn(page);
  await page.getByRole('button', { name: button, exact: true }).click();
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
  await expect.poll(() => drawn(page)).toBe(before + 1);
}

/** A stroke with the pointer and one with the keyboard. */
async function paint(page: Page): Promise<void> {
  const board = page.getByRole('application', { name: 'Mask' });
  const box = await board.boundingBox();
  if (!box) throw new Error('nothing to paint on');
  await page.mouse.move(box.x + 40, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + 120, box.y + 90, { steps: 3 });
  await page.mouse.up();
  await board.focus();
  await page.keyboard.press('+');
  await page.keyboard.down('Space');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.up('Space');
  await expect.poll(() => page.getByRole('button', { name: 'Undo' }).isEnabled()).toBe(true);
}

describe.skipIf(withoutBrowser)('draw and sound pages', () => {
  test('draw page: text to image, image to image, inpainting, upscaling, history', async () => {
    const server = await start();
    const page = await open(`${server.base}/#/draw`);
    await expect.poll(() => page.title()).toBe('Draw · Parley');
    await page.getByLabel('Prompt', { exact: true }).fill('a red apple');
    await page.getByLabel('Resolution').selectOption('128');
    await page.getByRole('radio', { name: 'Widescreen, 16:9' }).check({ force: true });
    await expect.poll(() => page.getByLabel('Width', { exact: true }).inputValue()).toBe('160');
    await page.getByRole('button', { name: 'Swap width and height' }).click();
    await expect.poll(() => page.getByRole('radio', { name: 'Phone, 9:16' }).isChecked()).toBe(true);
    await page.getByLabel('Width', { exact: true }).fill('64');
    await page.getByLabel('Height', { exact: true }).fill('64');
    await page.getByLabel('Steps').fill('3');
    await page.getByLabel('Seed').fill('7');
    await draw(page);
    const first = page.locator('figure').getByRole('img', { name: 'a red apple' });
    await expect.poll(() => widthOf(first)).toBe(64);
    await page.getByText('Details').click();
    await expect.poll(() => page.locator('figure dl').textContent()).toMatch(/64 × 64.*Seed7.*Steps3/);
    const image = (await first.getAttribute('src'))?.replace(/^.*,/, '') ?? '';

    await page.getByRole('button', { name: 'Use as input' }).click();
    await draw(page);
    await page.getByRole('button', { name: 'Inpaint' }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Draw image' }).click();
    await page.getByText('Paint over the parts to change.').waitFor();
    await page.getByRole('button', { name: 'Paint mask' }).click();
    await paint(page);
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Done' }).click();
    await draw(page);

    // The result can be painted over again: its mask is still there, also after a reload.
    await page.reload();
    await page.getByRole('button', { name: 'Inpaint' }).click();
    const undo = page.getByRole('button', { name: 'Undo' });
    await undo.click();
    await undo.click();
    await expect.poll(() => undo.isDisabled()).toBe(true);
    await page.keyboard.press('Control+Shift+Z');
    await page.getByRole('button', { name: 'Done' }).click();
    await draw(page);

    await page.getByRole('button', { name: 'Upscale', exact: true }).click();
    await page.getByLabel('Upscaler').selectOption('Lanczos');
    await draw(page, 'Upscale image');
    const larger = page.locator('figure').getByRole('img', { name: 'a red apple (upscaled)' });
    await expect.poll(() => widthOf(larger)).toBe(128);
    expect(await barriers(page)).toEqual([]);

    await page.reload();
    await page.getByRole('list', { name: 'History' }).waitFor();
    await expect.poll(() => drawn(page)).toBe(5);
    await page.getByRole('button', { name: 'Select', exact: true }).click();
    await page.getByRole('button', { name: 'Select all' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('heading', { name: 'No images yet' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => drawn(page)).toBe(5);

    await page.getByRole('radio', { name: 'Text' }).check({ force: true });
    await page.getByLabel('Prompt', { exact: true }).fill('something else');
    await page.getByLabel('Import settings').setInputFiles({
      name: 'apple.png',
      mimeType: 'image/png',
      buffer: Buffer.from(image, 'base64'),
    });
    await page.getByText('Settings imported from apple.png.').waitFor();
    await expect.poll(() => page.getByLabel('Prompt', { exact: true }).inputValue()).toBe('a red apple');
    await expect.poll(() => page.getByLabel('Seed').inputValue()).toBe('7');
    await page.getByLabel('Import settings').setInputFiles({
      name: 'notes.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('hello'),
    });
    await page.getByText("Can't use notes.txt: it is not an image.").waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('sound page: speaks a text, transcribes a file and the microphone, keeps both', async () => {
    const server = await start();
    const page = await open(`${server.base}/#/sound`, { permissions: ['microphone'] });
    await expect.poll(() => page.title()).toBe('Sound · Parley');
    await expect
      .poll(() => page.getByRole('combobox', { name: 'Language' }).locator('option').first().textContent())
      .toBe('Auto-detect');
    await page.getByText('There are natural voices in seven languages:').waitFor();
    await page.getByLabel('Text to speak').fill('The weather in Paris is lovely today.');
    await page.getByLabel('Voice').selectOption({ label: 'Awb (Scottish, male)' });
    await page.getByLabel('Format').selectOption('wav');
    await page.getByRole('button', { name: 'Speak', exact: true }).click();
    await page.getByText('The pack voices brings natural voices').waitFor();
    await page.getByRole('status').getByRole('button', { name: 'Show packs' }).click();
    await page.getByRole('button', { name: /^Install voices \(\d+ MB\)/ }).waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('Escape');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download', exact: true }).click();
    expect((await download).suggestedFilename()).toBe('The weather in Paris is lovely today.wav');
    const wav = await (await speech(server.base)).arrayBuffer();
    const file = { name: 'weather.wav', mimeType: 'audio/wav', buffer: Buffer.from(wav) };
    await page.getByLabel('Choose a file').setInputFiles(file);
    await page.getByRole('article', { name: 'Transcript' }).waitFor();
    await expect
      .poll(async () => (await page.getByRole('article').textContent())?.toLowerCase())
      .toMatch(/weather in paris/);
    await page.getByLabel('Choose a file').setInputFiles({ ...file, name: 'notes.txt', mimeType: 'text/plain' });
    await page.getByText("Can't transcribe notes.txt: unsupported file type.").waitFor();
    await page.getByRole('button', { name: 'Record' }).click();
    await page.getByRole('timer').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Record' }).waitFor();
    expect(await barriers(page)).toEqual([]);

    await page.reload();
    const history = page.getByRole('list', { name: 'History' });
    await page.getByRole('article', { name: 'Transcript' }).waitFor();
    await history.getByText('Awb (Scottish, male)').waitFor();
    await page.getByRole('button', { name: 'Actions: The weather in Paris is lovely today.' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await history.getByText('Awb (Scottish, male)').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await history.getByText('Awb (Scottish, male)').waitFor();
    expect(faults.get(page)).toEqual([]);
  });
});

describe.skipIf(withoutBrowser)('Ctrl+Enter', () => {
  test('sends nothing while a field is invalid, as the button', async () => {
    const server = await start();
    const page = await open(`${server.base}/#/draw`);
    const sent: string[] = [];
    await page.route(/\/(txt2img|speech)$/, (route) => {
      sent.push(route.request().url());
      return route.abort();
    });
    const isFocused = (label: string) => page.evaluate(`document.activeElement.labels[0].innerText === '${label}'`);
    const prompt = page.getByLabel('Prompt', { exact: true });
    await prompt.fill('a red apple');
    await page.getByRole('spinbutton', { name: 'Images' }).fill('99');
    await prompt.press('Control+Enter');
    // The browser shows the field.
    await expect.poll(() => isFocused('Images'), { timeout: 10_000 }).toBe(true);
    await page.goto(`${server.base}/#/sound`);
    const text = page.getByLabel('Text to speak');
    await text.fill('Hello');
    await page.getByRole('spinbutton', { name: 'Speed' }).fill('9');
    await text.press('Control+Enter');
    await expect.poll(() => isFocused('Speed'), { timeout: 10_000 }).toBe(true);
    expect(sent).toEqual([]);
  });
});

describe.skipIf(withoutBrowser)('the microphone', () => {
  test('sound page: is opened once by a double click, and not after the page is left', async () => {
    const server = await start();
    const page = await open(`${server.base}/#/sound`, { permissions: ['microphone'] });
    // The browser asks first whether the page may use it.
    await page.evaluate(`
      globalThis.streams = [];
      const waiting = [];
      globalThis.allow = () => { for (const go of waiting.splice(0)) go(); };
      const { getUserMedia } = MediaDevices.prototype;
      MediaDevices.prototype.getUserMedia = async function (asked) {
        await new Promise((resolve) => waiting.push(resolve));
        streams.push(await getUserMedia.call(this, asked));
        return streams.at(-1);
      };`);
    const isOn = () => page.evaluate('streams.map((stream) => stream.active)');
    const record = page.getByRole('button', { name: 'Record' });
    await record.dblclick();
    await page.evaluate('allow()');
    await page.getByRole('timer').waitFor();
    expect(await isOn()).toEqual([true]);
    await page.getByRole('button', { name: 'Stop' }).click();
    await expect.poll(isOn).toEqual([false]);
    await record.click();
    await page.getByRole('link', { name: 'Chat' }).first().click();
    await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor();
    await page.evaluate('allow()');
    await expect.poll(isOn).toEqual([false, false]);
    await page.getByRole('link', { name: 'Sound' }).first().click();
    await record.waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('dictation: is opened once by a double click; the text goes into the chat where it was stopped', async () => {
    const server = await start();
    const page = await open(`${server.base}/#/chat`, { permissions: ['microphone'], settings: { replyLength: 4 } });
    const field = page.getByRole('textbox', { name: 'Message', exact: true });
    await field.fill('Hello');
    await field.press('Enter');
    await expect.poll(() => page.url()).toContain('#/chat/');
    await page.locator('article.assistant.last').waitFor();
    const answers: (() => void)[] = [];
    await page.route('**/v1/audio/transcriptions', async (route) => {
      await new Promise<void>((resolve) => answers.push(resolve));
      await route.fulfill({ json: { text: 'Two words.' } });
    });
    await page.evaluate(`
      globalThis.asked = 0;
      const { getUserMedia } = MediaDevices.prototype;
      MediaDevices.prototype.getUserMedia = function (options) {
        globalThis.asked += 1;
        return getUserMedia.call(this, options);
      };`);
    const dictate = async (): Promise<void> => {
      await page.getByText('0:01').waitFor();
      await page.getByRole('button', { name: 'Stop recording' }).click();
      await expect.poll(() => answers.length, { timeout: 10_000 }).toBe(1);
    };
    await page.evaluate(`
      for (let click = 0; click < 2; click += 1) document.querySelector('button[aria-label="Dictate"]').click();`);
    await dictate();
    expect(await page.evaluate('asked')).toBe(1);
    const chat = page.url();
    await page.goto(`${server.base}/#/chat`);
    answers.shift()?.();
    await page.getByRole('button', { name: 'Dictate' }).waitFor();
    expect(await field.inputValue()).toBe('');
    await page.goto(chat);
    await expect.poll(() => field.inputValue()).toBe('Two words.');
    // Another page has no message field.
    await page.getByRole('button', { name: 'Dictate' }).click();
    await dictate();
    await page.getByRole('link', { name: 'Draw' }).first().click();
    await page.getByLabel('Prompt', { exact: true }).waitFor();
    answers.shift()?.();
    await page.goto(chat);
    await expect.poll(() => field.inputValue()).toBe('Two words. Two words.');
    expect(faults.get(page)).toEqual([]);
  });
});

describe.skipIf(withoutBrowser)('work that ends on another page', () => {
  test('a transcription does not go back to the Sound page; a notice opens it', async () => {
    const server = await start();
    const page = await open(`${server.base}/#/sound`);
    let answer: (() => void) | undefined;
    await page.route('**/v1/audio/transcriptions', async (route) => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      await route.fulfill({ json: { text: 'Hello from the tape.', duration: 1, segments: [] } });
    });
    const file = { name: 'tape.wav', mimeType: 'audio/wav', buffer: Buffer.from('sound') };
    await page.getByLabel('Choose a file').setInputFiles(file);
    await expect.poll(() => answer).toBeDefined();
    await page.getByRole('link', { name: 'Chat' }).first().click();
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('I am typing');
    answer?.();
    await page.getByText('The transcript of tape.wav is ready.').waitFor();
    expect(new URL(page.url()).hash).toMatch(/^#\/chat/);
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('status').getByRole('button', { name: 'Open' }).click();
    await page.getByRole('article', { name: 'Transcript' }).getByText('Hello from the tape.').waitFor();
    expect(faults.get(page)).toEqual([]);
  });
});

function speech(base: string): Promise<Response> {
  const body = { model: 'tts-1', input: 'The weather in Paris is lovely today.', voice: 'slt', response_format: 'wav' };
  return fetch(`${base}/v1/audio/speech`, { method: 'POST', body: JSON.stringify(body) });
}
