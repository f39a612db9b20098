import { expect, test } from 'vitest';
import type { GenerationEvent } from '../core/events.ts';
import { promptProgress } from './prompt-progress.ts';
import { finishEvent, startEvent } from './testing/doubles.ts';

const text: GenerationEvent = { type: 'text-delta', text: 'a' };
const warning: GenerationEvent = { type: 'warning', code: 'w', text: 'W.' };
const progress = (done: number): GenerationEvent => ({ type: 'prompt-progress', done, total: 8 });

function bodies(events: readonly GenerationEvent[]) {
  let time = 100;
  const read = promptProgress(() => time);
  return events.map((event) => {
    const body = read(event);
    time += 10;
    return body && [body.processed, body.total, body.cache, body.time_ms];
  });
}

test('promptProgress: begins with the cached tokens, ends with all of them before the text, and counts milliseconds', () => {
  const start = startEvent({ promptTokens: 10, cachedTokens: 2 });
  expect(bodies([start, warning, progress(4), text, text])).toEqual([
    [2, 10, 2, 0],
    undefined,
    [6, 10, 2, 20],
    [10, 10, 2, 30],
    undefined,
  ]);
});

test('promptProgress: a prompt that is all in the cache is told once, an aborted one not to its end', () => {
  expect(bodies([startEvent({ promptTokens: 10, cachedTokens: 10 }), text])).toEqual([[10, 10, 10, 0], undefined]);
  const aborted = finishEvent({ reason: 'aborted', cause: 'aborted' });
  const start = startEvent({ promptTokens: 10, cachedTokens: 0 });
  expect(bodies([start, progress(4), aborted])).toEqual([[0, 10, 0, 0], [4, 10, 0, 10], undefined]);
  expect(bodies([start, finishEvent()]).at(1)).toEqual([10, 10, 0, 10]);
});

test('promptProgress: nothing without the length of the prompt, nor a step back', () => {
  expect(bodies([startEvent({ promptTokens: 0, cachedTokens: 0 }), text])).toEqual([undefined, undefined]);
  const start = startEvent({ promptTokens: 10, cachedTokens: 2 });
  expect(bodies([start, progress(4), progress(3), progress(99)]).slice(2)).toEqual([undefined, [10, 10, 2, 30]]);
});
