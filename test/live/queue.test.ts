import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { testTls } from '../../src/http/testing/certificate.ts';
import { fakeEngineCommand } from '../load/servers.ts';
import { type NativeClient, nativeClient, openRequest } from './client.ts';
import { type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
const busy = {
  detail: { msg: 'Server is busy; please try again later.', type: 'service_unavailable' },
};
const endless = { prompt: 'Once upon a time', max_length: 1600, ban_eos_token: true, temperature: 0 };

/** A server whose engine ends no reply to `asked` before `letRun`. */
async function heldServer(flags: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-queue-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const gate = join(folder, 'gate');
  const server = await startServer(flags, { command: fakeEngineCommand });
  return { server, asked: { prompt: `[gate ${gate}]`, max_length: 20 }, letRun: () => writeFileSync(gate, '') };
}

describe.each([
  { flags: [], accepted: 4 },
  { flags: ['--multiuser', '2'], accepted: 2 },
  { flags: ['--multiuser', '0'], accepted: 1 },
])('four requests at once with $flags', ({ flags, accepted }) => {
  test(`${accepted} are accepted and finish in order of arrival`, async () => {
    const { server, asked, letRun } = await heldServer(flags);
    const client = nativeClient(server.base);
    const finished: number[] = [];
    const replies: Promise<{ status: number; body: unknown }>[] = [];
    for (let index = 0; index < 4; index += 1) {
      const reply = client.post('/api/v1/generate', asked).then((answer) => {
        if (answer.status === 200) finished.push(index);
        return { status: answer.status, body: answer.json() };
      });
      replies.push(reply);
      // The next one comes when this one has its place, or was sent away.
      const inLine = Math.min(index, accepted - 1);
      await client.performanceWhere(({ idle, queue }) => idle === 0 && queue === inLine);
      if (index >= accepted) await reply;
    }
    letRun();
    const answers = await Promise.all(replies);
    expect(answers.map(({ status }) => status)).toEqual([0, 1, 2, 3].map((index) => (index < accepted ? 200 : 503)));
    for (const { body } of answers.slice(accepted)) expect(body).toEqual(busy);
    expect(finished).toEqual([0, 1, 2, 3].slice(0, accepted));
    expect(await client.performance()).toMatchObject({ queue: 0, idle: 1, total_gens: accepted });
    await server.stop();
  });
});

test('--multiuser 0: one request may wait once a built-in embeddings model is in memory', async () => {
  const { server, asked, letRun } = await heldServer(['--multiuser', '0']);
  const client = nativeClient(server.base);
  expect((await client.post('/api/embed', { model: 'any', input: 'Hello' })).status).toBe(200);
  const first = client.post('/api/v1/generate', asked);
  await client.performanceWhere(({ idle }) => idle === 0);
  const second = client.post('/api/v1/generate', asked);
  await client.performanceWhere(({ queue }) => queue === 1);
  expect((await client.post('/api/v1/generate', asked)).status).toBe(503);
  letRun();
  expect((await Promise.all([first, second])).map(({ status }) => status)).toEqual([200, 200]);
  await server.stop();
});

describe.each(['http', 'https'])('disconnect over %s', (scheme) => {
  let server: LiveServer;
  let client: NativeClient;
  const folder = mkdtempSync(join(tmpdir(), 'parley-tls-'));

  beforeAll(async () => {
    const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
    writeFileSync(certificate, testTls.certificate);
    writeFileSync(key, testTls.key);
    // The certificate is self-signed.
    if (scheme === 'https') vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    server = await startServer(scheme === 'https' ? ['--ssl', certificate, key] : []);
    client = nativeClient(server.base);
  });
  afterAll(async () => {
    await server?.stop();
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  const idle = () => client.performanceWhere((figures) => figures.idle === 1);

  test.each(['/api/v1/generate', '/api/extra/generate/stream'])(
    'during generation: frees the engine (%s)',
    async (path) => {
      const request = openRequest(server.base, path, { ...endless, genkey: path });
      await client.begun(path);
      request.hangUp();
      const figures = await idle();
      expect(figures.last_token_count).toBeLessThan(1600);
      expect((await client.generate({ prompt: 'The end', max_length: 2 })).completion_tokens).toBe(2);
    },
  );

  test('during prefill: frees the engine before the first token', async () => {
    const prompt = Array.from({ length: 1800 }, (_, index) => ` ${index % 10}`).join('');
    const request = openRequest(server.base, '/api/v1/generate', { ...endless, prompt, max_length: 100 });
    await client.performanceWhere((figures) => figures.idle === 0);
    request.hangUp();
    const figures = await idle();
    expect(figures.last_token_count).toBe(0);
    expect((await client.generate({ prompt: 'The end', max_length: 2 })).completion_tokens).toBe(2);
  });

  test('while waiting: frees its place, and the running request continues', async () => {
    const running = openRequest(server.base, '/api/v1/generate', { ...endless, genkey: 'running' });
    await client.performanceWhere((figures) => figures.idle === 0);
    const waiting = openRequest(server.base, '/api/v1/generate', { ...endless, genkey: 'waiting' });
    await client.performanceWhere(({ queue }) => queue === 1);
    waiting.hangUp();
    const figures = await client.performanceWhere(({ queue }) => queue === 0);
    expect(figures.idle).toBe(0);
    const text = await client.check('running');
    running.hangUp();
    await idle();
    expect(await client.check('waiting')).toBe('');
    expect((await client.check('running')).startsWith(text)).toBe(true);
  });
});

test('waiting stream: reports its position after a second, and can be polled by key', async () => {
  const server = await startServer([]);
  const client = nativeClient(server.base);
  const holder = client.post('/api/v1/generate', { ...endless, genkey: 'holder' });
  await client.performanceWhere(({ idle }) => idle === 0);
  const request = { prompt: 'Hello', max_length: 8, genkey: 'waiting' };
  const reply = await fetch(`${server.base}/api/extra/generate/stream`, {
    method: 'POST',
    body: JSON.stringify(request),
  });
  // The head is here although the first one still writes.
  const looked = (await client.post('/api/extra/generate/check', { genkey: 'waiting' })).json();
  expect(looked).toEqual({ results: [{ text: '', queue_position: 1, queue_estimate: expect.any(Number) }] });
  await client.post('/api/extra/abort', { genkey: 'holder' });
  const text = await reply.text();
  expect(text).toMatch(/^: queue position 1, about \d+ s\n\nevent: message\n/);
  await holder;
  const metrics = (await client.get('/metrics')).text;
  expect(metrics).toContain('parley_queue_wait_seconds_count 2');
  await server.stop();
});
