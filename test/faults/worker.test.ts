import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeHeader, writeGguf } from '../../scripts/conversion/gguf-file.ts';
import { isAlive } from '../live/alive.ts';
import { type NativeClient, nativeClient, readFrames } from '../live/client.ts';
import { runProgram } from '../live/program.ts';
import { embeddedModel, type LiveServer, liveServers } from '../live/server.ts';

const startServer = liveServers();
const endless = { prompt: 'Once upon a time', max_length: 1600, ban_eos_token: true, temperature: 0 };

describe('engine killed during a request', () => {
  let server: LiveServer;
  let client: NativeClient;
  beforeAll(async () => {
    server = await startServer();
    client = nativeClient(server.base);
  });

  async function killWhileWriting(genkey: string): Promise<void> {
    await client.begun(genkey);
    process.kill(server.worker() as number, 'SIGKILL');
  }

  /** Asks all the time until `work` is done, and gives the statuses of the answers. */
  async function statusesDuring(work: Promise<unknown>): Promise<Set<number>> {
    let over = false;
    void work.finally(() => {
      over = true;
    });
    const statuses = new Set<number>();
    while (!over) statuses.add((await client.get('/api/extra/version')).status);
    return statuses;
  }

  test('fails the running request with an error message, and no other', async () => {
    const before = server.worker();
    const reply = client.post('/api/v1/generate', { ...endless, genkey: 'whole' });
    const statuses = statusesDuring(reply);
    await killWhileWriting('whole');
    const answer = await reply;
    expect(answer.status).toBe(500);
    expect(answer.json()).toEqual({ detail: { msg: expect.stringMatching(/engine stopped/), type: 'server_error' } });
    expect(await statuses).toEqual(new Set([200]));
    const next = client.generate({ prompt: 'Once upon a time', max_length: 4 });
    expect(await statusesDuring(next)).toEqual(new Set([200]));
    expect((await next).text).toMatch(/^, there was/);
    expect(server.worker()).not.toBe(before);
    await server.says('The text engine stopped (SIGKILL); it is being started again.');
  });

  test('ends a stream with an error event; waiting requests are served', async () => {
    const reply = client.post('/api/extra/generate/stream', { ...endless, genkey: 'stream' });
    await client.performanceWhere(({ idle }) => idle === 0);
    const behind = client.generate({ prompt: 'Once upon a time', max_length: 4 });
    await client.performanceWhere(({ queue }) => queue === 1);
    await killWhileWriting('stream');
    const { status, text } = await reply;
    expect(status).toBe(200);
    const frames = readFrames(text);
    expect(frames.length).toBeGreaterThan(1);
    expect(frames.at(-1)?.data).toMatchObject({ token: '', finish_reason: 'error', error: { type: 'server_error' } });
    expect((await behind).text).toMatch(/^, there was/);
    expect(await client.check('stream')).not.toBe('');
  });

  test('while idle: is restarted', async () => {
    process.kill(server.worker() as number, 'SIGKILL');
    await client.performanceWhere(({ loading }) => loading !== null);
    expect((await client.post('/api/extra/tokencount', { prompt: 'Hello there world' })).json()).toMatchObject({
      value: 3,
    });
    expect((await client.generate({ prompt: 'Once upon a time', max_length: 2 })).completion_tokens).toBe(2);
  });

  test('ends with the server', async () => {
    const worker = server.worker() as number;
    process.kill(server.pid, 'SIGKILL');
    await expect.poll(() => isAlive(worker)).toBe(false);
  });
});

describe('invalid model file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-files-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const at = (name: string) => join(folder, name);
  /** The first bytes of the real model. */
  const beginning = (bytes: number): Buffer => {
    const file = openSync(embeddedModel, 'r');
    const buffer = Buffer.alloc(bytes);
    readSync(file, buffer, 0, bytes, 0);
    closeSync(file);
    return buffer;
  };

  beforeAll(async () => {
    writeFileSync(at('empty.gguf'), '');
    writeFileSync(at('text.gguf'), 'This is a shopping list: milk, bread, a model.\n'.repeat(100));
    writeFileSync(at('magic.gguf'), Buffer.concat([Buffer.from('GGML'), beginning(1 << 20).subarray(4)]));
    writeFileSync(at('header-cut.gguf'), beginning(5000));
    writeFileSync(at('weights-cut.gguf'), beginning(4 << 20));
    const noise = beginning(1 << 16);
    for (let index = 8; index < noise.length; index += 1) noise[index] = (index * 7919 + 13) & 0xff;
    writeFileSync(at('noise.gguf'), noise);
    await writeGguf(at('stranger.gguf'), {
      metadata: { 'general.architecture': { type: 'string', value: 'no-such-architecture' } },
      tensors: [{ name: 'token_embd.weight', shape: [32, 4], type: 'F32', data: new Float32Array(128) }],
    });
    writeFileSync(at('hollow.gguf'), encodeHeader({ metadata: {}, tensors: [] }));
  });

  test.each([
    ['missing.gguf', 2],
    ['empty.gguf', 3],
    ['text.gguf', 3],
    ['magic.gguf', 3],
    ['header-cut.gguf', 3],
    ['weights-cut.gguf', 3],
    ['noise.gguf', 3],
    ['stranger.gguf', 3],
    ['hollow.gguf', 3],
  ])('%s: ends the program with a message and code %i', async (name, code) => {
    const ended = await runProgram(['--port', '0', '--threads', '1', '--model', at(name)]);
    const output = (ended.stdout + ended.stderr)
      .split('\n')
      .filter(
        (line) => line.includes(name.replace('.gguf', '')) && /could not be loaded: \S.{8,}|does not exist/.test(line),
      );
    expect([ended.code, output.length]).toEqual([code, 1]);
    expect(ended.stdout + ended.stderr).not.toMatch(/^\s+at \S+ \(/m);
  });
});

describe('invalid command line', () => {
  test('names the flag, offers the right one, and ends with code 1', async () => {
    const { code, stderr } = await runProgram(['--contxtsize', '2048']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/--contxtsize/);
    expect(stderr).toMatch(/--contextsize/);
  });

  test.each([
    [['--port', 'many']],
    [['--port', '70000']],
    [['--multiuser', '-1']],
    [['--ssl', 'only-one.pem']],
    [['--config', '/nowhere/at/all.kcpps']],
  ])('%j: is refused before anything is loaded', async (flags) => {
    const { code, stdout, stderr } = await runProgram(flags);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/\w{3}/);
    expect(stdout).not.toContain('Loading Text Model');
  });
});
