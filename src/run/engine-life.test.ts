import { expect, test } from 'vitest';
import type { EngineState } from '../engines/host/engine-state.ts';
import { EngineLife, type HostedEngine } from './engine-life.ts';

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
  expect(new EngineLife(hosted(state)).state()).toEqual(expected);
});

test('starts, stops and is waited for as its engine', async () => {
  const engine = hosted({ type: 'idle' });
  const life = new EngineLife(engine);
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
  const life = new EngineLife(hosted(state), () => {
    proved = true;
  });
  await life.settled();
  expect(proved).toBe(expected);
});

test('what it takes is what its process holds, once it is there', () => {
  const expected = process.platform === 'linux' ? expect.any(Number) : undefined;
  expect(new EngineLife(hosted({ type: 'ready' }, process.pid)).bytes()).toEqual(expected);
  expect(new EngineLife(hosted({ type: 'starting', progress: 0 }, process.pid)).bytes()).toBeUndefined();
  expect(new EngineLife(hosted({ type: 'ready' }, 2 ** 30)).bytes()).toBeUndefined();
});
