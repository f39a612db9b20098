import { describe, expect, test } from 'vitest';
import { liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();

describe.skipIf(withoutBrowser)('inspector page', () => {
  test('shows a request that arrives, its parts, and the same in other dialects', async () => {
    const { base } = await start(['--admin', '--inspect', '5', '--ctx-size', '1024']);
    const send = (path: string, body: object) =>
      fetch(base + path, { method: 'POST', body: JSON.stringify(body) }).then((response) => response.text());
    const page = await open(`${base}/inspector`);
    await page.getByText('No requests yet.').waitFor();

    await send('/v1/messages', { messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 6, temperature: 0 });
    await send('/api/generate', { prompt: '', keep_alive: 'wrong' });
    const link = page.getByRole('link', { name: /\/v1\/messages/ });
    await link.waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('messages');
    await page.getByRole('link', { name: /\/api\/generate/ }).waitFor({ state: 'detached' });
    await page.getByLabel('Search requests').fill('');
    await page.getByLabel('Outcome').selectOption('refused');
    await link.waitFor({ state: 'detached' });
    await page.getByLabel('Outcome').selectOption('');
    await link.click();

    // Side by side.
    const own = page.getByRole('region', { name: 'Anthropic Messages', exact: true });
    await own.getByText('"type": "message"').waitFor();
    await page
      .getByRole('region', { name: 'OpenAI chat completions', exact: true })
      .getByText('"chat.completion"')
      .waitFor();
    await page.getByRole('button', { name: 'Ollama' }).click();
    const ollama = page.getByRole('region', { name: 'Ollama', exact: true });
    await ollama.getByText('"num_predict": 6').waitFor();
    await page.getByText('Streamed', { exact: true }).click();
    await own.getByText('event: message_stop').waitFor();
    expect(await barriers(page)).toEqual([]);

    // The parts, with the arrow keys.
    await page.getByRole('tab', { name: 'In every dialect' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByText('"content": "Say hello."').waitFor();
    await page.getByRole('tab', { name: 'Neutral' }).click();
    await page.getByText('"continueAssistantTurn": true').waitFor();
    await page.getByRole('tab', { name: 'Prompt' }).click();
    await page.locator('mark', { hasText: '<|im_start|>' }).first().waitFor();
    await page.getByRole('tab', { name: 'Events' }).click();
    await page.getByRole('cell', { name: 'finish' }).waitFor();
    await page.getByRole('tab', { name: 'Response' }).click();
    await page.getByRole('heading', { name: 'Status 200' }).waitFor();
    await page.getByRole('tab', { name: 'Timings' }).click();
    await page.getByRole('row', { name: /Writing the reply/ }).waitFor();
    expect(await barriers(page)).toEqual([]);

    await page.getByRole('button', { name: 'Forget all' }).click();
    await page.getByText('No requests yet.').waitFor();
    expect(faults.get(page)).toEqual([]);
  });

  test('off: tells how to start it', async () => {
    const { base } = await start(['--admin', '--nomodel']);
    const page = await open(`${base}/inspector`, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await page.getByText('parley --admin --inspect 100').waitFor();
    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);
  });
});
