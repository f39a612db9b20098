import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { TextState } from '../core/text-service.ts';
import type { EngineState } from '../engines/host/engine-state.ts';
import { EngineLifecycle, type HostedEngine, residentBytes } from './lifecycle.ts';
import type { TextEngineProcess } from './text-engine.ts';

function hosted(state: EngineState, pid?: number): HostedEngine & { readonly calls: string[] } {
  const calls: string[] = [];
  return {
    calls,
    pid,
    start: () => calls.push('start'),
    stop: async () => void calls.push('stop'),
    state: () => state,
    settled: async () => void calls.push('settled'),
  };
}

test.each<[EngineState, object]>([
  [{ type: 'idle' }, { type: 'loading', progress: 0 }],
  [
    { type: 'starting', progress: 0.4 },
    { type: 'loading', progress: 0.4 },
  ],
  [{ type: 'lost' }, { type: 'loading', progress: 0 }],
  [{ type: 'ready' }, { type: 'ready' }],
  [
    { type: 'failed', reason: 'why' },
    { type: 'failed', reason: 'why' },
  ],
])('EngineLifecycle: state of an engine in %j is %j', (state, expected) => {
  expect(new EngineLifecycle(hosted(state)).state()).toEqual(expected);
});

test('EngineLifecycle: start, settled and stop call the engine', async () => {
  const engine = hosted({ type: 'idle' });
  const lifecycle = new EngineLifecycle(engine);
  lifecycle.start();
  await lifecycle.settled();
  await lifecycle.stop();
  expect(engine.calls).toEqual(['start', 'settled', 'stop']);
});

test.each<[EngineState, boolean]>([
  [{ type: 'ready' }, true],
  [{ type: 'failed', reason: '' }, false],
])('EngineLifecycle: calls onLoaded after %j: %s', async (state, expected) => {
  let proved = false;
  const lifecycle = new EngineLifecycle(hosted(state), () => {
    proved = true;
  });
  await lifecycle.settled();
  expect(proved).toBe(expected);
});

test('EngineLifecycle: bytes are without what the engine gives back', async () => {
  const released: number[] = [];
  const engine = {
    ...hosted({ type: 'ready' }, process.pid),
    snapshots: () => ({ bytes: 1e15 }),
    release: async (bytes: number) => void released.push(bytes),
  };
  const lifecycle = new EngineLifecycle(engine);
  expect([lifecycle.spareBytes(), lifecycle.bytes()]).toEqual([1e15, process.platform === 'linux' ? 0 : undefined]);
  await lifecycle.release(7);
  expect(released).toEqual([7]);
});

test('EngineLifecycle: bytes is the memory of the ready process', () => {
  const expected = process.platform === 'linux' ? expect.any(Number) : undefined;
  expect(new EngineLifecycle(hosted({ type: 'ready' }, process.pid)).bytes()).toEqual(expected);
  expect(new EngineLifecycle(hosted({ type: 'starting', progress: 0 }, process.pid)).bytes()).toBeUndefined();
  expect(new EngineLifecycle(hosted({ type: 'ready' }, 2 ** 30)).bytes()).toBeUndefined();
});

const ready = { type: 'ready', model: { name: 'm' } } as TextState;

function textLifecycle(state: TextState, pid?: number) {
  const log: string[] = [];
  const remembered: TextState[] = [];
  const engine = {
    pid,
    state: () => state,
    settled: async () => void log.push('settled'),
    start: () => void log.push('start'),
    stop: async () => void log.push('stop'),
  } as unknown as TextEngineProcess;
  return { log, remembered, engine, lifecycle: new EngineLifecycle(engine, () => remembered.push(engine.state())) };
}

test('EngineLifecycle: starts and stops a text engine', async () => {
  const { log, lifecycle, engine } = textLifecycle(ready);
  lifecycle.start();
  await lifecycle.settled();
  await lifecycle.stop();
  expect(log).toEqual(['start', 'settled', 'stop']);
  expect(lifecycle.engine).toBe(engine);
});

describe('EngineLifecycle: state of a text engine', () => {
  test.each<[TextState, object]>([
    [
      { type: 'loading', name: 'm', progress: 0.5 },
      { type: 'loading', progress: 0.5 },
    ],
    [
      { type: 'failed', name: 'm', reason: 'too large' },
      { type: 'failed', reason: 'too large' },
    ],
    [ready, { type: 'ready' }],
    [{ type: 'none' }, { type: 'ready' }],
  ])('%j is %j', (state, expected) => {
    expect(textLifecycle(state).lifecycle.state()).toEqual(expected);
  });

  test('calls onLoaded only when it becomes ready', async () => {
    const there = textLifecycle(ready);
    expect(there.remembered).toEqual([]);
    await there.lifecycle.settled();
    expect(there.remembered).toEqual([ready]);
    const failed = textLifecycle({ type: 'failed', name: 'm', reason: 'too large' });
    await failed.lifecycle.settled();
    expect(failed.remembered).toEqual([]);
  });
});

describe('EngineLifecycle: bytes of a text engine', () => {
  test.runIf(process.platform === 'linux')('is the memory of its process', () => {
    const bytes = textLifecycle(ready, process.pid).lifecycle.bytes() ?? 0;
    expect(bytes).toBeGreaterThan(2 ** 20);
    expect(bytes % 1024).toBe(0);
  });

  test('is undefined before it is ready, without a process, or after its exit', () => {
    expect(textLifecycle({ type: 'loading', name: 'm', progress: 0 }, process.pid).lifecycle.bytes()).toBeUndefined();
    expect(textLifecycle(ready).lifecycle.bytes()).toBeUndefined();
    expect(textLifecycle(ready, 2 ** 30).lifecycle.bytes()).toBeUndefined();
  });
});

const linux = process.platform === 'linux';

test('residentBytes: undefined for a missing process', () => {
  expect(residentBytes(undefined)).toBeUndefined();
  expect(residentBytes(2 ** 22 + 1)).toBeUndefined();
});

test.runIf(linux)('residentBytes: includes child processes that another thread has started', async () => {
  const child = `require('node:child_process').spawn(process.execPath, ['-e', 'console.log(1);process.stdin.resume()'], { stdio: ['pipe', 'inherit', 'ignore'] })`;
  const script = `new (require('node:worker_threads').Worker)(${JSON.stringify(`globalThis.child = ${child}`)}, { eval: true })`;
  const program = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    await once(program.stdout, 'data');
    const resident = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8'))?.[1];
    expect(residentBytes(program.pid) as number).toBeGreaterThan(Number(resident) * 1024 + 20 * 2 ** 20);
  } finally {
    program.kill();
  }
});

test.runIf(linux)('residentBytes: includes child processes', async () => {
  const own = residentBytes(process.pid) as number;
  const child = spawn(process.execPath, ['-e', 'console.log(1);process.stdin.resume()'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    await once(child.stdout, 'data');
    const both = residentBytes(process.pid) as number;
    expect(residentBytes(child.pid)).toBeGreaterThan(10 * 2 ** 20);
    expect(both).toBeGreaterThan(residentBytes(child.pid) as number);
    expect(own).toBeGreaterThan(0);
  } finally {
    child.kill();
  }
});
