import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readEngine } from '../../config/engine.ts';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { GpuUse } from '../../core/gpu-memory.ts';
import { isAlive } from '../../core/processes.ts';
import { BackendPool } from '../remote/backend-pool.ts';
import { chatRequest } from '../remote/testing/requests.ts';
import { filled } from './child.ts';
import { ProgramEngine } from './engine.ts';

const fake = fileURLToPath(new URL('./testing/fake-engine.mjs', import.meta.url));

function programOf(args: readonly string[], more: object = {}) {
  const command = [process.execPath, fake, '--port', '${port}', ...args];
  const reading = readEngine(JSON.stringify({ name: 'fake', command, kind: 'text', ...more }));
  if (!reading.ok) throw new Error(reading.problem);
  return reading.engine;
}

/** Timers pass as in reality, but no test waits for a fixed time. */
function engineOf(
  args: readonly string[] = [],
  more: object = {},
  gpuUse: (pid: number) => Promise<readonly GpuUse[] | undefined> = async () => [],
) {
  const startTimer = (milliseconds: number, passed: () => void) => {
    const timer = setTimeout(passed, milliseconds).unref();
    return { cancel: () => clearTimeout(timer) };
  };
  const said: string[] = [];
  const guarded: string[] = [];
  const ports: number[] = [];
  const pool = new BackendPool({
    addresses: [],
    environment: {},
    capability: 'text',
    startTimer,
    now: () => performance.now(),
    log: () => undefined,
  });
  const engine = new ProgramEngine({
    name: 'fake',
    program: programOf(args, more),
    pool,
    guard: { add: (pid) => guarded.push(`+${pid}`), end: (pid) => guarded.push(`-${pid}`) },
    freePort: async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as { port: number };
      server.close();
      ports.push(port);
      return port;
    },
    newKey: () => 'a-key-of-this-start',
    wait: (milliseconds) => wait(milliseconds),
    now: () => performance.now(),
    startTimer,
    gpuUse,
    newCallId: () => 'call',
    defaultContext: 4096,
    proven: false,
    log: (line) => said.push(line),
    observer: {},
  });
  onTestFinished(() => engine.stop());
  return { engine, said, guarded, ports };
}

function chat(engine: ProgramEngine): Promise<readonly GenerationEvent[]> {
  return new Promise((resolve) => {
    const events: GenerationEvent[] = [];
    engine.chat(chatRequest(), 1, {
      event: (event) => {
        events.push(event);
        if (event.type === 'finish' || event.type === 'error') resolve(events);
      },
    });
  });
}

const textOf = (events: readonly GenerationEvent[]) =>
  events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');

describe('ProgramEngine', () => {
  test('starts the program on a free port with a key, finds out what it is, and answers', async () => {
    const { engine, said, guarded } = engineOf([], { env: { LLAMA_API_KEY: '${key}' } });
    engine.start();
    await engine.settled();
    expect(engine.state()).toMatchObject({ type: 'ready', model: { name: 'fake', contextSize: 2048 } });
    expect(engine.identity).toMatchObject({ kind: 'llama-server', tasks: ['text', 'embedding'] });
    expect(textOf(await chat(engine))).toBe('word0 word1 word2 word3 ');
    expect(said).toContain('fake engine, fault: none');
    const { pid } = engine;
    await engine.stop();
    expect(isAlive(pid as number)).toBe(false);
    expect(guarded).toEqual([`+${pid}`, `-${pid}`]);
  });

  test('gpuUse: is what its process holds of GPUs once it is loaded, and is measured again by gpus', async () => {
    const gpu = { name: 'CUDA0', description: 'NVIDIA', totalBytes: 100, freeBytes: 60 };
    let used: readonly GpuUse[] | undefined = [{ ...gpu, heldBytes: 10 }];
    const asked = new Set<number>();
    const { engine } = engineOf([], {}, async (pid) => {
      asked.add(pid);
      return used;
    });
    engine.start();
    expect(engine.gpuUse()).toEqual([]);
    await engine.settled();
    expect([...asked]).toEqual([engine.pid]);
    expect(engine.gpuUse()).toEqual([{ ...gpu, heldBytes: 10 }]);
    used = undefined;
    expect(await engine.gpus()).toEqual([{ ...gpu, heldBytes: 10 }]);
    used = [{ ...gpu, heldBytes: 30 }];
    expect(await engine.gpus()).toEqual([{ ...gpu, heldBytes: 30 }]);
    await engine.stop();
    expect(engine.gpuUse()).toEqual([]);
    expect(engine.gpuNames).toEqual(['CUDA0']);
  });

  test('a program that ends while it loads fails with what it wrote', async () => {
    const { engine } = engineOf(['--fault', 'dies-loading']);
    await engine.settled();
    expect(engine.state()).toMatchObject({
      type: 'failed',
      reason: 'the engine process ended with code 1; it wrote: error: the model file is damaged',
    });
  });

  test.skipIf(process.platform === 'win32')('a program for another processor fails with what to do', async () => {
    const { engine } = engineOf(['--fault', 'wrong-processor']);
    await engine.settled();
    expect(engine.state()).toMatchObject({
      type: 'failed',
      reason: 'the engine process died of SIGILL: it was built for another processor; use a build for this one',
    });
  });

  test('a command that does not exist fails with its name', async () => {
    const { engine } = engineOf([], { command: ['no-such-engine-program', '${port}'] });
    await engine.settled();
    expect(engine.state()).toMatchObject({
      type: 'failed',
      reason: expect.stringMatching(/^the engine process could not be started: no-such-engine-program was not found: /),
    });
  });

  test.each(['never-ready', 'wrong-port'])('%s: fails after its time, and the process is gone', async (fault) => {
    const { engine, guarded } = engineOf(['--fault', fault], { timeout: '700ms' });
    await engine.settled();
    expect(engine.state()).toMatchObject({
      type: 'failed',
      reason: expect.stringMatching(
        /^it was not ready after 1 s on 127\.0\.0\.1:\d+: .*Does its command use \$\{port\}\?$/,
      ),
    });
    expect(isAlive(Number(guarded[0]?.slice(1)))).toBe(false);
  });

  test('a program that dies in the middle of a reply ends that with an error, and comes back on another port', async () => {
    const { engine, ports } = engineOf(['--fault', 'dies-streaming']);
    await engine.settled();
    const events = await chat(engine);
    const last = events.at(-1) as { readonly error: AppError };
    expect(textOf(events)).toBe('word0 word1 ');
    expect(last.error.code).toBe('engine-lost');
    await engine.settled();
    expect(engine.state().type).toBe('ready');
    expect(ports).toHaveLength(2);
  });

  test('a request that fails after the program was started again is told of the end of the first one', async () => {
    const { engine } = engineOf([]);
    await engine.settled();
    const { died, pid } = engine;
    process.kill(pid as number, 'SIGKILL');
    await vi.waitUntil(() => engine.pid !== undefined && engine.pid !== pid, 5000);
    const lost = new AppError('remote-lost', { host: 'fake', reason: 'closed' });
    expect(await engine.explained(lost, died)).toMatchObject({ code: 'engine-lost' });
  });

  test('an answer that is none is an error of the request, and the program goes on', async () => {
    const { engine } = engineOf(['--fault', 'rubbish']);
    await engine.settled();
    const { pid } = engine;
    const last = (await chat(engine)).at(-1) as { readonly error: AppError };
    expect(last.error.status).toBe(502);
    expect(engine.pid).toBe(pid);
  });

  test('its output has neither its key nor the secrets of its environment', async () => {
    const { engine } = engineOf(['--say', 'a-key-of-this-start my-hub-token /opt/lib'], {
      env: { HF_TOKEN: 'my-hub-token', LD_LIBRARY_PATH: '/opt/lib' },
    });
    await engine.settled();
    await vi.waitUntil(() => engine.output.lines.includes('… … /opt/lib'), 5000);
  });

  test('endless output is bounded on the console and in memory', async () => {
    const { engine, said } = engineOf(['--fault', 'prints']);
    await engine.settled();
    await vi.waitUntil(() => engine.output.lines.length === 200, 5000);
    expect(said.length).toBeLessThan(200);
  });

  test.skipIf(process.platform === 'win32')('its children end with it', async () => {
    const { engine } = engineOf(['--fault', 'has-children']);
    await engine.settled();
    const group = -(engine.pid as number);
    await engine.stop();
    await vi.waitUntil(() => !isAlive(group), 5000);
  });

  test('what it cannot do is refused with its product', async () => {
    const { engine } = engineOf();
    await engine.settled();
    expect(() => engine.check('image')).toThrow(
      'Pictures by fake is not possible: it is llama-server; name another model.',
    );
  });
});

test('filled: replaces the values in arguments and environment, and nothing else', () => {
  const program = programOf(['--host=${host}', '-m', '${model}', '$HOME', '${other}'], {
    model: 'a b',
    env: { K: '${key}' },
  });
  const { command, env } = filled(program, { port: 5, key: 'k' });
  expect(command.slice(2)).toEqual(['--port', '5', '--host=127.0.0.1', '-m', 'a b', '$HOME', '${other}']);
  expect(env).toEqual({ K: 'k' });
});
