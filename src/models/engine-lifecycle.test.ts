import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { TextState } from '../core/text-service.ts';
import type { EngineState } from '../engines/host/engine-state.ts';
import { EngineLifecycle, type HostedEngine, residentBytes } from './engine-lifecycle.ts';
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
])('an engine that is %j is %j to the registry', (state, expected) => {
  expect(new EngineLifecycle(hosted(state)).state()).toEqual(expected);
});

test('starts, stops and is waited for as its engine', async () => {
  const engine = hosted({ type: 'idle' });
  const life = new EngineLifecycle(engine);
  life.start();
  await life.settled();
  await life.stop();
  expect(engine.calls).toEqual(['start', 'settled', 'stop']);
});

test.each<[EngineState, boolean]>([
  [{ type: 'ready' }, true],
  [{ type: 'failed', reason: '' }, false],
])('once it has been %j it is proved: %s', async (state, expected) => {
  let proved = false;
  const life = new EngineLifecycle(hosted(state), () => {
    proved = true;
  });
  await life.settled();
  expect(proved).toBe(expected);
});

test('what it takes is what its process holds, once it is there', () => {
  const expected = process.platform === 'linux' ? expect.any(Number) : undefined;
  expect(new EngineLifecycle(hosted({ type: 'ready' }, process.pid)).bytes()).toEqual(expected);
  expect(new EngineLifecycle(hosted({ type: 'starting', progress: 0 }, process.pid)).bytes()).toBeUndefined();
  expect(new EngineLifecycle(hosted({ type: 'ready' }, 2 ** 30)).bytes()).toBeUndefined();
});

const ready = { type: 'ready', model: { name: 'm' } } as TextState;

function life(state: TextState, pid?: number) {
  const log: string[] = [];
  const remembered: TextState[] = [];
  const engine = {
    pid,
    state: () => state,
    settled: async () => void log.push('settled'),
    start: () => void log.push('start'),
    stop: async () => void log.push('stop'),
  } as unknown as TextEngineProcess;
  return { log, remembered, engine, life: new EngineLifecycle(engine, () => remembered.push(engine.state())) };
}

test('begins and ends its engine', async () => {
  const { log, life: kept, engine } = life(ready);
  kept.start();
  await kept.settled();
  await kept.stop();
  expect(log).toEqual(['start', 'settled', 'stop']);
  expect(kept.engine).toBe(engine);
});

describe('its state', () => {
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
  ])('with the engine in %j is %j', (state, expected) => {
    expect(life(state).life.state()).toEqual(expected);
  });

  test('is remembered once it is there, and only then', async () => {
    const there = life(ready);
    expect(there.remembered).toEqual([]);
    await there.life.settled();
    expect(there.remembered).toEqual([ready]);
    const failed = life({ type: 'failed', name: 'm', reason: 'too large' });
    await failed.life.settled();
    expect(failed.remembered).toEqual([]);
  });
});

describe('what it takes', () => {
  test.runIf(process.platform === 'linux')('is what its process holds', () => {
    const bytes = life(ready, process.pid).life.bytes() ?? 0;
    expect(bytes).toBeGreaterThan(2 ** 20);
    expect(bytes % 1024).toBe(0);
  });

  test('is not known before it is there, without a process, or when that has just ended', () => {
    expect(life({ type: 'loading', name: 'm', progress: 0 }, process.pid).life.bytes()).toBeUndefined();
    expect(life(ready).life.bytes()).toBeUndefined();
    expect(life(ready, 2 ** 30).life.bytes()).toBeUndefined();
  });
});

const linux = process.platform === 'linux';

test('a process that is not there holds nothing that could be told', () => {
  expect(residentBytes(undefined)).toBeUndefined();
  expect(residentBytes(2 ** 22 + 1)).toBeUndefined();
});

test.runIf(linux)('those that a process started count with it', async () => {
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
