import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { AppError } from '../../src/core/errors.ts';
import { systemTimer } from '../../src/core/timers.ts';
import { spawnChild } from '../../src/engines/host/child.ts';
import { EngineProcess } from '../../src/engines/host/engine-process.ts';
import { stillMs, tickMs } from '../../src/engines/host/heartbeat.ts';
import { isAlive } from '../live/alive.ts';
import { builtModules } from '../live/server.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-engine-'));
const built = await builtModules(
  join(folder, 'built'),
  ['parent', 'child', 'watchdog'].map((name) => `engines/host/${name}`),
);
const entry = join(folder, 'worker.mjs');
const engines: EngineProcess<Told, Said, undefined>[] = [];
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.stop()));
  rmSync(folder, { recursive: true });
});

/** A worker that follows its messages, good or bad. */
writeFileSync(
  entry,
  `
import { openParent } from '${built('engines/host/parent')}';
const parent = openParent({ message: receive, closed: () => undefined });
const wait = (milliseconds) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
function receive(message, attachments) {
  const { type, id, milliseconds } = message;
  if (type === 'open') {
    if (message.stuck) {
      parent.send({ type: 'stuck' }, [], () => wait(600_000));
      return;
    }
    parent.watch.serving(1000);
    parent.send({ type: 'loaded' });
  }
  if (type === 'loop') for (;;);
  if (type === 'block') wait(600_000);
  if (type === 'step') parent.watch.here(milliseconds * 2, () => wait(milliseconds));
  if (type === 'aside') void parent.watch.aside(milliseconds, () => new Promise(() => {}));
  if (type === 'die-sending') parent.send({ type: 'answer', id, value: 'never' }, attachments, () => process.kill(process.pid, 'SIGKILL'));
  if (type === 'count') for (let number = 0; number < message.times; number += 1) {
    parent.send({ type: 'counted', number }, number % 3 === 0 ? [] : [Buffer.from(String(number)), new Uint8Array(number)]);
  }
  if (type === 'echo' || type === 'step' || type === 'count') parent.send({ type: 'answer', id, value: type }, attachments);
}
`,
);

type Told = {
  readonly type: 'open' | 'echo' | 'loop' | 'block' | 'step' | 'aside' | 'die-sending' | 'count';
  readonly id?: number;
  readonly milliseconds?: number;
  readonly times?: number;
};
type Said =
  | { readonly type: 'answer'; readonly id: number; readonly value: string }
  | { readonly type: 'counted'; readonly number: number };

interface Answer {
  readonly value: string;
  readonly attachments: readonly Uint8Array[];
}

function startEngine() {
  const counted: { readonly number: number; readonly attachments: readonly Uint8Array[] }[] = [];
  const losses: string[] = [];
  let alive = (): void => {};
  const pulsed = new Promise<void>((resolve) => {
    alive = resolve;
  });
  const engine: EngineProcess<Told, Said, undefined> = new EngineProcess<Told, Said, undefined>({
    capability: 'test',
    spawn: (path, listeners) => {
      const pulse: typeof listeners.pulse = (sign) => {
        listeners.pulse?.(sign);
        alive();
      };
      return spawnChild(path, { ...listeners, pulse });
    },
    entry,
    startTimer: systemTimer,
    opening: () => ({ type: 'open' }),
    closingMs: 1000,
    loaded: () => undefined,
    receive: (message, attachments) => {
      if (message.type === 'counted') counted.push({ number: message.number, attachments });
      else engine.calls.answer(message.id, { value: message.value, attachments });
    },
    observer: { lost: ({ type }) => losses.push(type) },
  });
  engines.push(engine);
  const ask = (message: Omit<Told, 'id'>, attachments: readonly Uint8Array[] = []) =>
    engine.call<Answer>((id) => ({ ...message, id }), attachments);
  const failure = (promise: Promise<unknown>) => promise.then(String, (error: AppError) => error.code);
  return { engine, ask, failure, counted, losses, pulsed };
}

/** Bytes that differ from place to place. */
function pattern(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index++) bytes[index] = index * 31 + (index >> 8);
  return bytes;
}

describe('attachments of an engine process', () => {
  test('of fifty megabytes are sent and received', async () => {
    const { ask } = startEngine();
    const [large, small] = [pattern(50_000_000), pattern(3)];
    const { attachments } = await ask({ type: 'echo' }, [large, small, new Uint8Array(0)]);
    expect(attachments.map(({ length }) => length)).toEqual([50_000_000, 3, 0]);
    expect(Buffer.compare(attachments[0] as Uint8Array, large)).toBe(0);
    expect(attachments[1]).toEqual(small);
  });

  test('belong to their messages, in order, also for thousands of messages', async () => {
    const { ask, counted } = startEngine();
    const times = 3000;
    await ask({ type: 'count', times });
    expect(counted.map(({ number }) => number)).toEqual(Array.from({ length: times }, (_, number) => number));
    for (const { number, attachments } of counted) {
      const [name, zeros] = attachments;
      if (number % 3 === 0) expect(attachments).toHaveLength(0);
      else expect([Buffer.from(name as Uint8Array).toString(), zeros?.length]).toEqual([String(number), number]);
    }
  });

  test('are not delivered if the process dies during the transfer; the next process works', async () => {
    const { ask, failure } = startEngine();
    expect(await failure(ask({ type: 'die-sending' }, [pattern(30_000_000)]))).toBe('engine-lost');
    const { attachments } = await ask({ type: 'echo' }, [pattern(10)]);
    expect(attachments).toEqual([pattern(10)]);
  });
});

describe('hanging engine process', () => {
  test.concurrent.each([[{ type: 'loop' }], [{ type: 'block' }], [{ type: 'aside', milliseconds: 3000 }]] as const)(
    'in %j: is detected and replaced, and its requests fail',
    async (message) => {
      const { engine, ask, failure, losses } = startEngine();
      await ask({ type: 'echo' });
      const before = engine.pid as number;
      expect(await failure(ask(message))).toBe('engine-silent');
      expect((await ask({ type: 'echo' })).value).toBe('echo');
      expect(engine.pid).not.toBe(before);
      expect(losses).toEqual(['silent']);
      expect(isAlive(before)).toBe(false);
    },
  );

  test.concurrent('stopped by SIGSTOP: is detected and replaced', async () => {
    const { engine, ask, failure, pulsed } = startEngine();
    await ask({ type: 'echo' });
    const before = engine.pid as number;
    // One that has never sent a pulse is not watched.
    await pulsed;
    process.kill(before, 'SIGSTOP');
    expect(await failure(ask({ type: 'echo' }))).toBe('engine-silent');
    expect((await ask({ type: 'echo' })).value).toBe('echo');
    expect(isAlive(before)).toBe(false);
  });

  test.concurrent('within its declared time limit: is not replaced', async () => {
    const { engine, ask, losses } = startEngine();
    await ask({ type: 'echo' });
    const before = engine.pid;
    expect((await ask({ type: 'step', milliseconds: stillMs + 3 * tickMs })).value).toBe('step');
    expect(engine.pid).toBe(before);
    expect(losses).toEqual([]);
  });
});

test('SIGINT and SIGHUP: do not end the engine process', async () => {
  const { engine, ask } = startEngine();
  await ask({ type: 'echo' });
  const before = engine.pid as number;
  process.kill(before, 'SIGINT');
  process.kill(before, 'SIGHUP');
  expect((await ask({ type: 'echo' })).value).toBe('echo');
  expect(engine.pid).toBe(before);
});

test('stop: ends the process, also during endless work', async () => {
  const { engine, ask, failure } = startEngine();
  await ask({ type: 'echo' });
  const { pid } = engine;
  const failed = failure(ask({ type: 'block' }));
  await engine.stop();
  expect(await failed).toBe('engine-down');
  expect(isAlive(pid as number)).toBe(false);
});

test('server killed: a process that hangs during a load ends soon', async () => {
  const server = join(folder, 'server.mjs');
  writeFileSync(
    server,
    `
import { spawnChild } from '${built('engines/host/child')}';
const child = spawnChild(${JSON.stringify(entry)}, { message: ({ type }) => console.log(type, child.pid), exit: () => {} });
child.send({ type: 'open', stuck: true });
`,
  );
  const parent: ChildProcess = spawn(process.execPath, [server], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(parent.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  const [, pid] = /^stuck (\d+)/.exec(line.toString()) ?? [];
  expect(isAlive(Number(pid))).toBe(true);
  parent.kill('SIGKILL');
  await expect.poll(() => isAlive(Number(pid))).toBe(false);
});
