import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { otherTls, testTls } from '../../src/http/testing/certificate.ts';
import { liveServers, program, programEnvironment } from './server.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-keys-'));
const keyfile = join(folder, 'keys.json');
afterAll(() => rmSync(folder, { recursive: true }));

async function keys(...args: string[]): Promise<string> {
  const command = [program, 'keys', ...args, '--keyfile', keyfile];
  return (await promisify(execFile)(process.execPath, command, { env: programEnvironment() })).stdout;
}

const newKey = async (name: string, ...rules: string[]): Promise<string> =>
  (await keys('add', name, ...rules)).split('\n', 1)[0] ?? '';

test('keys: work within their scopes and rate, in every dialect, and stop working when revoked', async () => {
  const phone = await newKey('phone', '--scopes', 'chat');
  const { base } = await start(['--keyfile', keyfile, '--admin', '--ctx-size', '1024']);
  const ask = async (path: string, key: string, body?: object) => {
    const response = await fetch(base + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    return { status: response.status, text, retryAfter: response.headers.get('retry-after') };
  };
  const chat = { model: 'any', max_tokens: 2, messages: [{ role: 'user', content: 'Hi' }] };
  const prompt = { prompt: 'Hi', max_length: 2 };

  expect((await ask('/v1/chat/completions', phone, chat)).status).toBe(200);
  expect((await ask('/v1/chat/completions', 'wrong', chat)).status).toBe(401);
  expect(await ask('/v1/completions', phone, prompt)).toMatchObject({
    status: 403,
    text: expect.stringContaining('"code":"insufficient_permissions"'),
  });
  expect((await ask('/api/v1/generate', phone, prompt)).text).toContain('"type":"forbidden"');
  expect((await ask('/api/generate', phone, prompt)).text).toContain('{"error":"This key may not be used here');
  expect((await ask('/sdapi/v1/txt2img', phone, { prompt: 'x' })).status).toBe(403);
  expect((await ask('/api/admin/keys', phone)).status).toBe(403);
  expect((await ask('/v1/models', phone)).text).not.toContain('protected-model');

  // The running server takes up new keys.
  const slow = await newKey('slow', '--scopes', 'chat', '--rate', '1/min');
  const boss = await newKey('boss', '--scopes', 'admin');
  await expect.poll(async () => (await ask('/api/admin/keys', boss)).status).toBe(200);
  expect((await ask('/v1/messages', slow, chat)).status).toBe(200);
  const refused = await ask('/v1/messages', slow, chat);
  expect(refused).toMatchObject({ status: 429, text: expect.stringContaining('"type":"rate_limit_error"') });
  expect(Number(refused.retryAfter)).toBeGreaterThan(0);
  const listed = (await ask('/api/admin/keys', boss)).text;
  expect(JSON.parse(listed)).toContainEqual(
    expect.objectContaining({ name: 'slow', requests: 1, refused: 1, rate: 1 }),
  );
  for (const secret of ['"hash"', '"salt"', phone, slow]) expect(listed).not.toContain(secret);

  // The first request is over the limit afterwards; later ones are refused, in the dialect of the client.
  const small = await newKey('small', '--scopes', 'chat,text,images', '--tokens', '1/day');
  await expect.poll(async () => (await ask('/slots', small)).status).toBe(200);
  expect((await ask('/v1/chat/completions', small, chat)).status).toBe(200);
  const spent = await ask('/v1/chat/completions', small, chat);
  expect(spent).toMatchObject({ status: 429, text: expect.stringContaining('"code":"rate_limit_exceeded"') });
  expect(spent.text).toMatch(/has used its 1 tokens of today.* 00:00 on the clock of the server/);
  expect(Number(spent.retryAfter)).toBeGreaterThan(0);
  expect((await ask('/api/generate', small, prompt)).text).toContain('{"error":"This key has used its');
  expect((await ask('/api/extra/generate/check', small, {})).status).toBe(200);
  const usage = JSON.parse((await ask('/api/admin/usage?days=1', boss)).text);
  expect(usage).toContainEqual(
    expect.objectContaining({ type: 'key', name: 'small', requests: 1, completion_tokens: 2, images: 0 }),
  );

  // What one key has generated, another one cannot poll.
  const writer = await newKey('writer', '--scopes', 'text');
  const reader = await newKey('reader', '--scopes', 'text');
  await expect.poll(async () => (await ask('/slots', reader)).status).toBe(200);
  const written = JSON.parse((await ask('/api/v1/generate', writer, prompt)).text).results[0].text;
  expect(written).not.toBe('');
  const polled = async (key: string) =>
    JSON.parse((await ask('/api/extra/generate/check', key, {})).text).results[0].text;
  expect([await polled(writer), await polled(reader)]).toEqual([written, '']);

  await keys('revoke', 'phone');
  await expect.poll(async () => (await ask('/v1/chat/completions', phone, chat)).status).toBe(401);
});

test('--ssl: a server takes up a changed certificate while it runs', async () => {
  const files = [join(folder, 'certificate.pem'), join(folder, 'key.pem')] as const;
  const write = ({ certificate, key }: typeof testTls) => {
    writeFileSync(files[0], certificate);
    writeFileSync(files[1], key);
  };
  write(testTls);
  const server = await start(['--nomodel', '--ssl', ...files]);
  const trusts = ({ certificate: ca }: typeof testTls) =>
    new Promise<boolean>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: server.port, ca }, () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
  expect([await trusts(testTls), await trusts(otherTls)]).toEqual([true, false]);
  write({ ...otherTls, key: 'half a key' });
  await server.says('The changed certificate and key of --ssl cannot be used');
  expect(await trusts(testTls)).toBe(true);
  write(otherTls);
  await server.says('The new certificate of --ssl is used for new connections.');
  expect([await trusts(testTls), await trusts(otherTls)]).toEqual([false, true]);
});
