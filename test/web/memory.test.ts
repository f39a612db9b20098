import { describe, expect, test } from 'vitest';
import { untrainedServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = untrainedServers();
const open = browserPages();

describe.skipIf(withoutBrowser)('memory', () => {
  test('a fact is added, pinned, changed, forgotten and brought back', async () => {
    const { base } = await start(['--ctx-size', '4096']);
    const page = await open(`${base}/#/knowledge/memory`, { viewport: { width: 390, height: 844 } });
    await page.getByText('Nothing is remembered yet.').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByLabel('New fact').fill('My dog is called Rex.');
    await page.getByRole('button', { name: 'Remember', exact: true }).click();
    await page.getByRole('button', { name: 'Pin: My dog is called Rex.' }).click();
    await page.getByRole('button', { name: 'Unpin: My dog is called Rex.' }).waitFor();
    await page.getByRole('button', { name: 'Edit: My dog is called Rex.' }).click();
    await page.getByRole('textbox', { name: 'Edit: My dog is called Rex.' }).fill('My cat is called Tom.');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('My cat is called Tom.').waitFor();
    expect(await barriers(page)).toEqual([]);
    expect(await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await page.getByRole('button', { name: 'Forget: My cat is called Tom.' }).click();
    await page.getByText('Nothing is remembered yet.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Unpin: My cat is called Tom.' }).waitFor();
    const { memories } = (await (await fetch(`${base}/api/extra/memories`)).json()) as { memories: object[] };
    expect(memories).toMatchObject([{ text: 'My cat is called Tom.', pinned: true }]);
    expect(faults.get(page)).toEqual([]);
  });

  test('what a message asks to remember is kept after a click, and goes with the next message', async () => {
    const { base } = await start(['--ctx-size', '4096']);
    for (const { id } of ((await (await fetch(`${base}/api/extra/memories`)).json()) as { memories: { id: string }[] })
      .memories)
      await fetch(`${base}/api/extra/memories/${id}`, { method: 'DELETE' });
    const page = await open(`${base}/#/chat`);
    const asked: { messages: { content: string }[] }[] = [];
    await page.route('**/v1/chat/completions', (route) => {
      asked.push(route.request().postDataJSON());
      const chunk = (choice: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
      const body = `${chunk({ delta: { content: 'Yes.' } })}${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`;
      return route.fulfill({ contentType: 'text/event-stream', body });
    });
    const field = page.getByRole('textbox', { name: 'Message', exact: true });
    await field.fill('Remember that my dog is called Rex.');
    await field.press('Enter');
    await page.getByText('Remember “My dog is called Rex.”?').waitFor();
    await page.getByRole('button', { name: 'Remember', exact: true }).click();
    await page.getByText('Remembered.', { exact: true }).waitFor();
    await page.locator('article.assistant').first().waitFor();
    await field.fill('What is the name of my dog Rex?');
    await field.press('Enter');
    const last = page.locator('article.user').last();
    await last.getByText('One memory went with it').click();
    await last.getByRole('listitem').getByText('My dog is called Rex.').waitFor();
    expect(asked.at(-1)?.messages.at(-1)?.content).toContain('- My dog is called Rex.]');
    expect(faults.get(page)).toEqual([]);
  });

  test('facts of a chat are suggested by the model, and only those that are chosen are kept', async () => {
    const { base } = await start(['--ctx-size', '4096']);
    const page = await open(`${base}/#/chat`);
    const kept: unknown[] = [];
    await page.route('**/api/extra/memories/suggest', (route) =>
      route.fulfill({ json: { suggestions: ['Lives in Graz.', 'Likes tea.'] } }),
    );
    await page.route('**/api/extra/memories', (route) => {
      kept.push(route.request().postDataJSON());
      return route.fulfill({
        json: { id: 'x', text: '', character: null, pinned: false, created_at: 0, changed_at: 0 },
      });
    });
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Hello!');
    await page.getByRole('textbox', { name: 'Message', exact: true }).press('Enter');
    await page.locator('article.assistant').first().waitFor();
    await page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Chat menu' }).click();
    await page.getByRole('menuitem', { name: 'Remember from this chat' }).click();
    await page.getByRole('checkbox', { name: 'Keep fact 2' }).uncheck();
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remember one fact' }).click();
    await page.getByText('Remembered.', { exact: true }).waitFor();
    expect(kept).toEqual([{ text: 'Lives in Graz.' }]);
  });
});
