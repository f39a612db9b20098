import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { fileReply } from './static-files.ts';
import { ask, endpoint, serve } from './testing/world.ts';

const parent = mkdtempSync(join(tmpdir(), 'parley-static-'));
const folder = join(parent, 'pages');
mkdirSync(join(folder, 'parts'), { recursive: true });
writeFileSync(join(folder, 'index.html'), '<p>Grüße</p>');
writeFileSync(join(folder, 'parts', 'a b.js'), '0123456789');
writeFileSync(join(folder, 'worker.mjs'), 'work()');
writeFileSync(join(folder, 'empty.txt'), '');
writeFileSync(join(folder, 'thing.unknown'), 'x');
writeFileSync(join(parent, 'secret.txt'), 'secret');
symlinkSync(join(parent, 'secret.txt'), join(folder, 'link.txt'));
afterAll(() => rmSync(parent, { recursive: true }));

const get = (path: string, headers: IncomingHttpHeaders = {}) => fileReply({ folder }, { path, headers });

async function text(reply: Awaited<ReturnType<typeof get>>): Promise<string> {
  if (!reply) return '(not found)';
  if (!('stream' in reply)) return String(reply.body);
  const pieces: Buffer[] = [];
  for await (const piece of reply.stream) pieces.push(Buffer.from(piece as Uint8Array));
  return Buffer.concat(pieces).toString();
}

describe('fileReply', () => {
  test.each([
    ['index.html', 'text/html; charset=utf-8', '<p>Grüße</p>'],
    ['/index.html', 'text/html; charset=utf-8', '<p>Grüße</p>'],
    ['parts/a%20b.js', 'text/javascript; charset=utf-8', '0123456789'],
    ['worker.mjs', 'text/javascript; charset=utf-8', 'work()'],
    ['thing.unknown', 'application/octet-stream', 'x'],
    ['empty.txt', 'text/plain; charset=utf-8', ''],
  ])('%s is sent with its type', async (path, type, content) => {
    const reply = await get(path);
    expect(reply).toMatchObject({
      status: 200,
      headers: { 'content-type': type, 'x-content-type-options': 'nosniff' },
    });
    expect(await text(reply)).toBe(content);
  });

  test.each([
    '../secret.txt',
    '..%2fsecret.txt',
    '%2e%2e/secret.txt',
    'parts/../../secret.txt',
    'link.txt',
    'parts',
    '',
    'nowhere.txt',
    'index.html%00.txt',
    '%zz',
  ])('%s is not found', async (path) => {
    expect(await get(path)).toBeUndefined();
  });
});

describe('fileReply: conditional request', () => {
  test('answers 304 for the current ETag, and 200 for another one', async () => {
    const etag = (await get('index.html'))?.headers?.etag ?? '';
    expect(etag).toMatch(/^"[\w-]+"$/);
    for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      expect(await get('index.html', { 'if-none-match': sent })).toMatchObject({
        status: 304,
        body: '',
        headers: { etag },
      });
    }
    expect(await get('index.html', { 'if-none-match': '"other"' })).toMatchObject({ status: 200 });
  });

  test('a changed file has another ETag', async () => {
    const path = join(folder, 'changing.txt');
    writeFileSync(path, 'one');
    const before = (await get('changing.txt'))?.headers?.etag;
    utimesSync(path, 1, 1);
    expect((await get('changing.txt'))?.headers?.etag).not.toBe(before);
  });

  test('sends no-cache by default', async () => {
    expect((await get('index.html'))?.headers?.['cache-control']).toBe('no-cache');
    const cacheControl = (path: string) => (path.endsWith('.js') ? 'immutable' : 'no-cache');
    const reply = await fileReply({ folder, cacheControl }, { path: 'parts/a b.js', headers: {} });
    expect(reply?.headers?.['cache-control']).toBe('immutable');
  });
});

describe('fileReply: Range', () => {
  const piece = 'parts/a b.js';
  test.each([
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=4-', '456789', 'bytes 4-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=8-100', '89', 'bytes 8-9/10'],
    ['bytes=-100', '0123456789', 'bytes 0-9/10'],
  ])('%s is %s', async (range, content, told) => {
    const reply = await get(piece, { range });
    expect(reply).toMatchObject({
      status: 206,
      headers: { 'content-range': told, 'content-length': String(content.length) },
    });
    expect(await text(reply)).toBe(content);
  });

  test.each(['bytes=10-', 'bytes=99-100', 'bytes=-0'])('%s is not satisfiable', async (range) => {
    expect(await get(piece, { range })).toMatchObject({ status: 416, headers: { 'content-range': 'bytes */10' } });
  });

  test.each(['bytes=3-1', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=-', 'nonsense'])(
    '%s gives the whole file',
    async (range) => {
      expect(await get(piece, { range })).toMatchObject({ status: 200 });
    },
  );

  test('If-Range with an old ETag gives the whole new file', async () => {
    const etag = (await get(piece))?.headers?.etag ?? '';
    expect(await get(piece, { range: 'bytes=0-1', 'if-range': etag })).toMatchObject({ status: 206 });
    expect(await get(piece, { range: 'bytes=0-1', 'if-range': '"other"' })).toMatchObject({ status: 200 });
  });
});

test('fileReply: sends Content-Length and keeps the connection open', async () => {
  const page = endpoint(
    async (call) =>
      (await fileReply({ folder }, { path: 'parts/a b.js', headers: call.headers })) ?? { status: 404, body: '' },
    { method: 'GET', access: 'open', rateLimited: false },
  );
  const world = await serve([page]);
  const answer = await ask(world, { path: '/work', headers: { range: 'bytes=2-4' } });
  expect(answer).toMatchObject({ status: 206, text: '234', headers: { 'content-length': '3' } });
  expect(answer.headers['transfer-encoding']).toBeUndefined();
});
