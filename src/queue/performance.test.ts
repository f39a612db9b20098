import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { FinishCause } from '../core/events.ts';
import { PerformanceLog } from './performance.ts';

const still = { waiting: 0, running: 0 };

function finish(cause: FinishCause) {
  return {
    type: 'finish',
    reason: 'stop',
    cause,
    usage: { promptTokens: 30, cachedTokens: 20, completionTokens: 5 },
    timings: { initMs: 1, promptMs: 40, generationMs: 100, processedTokens: 10 },
  } as const;
}

test('PerformanceLog: all figures are 0 before the first generation', () => {
  const log = new PerformanceLog(() => 0);
  expect(log.report(still)).toMatchObject({ seed: -1, generations: 0, stop: 'none', idle: true, processMsPerToken: 0 });
});

test('PerformanceLog: has the figures of the last generation, per computed token', () => {
  const log = new PerformanceLog(() => 0);
  log.event({ type: 'start', promptTokens: 30, cachedTokens: 20, maxTokens: 9, seed: 42 });
  log.event({ type: 'text-delta', text: 'x' });
  log.event(finish('end-token'));
  expect(log.report(still)).toMatchObject({
    processMsPerToken: 4,
    evalMsPerToken: 20,
    promptTokens: 30,
    processedTokens: 10,
    reusedTokens: 20,
    completionTokens: 5,
    seed: 42,
    generations: 1,
    stop: 'end-token',
  });
});

test.each([
  ['limit', 'limit'],
  ['aborted', 'limit'],
  ['stop-text', 'stop-text'],
] as const)('PerformanceLog: %s is reported as %s', (cause, expected) => {
  const log = new PerformanceLog(() => 0);
  log.event(finish(cause));
  expect(log.report(still).stop).toBe(expected);
});

test('PerformanceLog: counts an error, and not as a finished generation', () => {
  const log = new PerformanceLog(() => 0);
  log.event({ type: 'error', error: new AppError('engine-lost', { capability: 'text' }) });
  expect(log.report(still)).toMatchObject({ stop: 'error', generations: 0 });
});

test('PerformanceLog: no division by zero without computed prompt tokens', () => {
  const log = new PerformanceLog(() => 0);
  const { usage, timings, ...rest } = finish('aborted');
  log.event({ ...rest, usage: { ...usage, completionTokens: 0 }, timings: { ...timings, processedTokens: 0 } });
  expect(log.report(still)).toMatchObject({ processMsPerToken: 0, evalMsPerToken: 0 });
});

test('PerformanceLog: idle time since the last use, uptime since the start', () => {
  let now = 1000;
  const log = new PerformanceLog(() => now);
  now = 5000;
  log.begin();
  now = 8000;
  expect(log.report({ waiting: 3, running: 1 })).toMatchObject({
    uptimeSeconds: 7,
    idleSeconds: 3,
    waiting: 3,
    idle: false,
  });
});
