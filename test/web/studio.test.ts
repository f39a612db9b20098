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
  await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached', timeout: 60_000 });
  await expect.poll(() => drawn(page), { timeout: 10_000 }).toBe(before + 1);
}

describe.skipIf(withoutBrowser)('draw and sound pages', () => {
  test('draw page: text to image, image to image, inpainting, upscaling, history', async () => {
    const server = await start();
    const page = await open(`${server.base}/#/draw`);
    await page.getByLabel('Prompt', { exact: true }).fill('a red apple');
    await page.getByLabel('Width').selectOption('64');
    await page.getByLabel('Height').selectOption('64');
    await page.getByLabel('Steps').fill('3');
    await page.getByLabel('Seed').fill('7');
    await draw(page);
    const first = page.getByRole('img', { name: 'a red apple' });
    expect(await widthOf(first)).toBe(64);
    await page.getByText('Parameters').click();
    expect(await page.locator('pre').textContent()).toMatch(/a red apple[\s\S]*Steps: 3[\s\S]*Seed: 7/);

    await page.getByRole('button', { name: 'Use as source' }).click();
    await draw(page);
    await page.getByRole('button', { name: 'Inpaint' }).click();
    await page.getByRole('button', { name: 'Draw image' }).click();
    await page.getByText('Paint over the part to change.').waitFor();
    const canvas = page.getByLabel('Mask: paint over the part to change');
    await canvas.scrollIntoViewIfNeeded();
    const board = await canvas.boundingBox();
    if (!board) throw new Error('nothing to paint on');
    await page.mouse.move(board.x + 40, board.y + 40);
    await page.mouse.down();
    await page.mouse.move(board.x + 120, board.y + 90, { steps: 3 });
    await page.mouse.up();
    await draw(page);
    await page.getByRole('button', { name: 'Upscale', exact: true }).click();
    await page.getByLabel('Upscaler').selectOption('Lanczos');
    await draw(page, 'Upscale image');
    const larger = page.getByRole('img', { name: 'Upscaled image' });
    expect(await widthOf(larger)).toBe(128);

    expect(await barriers(page)).toEqual([]);
    await page.reload();
    await page.getByRole('list', { name: 'History' }).waitFor();
    expect(await drawn(page)).toBe(4);
    await page.getByRole('button', { name: 'Delete image' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    expect(await drawn(page)).toBe(4);
    expect(faults.get(page)).toEqual([]);
  });

  test('sound page: speaks a text, transcribes a file and the microphone', async () => {
    const server = await start();
    const page = await open(`${server.base}/#/sound`, { permissions: ['microphone'] });
    await page.getByLabel('Text to speak').fill('The weather in Paris is lovely today.');
    await page.getByLabel('Format').selectOption('wav');
    await page.getByRole('button', { name: 'Speak', exact: true }).click();
    const download = page.getByRole('link', { name: 'Download' });
    await download.waitFor();
    const wav = await (await speech(server.base)).arrayBuffer();
    const file = { name: 'speech.wav', mimeType: 'audio/wav', buffer: Buffer.from(wav) };
    await page.getByLabel('Choose a file').setInputFiles(file);
    await page.getByRole('article', { name: 'Transcript' }).waitFor();
    expect((await page.getByRole('article').textContent())?.toLowerCase()).toMatch(/weather in paris/);
    await page.getByRole('button', { name: 'Record' }).click();
    await page.getByRole('timer').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Record' }).waitFor({ timeout: 60_000 });
    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);
  });
});

function speech(base: string): Promise<Response> {
  const body = { model: 'tts-1', input: 'The weather in Paris is lovely today.', voice: 'slt', response_format: 'wav' };
  return fetch(`${base}/v1/audio/speech`, { method: 'POST', body: JSON.stringify(body) });
}
