import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { AppError } from '../../src/core/errors.ts';
import { systemTimer } from '../../src/core/timers.ts';
import { spawnChild } from '../../src/engines/host/child.ts';
import { TaskEngine } from '../../src/engines/host/task-engine.ts';
import { builtModules } from '../live/server.ts';

interface Options {
  readonly refuse?: string;
  readonly concurrency?: number;
}
interface Task {
  readonly parts?: number;
  readonly die?: boolean;
  readonly fail?: string;
  readonly throws?: string;
  readonly endless?: boolean;
  readonly sounds?: readonly Uint8Array[];
}

const folder = mkdtempSync(join(tmpdir(), 'parley-tasks-'));
const modules = ['engines/host/task-worker', 'engines/host/watchdog', 'core/errors'];
const built = await builtModules(join(folder, 'built'), modules);
const entry = join(folder, 'worker.mjs');
writeFileSync(
  entry,
  `
import { serveTasks } from '${built('engines/host/task-worker')}';
import { AppError } from '${built('core/errors')}';
serveTasks(async ({ refuse, concurrency }, { progress }) => {
  progress(0.5);
  if (refuse) throw new Error(refuse);
  let running = 0;
  return {
    facts: { loaded: true },
    ...(concurrency ? { concurrency } : {}),
    async run({ parts = 0, die, fail, throws, endless, sounds = [] }, { emit, signal }) {
      running += 1;
      try {
        if (die) process.kill(process.pid, 'SIGKILL');
        if (throws) throw new Error(throws);
        if (fail) throw new AppError('engine-failed', { capability: 'test', reason: fail });
        for (let part = 0; part < parts; part += 1) {
          emit({ part, running, bytes: Buffer.concat([Buffer.from(String(part)), ...sounds]) });
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        if (endless) {
          emit({ part: -1, running });
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        }
      } finally {
        running -= 1;
      }
    },
  };
});
`,
);

interface Event {
  readonly part: number;
  readonly running: number;
  readonly bytes?: Uint8Array;
}
type Engine = TaskEngine<Options, { readonly loaded: boolean }, Task, Event>;
const engines: Engine[] = [];
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.stop()));
  rmSync(folder, { recursive: true });
});

function engine(options: Options = {}): Engine {
  const taskEngine: Engine = new TaskEngine({
    capability: 'test',
    entry,
    options,
    spawn: spawnChild,
    startTimer: systemTimer,
  });
  engines.push(taskEngine);
  return taskEngine;
}

const forever = new AbortController().signal;

async function eventsOf(own: Engine, task: Task, signal = forever) {
  const events: (Omit<Event, 'bytes'> & { bytes: string })[] = [];
  for await (const event of own.run(task, signal)) {
    events.push({ ...event, bytes: Buffer.from(event.bytes ?? []).toString() });
  }
  return events;
}

const codeOf = (work: Promise<unknown>) => work.then(String, (error: AppError) => error.code ?? error.message);

test('task: its bytes and those of its events arrive, and it ends', async () => {
  const own = engine();
  const events = await eventsOf(own, { parts: 3, sounds: [Buffer.from('!')] });
  expect(events.map(({ bytes }) => bytes)).toEqual(['0!', '1!', '2!']);
  expect(own.facts()).toEqual({ loaded: true });
});

test('failed load: reports the error of the engine', async () => {
  const own = engine({ refuse: 'the file is empty' });
  expect(await codeOf(eventsOf(own, {}))).toBe('engine-failed');
  expect(own.state()).toEqual({ type: 'failed', reason: 'the file is empty' });
});

test('TaskEngine: runs tasks one after the other, unless the engine allows several at once', async () => {
  const single = engine();
  const one = await Promise.all([eventsOf(single, { parts: 4 }), eventsOf(single, { parts: 4 })]);
  expect(Math.max(...one.flat().map(({ running }) => running))).toBe(1);
  const double = engine({ concurrency: 2 });
  const two = await Promise.all([eventsOf(double, { parts: 20 }), eventsOf(double, { parts: 20 })]);
  expect(Math.max(...two.flat().map(({ running }) => running))).toBe(2);
});

test('error: fails its task only', async () => {
  const own = engine();
  expect(await codeOf(eventsOf(own, { fail: 'no voice' }))).toBe('engine-failed');
  expect((await eventsOf(own, { parts: 1 })).length).toBe(1);
});

test('exception of a task: is a failure of the engine, with its reason', async () => {
  await expect(eventsOf(engine(), { throws: 'std::bad_alloc' })).rejects.toThrow(
    'The test engine could not do this: std::bad_alloc.',
  );
});

test('endless task: ends with its client, and the next is served', async () => {
  const own = engine();
  const stop = new AbortController();
  const running = own.run({ endless: true }, stop.signal)[Symbol.asyncIterator]();
  expect((await running.next()).value?.part).toBe(-1);
  const waiting = eventsOf(own, { parts: 1 });
  stop.abort(new Error('gone'));
  await expect(running.next()).rejects.toThrow('gone');
  expect((await waiting).length).toBe(1);
});

test('waiting task: ends with its client', async () => {
  const own = engine();
  const first = new AbortController();
  const running = own.run({ endless: true }, first.signal)[Symbol.asyncIterator]();
  await running.next();
  const second = new AbortController();
  const waiting = codeOf(eventsOf(own, { parts: 1 }, second.signal));
  second.abort(new Error('gone'));
  expect(await waiting).toBe('gone');
  first.abort(new Error('over'));
  await expect(running.next()).rejects.toThrow('over');
});

test('task that kills its process: fails alone, and the engine restarts', async () => {
  const own = engine();
  expect(await codeOf(eventsOf(own, { die: true }))).toBe('engine-lost');
  expect((await eventsOf(own, { parts: 2 })).length).toBe(2);
});
