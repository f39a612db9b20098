import { describe, expect, test } from 'vitest';
import { liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();

describe.skipIf(withoutBrowser)('pages of a password-protected server', () => {
  test('API page: finds an endpoint, sends a request with a key, shows the stream', async () => {
    const server = await start(['--password', 'secret']);
    const page = await open(`${server.base}/api`);
    await page.getByRole('heading', { name: 'One server, every API' }).waitFor();

    await page.keyboard.press('/');
    await page.keyboard.type('chat completions');
    await page.getByRole('link', { name: 'POST /v1/chat/completions', exact: true }).click();
    await page.getByRole('heading', { name: '/v1/chat/completions' }).waitFor();
    await page.getByText('reasoning_effort', { exact: true }).first().waitFor();

    const body = page.getByLabel('Request body');
    await body.fill('{ "messages": ');
    await expect.poll(() => page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true);
    await body.fill(
      JSON.stringify({ messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 40, stream: true }),
    );
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('401 Unauthorized').waitFor();

    await page.getByLabel('Key', { exact: true }).fill('secret');
    await body.press('Control+Enter');
    await page.getByText('200 OK').waitFor();
    await page.getByRole('region', { name: 'Response' }).getByText('· total').waitFor();
    await expect
      .poll(async () => (await page.getByRole('region', { name: 'Text' }).textContent())?.trim())
      .not.toBe('');
    await page.getByText('Events (').click();
    await expect.poll(() => page.getByRole('region', { name: 'Events' }).textContent()).toContain('[DONE]');
    expect(await barriers(page)).toEqual([]);
    // The refusal without the key was meant.
    expect(faults.get(page)?.filter((fault) => !fault.includes('401'))).toEqual([]);

    // A narrow page has the list behind a button; the link to the content keeps the address.
    const chosen = page.url();
    await page.setViewportSize({ width: 390, height: 844 });
    const list = page.getByRole('navigation', { name: 'Endpoints' });
    await list.waitFor({ state: 'hidden' });
    await page.getByRole('link', { name: 'Skip to content' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main');
    expect(page.url()).toBe(chosen);
    await page.getByRole('button', { name: 'Endpoints' }).click();
    await list.getByRole('link', { name: 'POST /v1/chat/completions/input_tokens', exact: true }).click();
    await page.getByRole('heading', { name: '/v1/chat/completions/input_tokens' }).waitFor();
    await list.waitFor({ state: 'hidden' });

    // A browser without scripts has a plain list, and a form that answers once it has the key.
    const plain = await open(`${server.base}/api?plain=1`, {
      javaScriptEnabled: false,
      httpCredentials: { username: 'anybody', password: 'secret' },
    });
    await plain.getByRole('heading', { name: 'Endpoints of Parley' }).waitFor();
    await plain.goto(`${server.base}/noscript`);
    await plain.getByLabel('Text', { exact: true }).fill('Say hello.');
    await plain.getByLabel('Maximum length in tokens').fill('24');
    await plain.getByRole('button', { name: 'Send' }).click();
    await plain.getByRole('heading', { name: 'Next message' }).waitFor();
    await expect.poll(async () => (await plain.getByLabel('Answer').locator('pre').textContent())?.trim()).not.toBe('');
    await expect.poll(() => plain.locator('input[name=turn]').count()).toBe(2);
  });
});
