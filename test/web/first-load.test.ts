import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { liveServers } from '../live/server.ts';
import { browserPages, withoutBrowser } from './browser.ts';

const start = liveServers();
const open = browserPages();

const mostBytes = 205 * 1024;

test.skipIf(withoutBrowser)('first load: the chat fetches less than 205 KB, compressed', async () => {
  const server = await start();
  const page = await open('about:blank', { serviceWorkers: 'allow' });
  const sizes = new Map<string, number>();
  const reading: Promise<unknown>[] = [];
  page.on('response', (response) => {
    const { pathname } = new URL(response.url());
    // Replies about the server change with it.
    if (!/^\/$|\.\w+$/.test(pathname) || pathname.startsWith('/api')) return;
    const body = response.body().then((bytes) => sizes.set(pathname, gzipSync(bytes).length));
    reading.push(body.catch(() => undefined));
  });
  await page.goto(`${server.base}/`, { waitUntil: 'networkidle' });
  await page.getByRole('button', { name: /^Model: parley-mini/ }).waitFor();
  await Promise.all(reading);
  expect([...sizes.keys()].some((path) => path.includes('ChatView'))).toBe(true);
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const largest = [...sizes].sort(([, a], [, b]) => b - a).map(([path, size]) => `${path} ${size}`);
  expect(total, largest.join('\n')).toBeLessThan(mostBytes);
});
