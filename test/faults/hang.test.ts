import { describe, expect, test } from 'vitest';
import { stillMs, tickMs } from '../../src/engines/host/heartbeat.ts';
import { isAlive } from '../live/alive.ts';
import { type NativeClient, nativeClient, neverEnding, readFrames } from '../live/client.ts';
import { type LiveServer, liveServers } from '../live/server.ts';

const startServer = liveServers();
const endless = { prompt: 'Once upon a time', max_length: 1600, ban_eos_token: true, temperature: 0 };
const short = { prompt: 'Once upon a time', max_length: 4 };

/** One for each test, because they mostly wait: all of them at once. */
async function started(flags: readonly string[] = []): Promise<{ server: LiveServer; client: NativeClient }> {
  const server = await startServer(flags);
  return { server, client: nativeClient(server.base) };
}

describe.concurrent('engine hang', () => {
  test('is ended and replaced: running requests fail in the form of their dialect, the next one is answered', async () => {
    const { server, client } = await started(['--parallelrequests', '2']);
    const worker = server.worker() as number;
    const stream = client.post('/api/extra/generate/stream', { ...endless, genkey: 'stream' });
    await client.begun('stream');
    const messages = [{ role: 'user', content: 'Tell me a story.' }];
    const chat = client.post('/v1/chat/completions', { messages, max_tokens: 1500, ...neverEnding });
    await client.performanceWhere(({ queue }) => queue === 0);
    process.kill(worker, 'SIGSTOP');
    const cache = client.get('/api/extra/cache');
    const count = client.post('/api/extra/tokencount', { prompt: 'Hello there world' });
    expect((await client.get('/api/extra/version')).status).toBe(200);

    const frames = readFrames((await stream).text);
    expect(frames.at(-1)?.data).toMatchObject({ finish_reason: 'error', error: { type: 'server_error' } });
    const answer = await chat;
    expect(answer.status).toBe(500);
    expect(answer.json()).toMatchObject({
      error: { message: expect.stringContaining('did not answer any more'), type: 'server_error' },
    });
    expect((await cache).json()).toMatchObject({ slots: [] });
    expect((await count).status).toBe(500);
    expect((await client.generate(short)).text).toMatch(/^, there was/);
    expect(server.worker()).not.toBe(worker);
    expect(isAlive(worker)).toBe(false);
    await server.says('The text engine did not answer any more and was ended; it is being started again.');
  });

  test('is not assumed after the whole process group was stopped', async () => {
    const { server, client } = await started();
    await client.generate(short);
    const worker = server.worker() as number;
    for (const pid of [server.pid, worker]) process.kill(pid, 'SIGSTOP');
    // Longer than an engine may be silent.
    await new Promise((resolve) => setTimeout(resolve, stillMs + 2 * tickMs));
    for (const pid of [server.pid, worker]) process.kill(pid, 'SIGCONT');
    expect((await client.generate(short)).text).toMatch(/^, there was/);
    // Longer than it takes to notice a hang, if there was one.
    await client.generate({ ...endless, max_length: 300 });
    expect(server.worker()).toBe(worker);
  });

  test('cache report during a reload: is empty and returns at once', async () => {
    const { server, client } = await started();
    process.kill(server.worker() as number, 'SIGKILL');
    await client.performanceWhere(({ loading }) => loading !== null);
    expect((await client.get('/api/extra/cache')).json()).toMatchObject({ slots: [], memory: null, disk: null });
    await client.generate(short);
  });

  test('a request that ends it twice is refused the third time, with any seed; others are served', async () => {
    const { server, client } = await started();
    const deadly = { ...endless, prompt: 'The end of the engine' };
    for (const sampler_seed of [1, 2]) {
      const reply = client.post('/api/v1/generate', { ...deadly, sampler_seed, genkey: `deadly ${sampler_seed}` });
      await client.begun(`deadly ${sampler_seed}`);
      process.kill(server.worker() as number, 'SIGKILL');
      expect((await reply).status).toBe(500);
    }
    const refused = await client.post('/api/v1/generate', { ...deadly, sampler_seed: 3 });
    expect(refused.status).toBe(400);
    expect(refused.json()).toMatchObject({ detail: { msg: expect.stringContaining('ended the text engine twice') } });
    expect((await client.generate(short)).text).toMatch(/^, there was/);
  });
});

test.concurrent('engine that crashes six times: restarts after pauses; requests in a long one get the reason and Retry-After', async () => {
  const { server, client } = await started();
  for (let death = 1; death <= 6; death += 1) {
    await client.performanceWhere(({ loading }) => loading === null);
    process.kill(server.worker() as number, 'SIGKILL');
    await client.performanceWhere(({ loading }) => loading !== null);
  }
  const refusal = await client.post('/v1/completions', { prompt: 'Hello', max_tokens: 2 });
  expect(refusal.status).toBe(503);
  expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refusal.json()).toMatchObject({
    error: { message: expect.stringMatching(/died of SIGKILL.*6 times in a row/) },
  });
  await server.says('6 times in a row now; the next try comes in 8 s.');
  await server.says('If this goes on: --debugmode');
});

test.concurrent('server killed during a load: the engine ends too', async () => {
  // A context of several gigabytes takes seconds to make, in one native call.
  const flags = ['--contextsize', '262144', '--parallelrequests', '4', '--debugmode'];
  const server = await startServer(flags, { until: 'constructing llama_context' });
  const worker = server.worker() as number;
  expect(isAlive(worker)).toBe(true);
  process.kill(server.pid, 'SIGKILL');
  await expect.poll(() => isAlive(worker)).toBe(false);
  expect(server.output()).not.toContain('Load Text Model OK');
});
