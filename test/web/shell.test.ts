import { describe, expect, test } from 'vitest';
import { liveServers } from '../live/server.ts';
import { barriers, browserPages, faults, type OpenPage, withoutBrowser } from './browser.ts';

const start = liveServers();
const openPage = browserPages();
/** With the service worker, as people have it. */
const open: OpenPage = (address) => openPage(address, { serviceWorkers: 'allow' });

describe.skipIf(withoutBrowser)('web client', () => {
  test('open at the root and at /lcpp/ without an error or a policy violation', async () => {
    const server = await start();
    for (const path of ['/', '/lcpp/', '/lcpp']) {
      const page = await open(server.base + path);
      await page.getByRole('link', { name: 'Chat', exact: true }).waitFor();
      expect(faults.get(page), path).toEqual([]);
      expect(new URL(page.url()).hash).toMatch(/^(#\/chat.*)?$/);
      await page.context().close();
    }

    const page = await open(server.base);
    for (const name of ['Write', 'Draw', 'Sound', 'Knowledge', 'Chat']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('main').getByRole('heading').first().waitFor();
    }
    await page.getByRole('button', { name: 'Settings' }).click();
    const tab = (name: string) => page.getByRole('tab', { name, exact: true });
    await tab('Samplers').click();
    await page.getByLabel('Temperature', { exact: true }).fill('1.25');
    await tab('Replies').click();
    await page.getByLabel('Reply length').fill('64');
    await page.getByText('Polling', { exact: true }).click();
    await tab('About').click();
    await page.getByText('npm start -- --showgui').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'Settings' }).click();
    await tab('Samplers').click();
    await expect.poll(() => page.getByLabel('Temperature', { exact: true }).inputValue()).toBe('1.25');
    await tab('Replies').click();
    await expect.poll(() => page.getByLabel('Polling').isChecked()).toBe(true);

    expect(await barriers(page)).toEqual([]);
    expect(faults.get(page)).toEqual([]);
  });

  test('open without the server after the first visit, also when the browser has kept nothing by itself', async () => {
    const server = await start();
    const page = await open(server.base);
    await page.getByRole('link', { name: 'Chat', exact: true }).waitFor();
    await page.evaluate('navigator.serviceWorker.ready');
    const missing = `(async () => {
      const used = performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('/assets/'));
      const kept = await Promise.all(used.map((name) => caches.match(name, { ignoreVary: true })));
      return used.filter((_, index) => !kept[index]);
    })()`;
    await expect.poll(() => page.evaluate(missing)).toEqual([]);
    await server.stop();
    const browser = await page.context().newCDPSession(page);
    await browser.send('Network.clearBrowserCache');
    await page.reload();
    await page.getByText('The server is not responding.').first().waitFor();
  });

  test('open without the server once loaded, and say that it is not responding', async () => {
    const server = await start();
    const page = await open(server.base);
    await page.evaluate('navigator.serviceWorker.ready');
    // Now that somebody keeps them, all parts are fetched once more.
    await page.reload();
    for (const name of ['Write', 'Draw', 'Sound', 'Knowledge', 'Chat']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('main').getByRole('heading').first().waitFor();
    }
    await server.stop();
    await page.reload();
    await page.getByText('The server is not responding.').first().waitFor();
    await page.getByRole('link', { name: 'Draw', exact: true }).click();
    await page.getByRole('heading', { name: 'Draw', exact: true }).waitFor();
  });
});
