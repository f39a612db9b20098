import { expect, test } from 'vitest';
import { AppError } from './errors.ts';
import type { GenerationEvent } from './events.ts';
import { fold } from './fold.ts';

const timings = { initMs: 0, promptMs: 1, generationMs: 2, processedTokens: 3 };
const usage = { promptTokens: 3, cachedTokens: 1, completionTokens: 2 };

async function* play(...events: GenerationEvent[]): AsyncGenerator<GenerationEvent> {
  yield* events;
}

test('fold: joins text deltas and keeps the finish event', async () => {
  const generation = await fold(
    play(
      { type: 'start', promptTokens: 3, cachedTokens: 1, maxTokens: 9, seed: 1 },
      { type: 'text-delta', text: 'Hel' },
      { type: 'text-delta', text: 'lo' },
      { type: 'finish', reason: 'stop', cause: 'end-token', usage, timings },
    ),
  );
  expect(generation).toMatchObject({ text: 'Hello', reason: 'stop', usage });
});

test('fold: separates interleaved tool calls', async () => {
  const generation = await fold(
    play(
      { type: 'tool-start', index: 0, id: 'a', name: 'add' },
      { type: 'tool-start', index: 1, id: 'b', name: 'sub' },
      { type: 'tool-delta', index: 1, json: '{}' },
      { type: 'tool-delta', index: 0, json: '{"x"' },
      { type: 'tool-delta', index: 0, json: ':1}' },
      { type: 'finish', reason: 'tool-calls', cause: 'end-token', usage, timings },
    ),
  );
  expect(generation.toolCalls.map((call) => call.json)).toEqual(['{"x":1}', '{}']);
});

test('fold: throws an error event unchanged', async () => {
  const lost = new AppError('engine-lost', { capability: 'text' });
  await expect(fold(play({ type: 'error', error: lost }))).rejects.toBe(lost);
});

test('fold: a stream without a finish event was aborted', async () => {
  expect((await fold(play({ type: 'text-delta', text: 'Hal' }))).reason).toBe('aborted');
});

test('fold: keeps truncation, timings and reasoning counts', async () => {
  const figures = (token: number) => [{ token, text: 'x', bytes: [120], logprob: -1, top: [] }];
  const generation = await fold(
    play(
      { type: 'start', promptTokens: 3, cachedTokens: 1, maxTokens: 9, seed: 1, droppedTokens: 4 },
      { type: 'reasoning-delta', text: 'x', logprobs: figures(1) },
      { type: 'text-delta', text: 'x', logprobs: figures(2) },
      { type: 'finish', reason: 'stop', cause: 'end-token', usage, timings },
    ),
  );
  expect(generation).toMatchObject({ droppedTokens: 4, timings, logprobs: figures(2), reasoningLogprobs: figures(1) });
});

test('fold: joins prompt counts in any portions', async () => {
  const token = (text: string, logprob: number | null) => {
    return { token: 1, text, bytes: [], logprob, rank: null, top: [], inPrompt: true };
  };
  const generation = await fold(
    play(
      { type: 'prompt-logprobs', tokens: [token('a', null), token('b', -1)] },
      { type: 'prompt-logprobs', tokens: [token('c', -2)] },
      { type: 'text-delta', text: 'd' },
      { type: 'finish', reason: 'length', cause: 'limit', usage, timings },
    ),
  );
  expect(generation.promptLogprobs.map(({ text }) => text)).toEqual(['a', 'b', 'c']);
  expect([generation.text, generation.logprobs]).toEqual(['d', []]);
});
