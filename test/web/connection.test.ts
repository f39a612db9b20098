import { expect, test } from 'vitest';
import { liveServers } from '../live/server.ts';
import { barriers, browserPages, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();
const flags = ['--lan', '--host', '127.0.0.1', '--nomodel'];

test.skipIf(withoutBrowser)('Connect a device: shows a code until a phone has used it', async () => {
  const server = await start(flags);
  const lan = {
    enabled: true,
    public: true,
    unnamed: [],
    names: ['parley.local'],
    port: server.port,
    fingerprint: 'A',
  };
  const page = await open('about:blank');
  await page.route('**/api/extra/lan', (route) => route.fulfill({ json: { ...lan, addresses: ['192.168.1.5'] } }));
  await page.goto(`http://localhost:${server.port}/`);
  await page.getByRole('button', { name: 'Connect a device' }).click();
  const link = page.getByRole('dialog').getByText(/\/join#/);
  await link.waitFor();
  expect(await link.textContent()).toMatch(`http://192.168.1.5:${server.port}/join#`);
  await page.getByRole('combobox').selectOption({ label: `parley.local:${server.port}` });
  expect(await link.textContent()).toMatch(`http://parley.local:${server.port}/join#`);
  expect(await barriers(page)).toEqual([]);
  const join = async () => {
    const token = (await link.textContent())?.split('#')[1];
    const reply = await fetch(`${server.base}/api/extra/join`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    });
    return ((await reply.json()) as { name?: string }).name;
  };
  expect(await join()).toBe('Phone');
  await link.waitFor({ state: 'detached' });

  // The next device has another name.
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Connect a device' }).click();
  await link.waitFor();
  expect(await join()).toBe('Phone 2');
});

test.skipIf(withoutBrowser)('Connect a device: says how to open a server that is closed', async () => {
  const page = await open(`${(await start(['--nomodel'])).base}/`);
  await page.getByRole('button', { name: 'Connect a device' }).click();
  await page.getByText('parley --lan', { exact: true }).waitFor();
});

test.skipIf(withoutBrowser)(
  '/lan: three pictures for each system, the certificate, and how to go on without',
  async () => {
    const server = await start(flags);
    const page = await open(`${server.base}/lan`);
    for (const [system, file] of [
      ['iPhone, iPad', 'lan/parley.mobileconfig'],
      ['Android', 'lan/authority.crt'],
      ['Windows', 'lan/authority.crt'],
      ['Mac', 'lan/authority.crt'],
      ['Linux', 'lan/authority.crt'],
    ] as const) {
      await page.getByText(system, { exact: true }).click();
      expect(await page.locator('li svg').count()).toBe(3);
      const link = page.getByRole('link', { name: 'Download the certificate' });
      expect((await fetch(new URL((await link.getAttribute('href')) ?? '', page.url()))).status).toBe(200);
      expect(await link.getAttribute('href')).toBe(`./${file}`);
    }
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Go on without' }).click();
    await page.waitForURL(`${server.base}/`);
  },
);
