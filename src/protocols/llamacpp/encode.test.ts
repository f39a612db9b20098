import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { finishEvent, play, startEvent } from '../testing/doubles.ts';
import { CompletionRecord, recordOf } from './encode.ts';

const token = (number: number) => ({ token: number, text: '', logprob: 0, bytes: [], top: [] });

test('recordOf: the sum of the events', async () => {
  const record = await recordOf(
    play([
      startEvent({ droppedTokens: 2, seed: 9 }),
      { type: 'reasoning-delta', text: 'Hm\n', logprobs: [token(1), token(2)] },
      { type: 'text-delta', text: 'Hello', logprobs: [token(3)] },
      { type: 'warning', code: 'x', text: 'careful' },
      finishEvent(),
    ]),
  );
  expect(record).toMatchObject({
    text: 'Hm\nHello',
    probabilities: [{ token: 1 }, { token: 2 }, { token: 3 }],
    warnings: ['careful'],
    promptTokens: 7,
    cachedTokens: 3,
    start: { droppedTokens: 2, seed: 9 },
    predicted: 5,
    newLine: true,
    finish: { type: 'finish', cause: 'end-token' },
  });
});

test('CompletionRecord: counts tokens by logprobs, or by pieces', () => {
  const record = new CompletionRecord(false);
  record.add({ type: 'text-delta', text: 'a' });
  record.add({ type: 'text-delta', text: 'bc', logprobs: [token(1), token(2)] });
  expect(record).toMatchObject({ predicted: 3, text: '', probabilities: [], newLine: false });
});

test('recordOf: throws the error of the generation', async () => {
  const error = new AppError('engine-lost', { capability: 'text' });
  await expect(recordOf(play([startEvent(), { type: 'error', error }]))).rejects.toBe(error);
});

test('recordOf: an aborted generation has no finish', async () => {
  expect((await recordOf(play([startEvent()]))).finish).toBeUndefined();
});

test('recordOf: ignores tool calls', async () => {
  const events: GenerationEvent[] = [
    { type: 'tool-start', index: 0, id: 'c', name: 'f' },
    { type: 'tool-delta', index: 0, json: '{}' },
    { type: 'tool-end', index: 0 },
    finishEvent(),
  ];
  expect(await recordOf(play(events))).toMatchObject({ text: '', finish: { type: 'finish' } });
});
