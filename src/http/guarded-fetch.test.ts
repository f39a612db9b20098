import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { guardedFetch } from './guarded-fetch.ts';

async function listening(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return { requests, port: (server.address() as AddressInfo).port };
}

const fetchAll = guardedFetch({ allows: () => true });

test('guardedFetch: sends a text with its headers, and streams the answer', async () => {
  const { port, requests } = await listening(async (request, response) => {
    let text = '';
    for await (const piece of request) text += String(piece);
    response.writeHead(201, { 'content-type': 'text/plain', 'x-own': 'a' }).end(`${request.method} ${text}`);
  });
  const headers = { authorization: 'Bearer mine' };
  const answer = await fetchAll(`http://127.0.0.1:${port}/a`, { method: 'POST', body: 'é', headers });
  expect([answer.status, answer.headers.get('x-own'), await answer.text()]).toEqual([201, 'a', 'POST é']);
  expect(requests[0]?.headers).toMatchObject({ authorization: 'Bearer mine', 'content-length': '2' });
});

test('guardedFetch: an answer without a body is one', async () => {
  const { port } = await listening((_, response) => void response.writeHead(204).end());
  expect((await fetchAll(`http://127.0.0.1:${port}/`)).status).toBe(204);
});

test('guardedFetch: localhost is this machine', async () => {
  const { port } = await listening((_, response) => void response.end('here'));
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  const own = guardedFetch({ allows: () => true, resolve });
  expect(await (await own(`http://localhost:${port}/`)).text()).toBe('here');
});

test.each([
  ['http://tools.example/', '127.0.0.1'],
  ['http://tools.example/', '192.168.1.2'],
  ['http://tools.example/', '169.254.169.254'],
  ['http://localhost/', '192.168.1.2'],
])('guardedFetch: %s is not connected to at %s', async (url, address) => {
  const own = guardedFetch({ allows: () => true, resolve: async () => [{ address, family: 4 }] });
  await expect(own(url)).rejects.toThrow('is not on the public internet');
});

test('guardedFetch: what is not allowed is not requested', async () => {
  await expect(guardedFetch({ allows: () => false })('http://127.0.0.1:1/a')).rejects.toThrow('is not allowed');
});

test('guardedFetch: a redirect is followed within the allowed part of the origin', async () => {
  const { port, requests } = await listening((request, response) => {
    if (request.url === '/mcp') response.writeHead(307, { location: '/mcp/' }).end();
    else if (request.url === '/loop') response.writeHead(307, { location: '/loop' }).end();
    else if (request.url === '/out') response.writeHead(307, { location: '/admin' }).end();
    else response.end(`${request.method} ${request.url}`);
  });
  const own = guardedFetch({ allows: ({ pathname }) => pathname !== '/admin' });
  const posted = await own(`http://127.0.0.1:${port}/mcp`, { method: 'POST', body: 'x' });
  expect(await posted.text()).toBe('POST /mcp/');
  expect((await own(`http://127.0.0.1:${port}/loop`)).status).toBe(307);
  expect((await own(`http://127.0.0.1:${port}/out`)).status).toBe(307);
  expect(requests.map(({ url }) => url)).not.toContain('/admin');
});

test('guardedFetch: a redirect to another origin is not followed, and gets no token', async () => {
  const other = await listening((_, response) => void response.end('taken'));
  const { port } = await listening((_, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${other.port}/` }).end();
  });
  const answer = await fetchAll(`http://127.0.0.1:${port}/`, { headers: { authorization: 'Bearer mine' } });
  expect([answer.status, other.requests]).toEqual([307, []]);
});

test('guardedFetch: an abort ends the request', async () => {
  const { port } = await listening(() => undefined);
  const stop = new AbortController();
  const fetched = fetchAll(`http://127.0.0.1:${port}/`, { signal: stop.signal });
  stop.abort();
  await expect(fetched).rejects.toThrow();
});
