import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { limitedFetch } from './limited-fetch.ts';

async function serving(type: string, pieces: readonly string[]): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': type });
    for (const piece of pieces) response.write(piece);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('limitedFetch: an answer within the limit is that of fetch', async () => {
  const url = await serving('application/json', ['{"a":', '1}']);
  const response = await limitedFetch(7)(url);
  expect([response.url, response.status, response.headers.get('content-type')]).toEqual([url, 200, 'application/json']);
  expect(await response.json()).toEqual({ a: 1 });
});

test('limitedFetch: an answer over the limit fails', async () => {
  const response = await limitedFetch(100)(await serving('application/json', ['x'.repeat(60), 'x'.repeat(60)]));
  await expect(response.text()).rejects.toThrow('it sent a message of more than');
});

test('limitedFetch: the events of a stream are counted one by one', async () => {
  const events = Array.from({ length: 50 }, () => 'data: x\r\n\r\n');
  const response = await limitedFetch(20)(await serving('text/event-stream', events));
  expect(await response.text()).toBe(events.join(''));
});

test('limitedFetch: an event without end fails', async () => {
  const response = await limitedFetch(100)(await serving('text/event-stream', ['data: ', 'x'.repeat(200)]));
  await expect(response.text()).rejects.toThrow('it sent a message of more than');
});
