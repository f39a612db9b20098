import { describe, expect, test } from 'vitest';
import { untrainedServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = untrainedServers();
const open = browserPages();

const note = (words: string) => ({
  role: 'system',
  content: `${words} ${'Count the birds on the shore. '.repeat(60)}`,
});
const user = (content: string) => ({ role: 'user', content });

describe.skipIf(withoutBrowser)('conversations page', () => {
  test('explains itself, shows turns, side requests and what was computed again, and says when it is off', async () => {
    const { base } = await start(['--ctx-size', '2048']);
    const page = await open(`${base}/conversations`, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await page.getByRole('heading', { name: 'See where the time of your agents goes' }).waitFor();
    expect(await barriers(page)).toEqual([]);

    const ask = async (messages: readonly object[]): Promise<object> => {
      const headers = { 'user-agent': 'claude-cli/2.1.325 (external, cli)' };
      const body = JSON.stringify({ messages, max_tokens: 4, temperature: 0 });
      const response = await fetch(`${base}/v1/chat/completions`, { method: 'POST', headers, body });
      return ((await response.json()) as { choices: [{ message: object }] }).choices[0].message;
    };
    const chat: object[] = [note('It is 12:30.'), user('How many are there?')];
    chat.push(await ask(chat), user('And now?'));
    await ask([user('### Task:\nGenerate a concise title summarizing the chat history.')]);
    chat.push(await ask(chat), user('And in the evening?'));
    await ask([note('It is 12:31.'), ...chat.slice(1)]);

    await page.getByRole('heading', { name: 'What lost the most' }).waitFor();
    const loss = page.getByRole('main').getByRole('region', { name: 'Claude Code #1' });
    await loss.getByText('The prompt differs from that of the turn before at token').waitFor();
    await loss.getByText('A date or a time near the beginning').waitFor();
    await page.getByRole('button', { name: 'Conversations' }).click();
    await page.getByRole('link', { name: /#1/ }).click();
    await page.getByRole('row', { name: /Turn 3 0 cached|Turn 3 \d+ cached/ }).waitFor();
    await page.getByRole('rowheader', { name: 'Title' }).waitFor();
    expect(await page.getByRole('row').count()).toBe(5);
    await page.getByRole('region', { name: 'Computed again' }).locator('mark').first().waitFor();
    expect(await barriers(page)).toEqual([]);
    // It is longer than the window now, and has nothing in it that takes the focus.
    await page.setViewportSize({ width: 390, height: 500 });
    expect(await barriers(page)).toEqual([]);

    await page.getByRole('button', { name: 'Conversations' }).click();
    await page.getByRole('button', { name: 'Forget all' }).click();
    await page.getByRole('heading', { name: 'See where the time of your agents goes' }).waitFor();

    const off = { enabled: false, conversations: [] };
    await page.route('**/api/extra/conversations', (route) => route.fulfill({ json: off }));
    await page.getByText('--noagentreport').waitFor();
    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);
  });
});
