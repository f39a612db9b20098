import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { fakeEngineCommand } from '../load/servers.ts';
import { nativeClient } from './client.ts';
import { type LiveServer, liveServers } from './server.ts';

const start = liveServers();
// Under npm a second signal within a second counts as the echo of the first.
vi.stubEnv('npm_execpath', undefined);
afterAll(() => vi.unstubAllEnvs());
const folder = mkdtempSync(join(tmpdir(), 'parley-test-shutdown-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** With the fake engine, whose texts wait for a file: nothing here depends on how fast a model is. */
const startFake = (seconds: number) =>
  start(['--parallelrequests', '2', '--batchall', '--shutdowntimeout', String(seconds)], {
    command: fakeEngineCommand,
  });

async function post(base: string, path: string, body: object): Promise<{ status: number; text: string }> {
  const headers = { 'content-type': 'application/json' };
  const reply = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return { status: reply.status, text: await reply.text() };
}

/** Settles when the request with each of these keys has text. */
async function begun({ base }: LiveServer, ...keys: string[]): Promise<void> {
  const client = nativeClient(base);
  for (const key of keys) while ((await client.check(key)) === '');
}

const gate = join(folder, 'gate');
const prompt = `[gate ${gate}]`;
const ask = { max_tokens: 50, stream: true };
const completion = (genkey: string) => ({ ...ask, genkey, prompt });
const message = (genkey: string) => ({ ...ask, genkey, model: 'any', messages: [{ role: 'user', content: prompt }] });
const sentence = 'The server is stopping. Please try again when it is back.';

describe('SIGTERM', () => {
  test('after --shutdowntimeout: a stream ends with the error event of its dialect, and the exit code is 0', async () => {
    const server = await startFake(1);
    const replies = [
      post(server.base, '/v1/completions', completion('a')),
      post(server.base, '/v1/messages', message('b')),
    ];
    await begun(server, 'a', 'b');
    process.kill(server.pid, 'SIGTERM');
    await server.says('2 requests are finishing, for up to 1 s; press Ctrl+C again to end now.');
    const [first, second] = await Promise.all(replies);
    expect(first?.text).toContain(`data: {"error":{"message":"${sentence}"`);
    expect(second?.text).toMatch(/event: error\ndata: .*The server is stopping\..*\n\n$/);
    expect(await server.exited).toBe(0);
  });

  test('a second signal: ends at once, with exit code 1', async () => {
    const server = await startFake(60);
    const cut = post(server.base, '/v1/completions', completion('a')).catch(() => 'cut');
    await begun(server, 'a');
    process.kill(server.pid, 'SIGTERM');
    await server.says('1 request is finishing');
    process.kill(server.pid, 'SIGTERM');
    expect(await cut).toBe('cut');
    expect(await server.exited).toBe(1);
  });

  test('two running streams are sent to their end, the waiting request gets an error, and the exit code is 0', async () => {
    const server = await startFake(60);
    const running = [
      post(server.base, '/v1/completions', completion('a')),
      post(server.base, '/v1/messages', message('b')),
    ];
    await begun(server, 'a', 'b');
    const waiting = post(server.base, '/v1/messages', { ...message('c'), stream: false });
    await nativeClient(server.base).performanceWhere(({ queue }) => queue === 1);
    process.kill(server.pid, 'SIGTERM');
    const refused = await waiting;
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([503, { error: { message: sentence } }]);
    await server.says('requests are finishing');
    await expect(fetch(server.base)).rejects.toThrow();
    writeFileSync(gate, '');
    const [first, second] = await Promise.all(running);
    expect(first?.text).toMatch(/ w49.*"finish_reason":"length".*data: \[DONE\]\n\n$/s);
    expect(second?.text).toMatch(/ w49.*event: message_stop\ndata: .*\n\n$/s);
    expect(await server.exited).toBe(0);
  });
});
