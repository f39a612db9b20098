import { describe, expect, test } from 'vitest';
import type { TextState } from '../core/text-service.ts';
import type { TextEngineProcess } from './engine.ts';
import { TextLife } from './text-life.ts';

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
  return { log, remembered, engine, life: new TextLife(engine, (seen) => remembered.push(seen)) };
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
