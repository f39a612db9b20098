import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { type Attempt, firstThatFits } from './chat-prompt.ts';

const said = (text: string): GenerationEvent => ({ type: 'text-delta', text });
const tooLong = (promptTokens: number): GenerationEvent => ({
  type: 'error',
  error: new AppError('context-overflow', { promptTokens, contextSize: 10 }),
});
const lost: GenerationEvent = { type: 'error', error: new AppError('engine-lost', { capability: 'text' }) };

async function tried(...scripts: GenerationEvent[][]) {
  let attempts = 0;
  const made = scripts.map(
    (events): Attempt =>
      async () => {
        attempts += 1;
        return (async function* () {
          yield* events;
        })();
      },
  );
  const events: GenerationEvent[] = [];
  for await (const event of firstThatFits(made)) events.push(event);
  return { events, attempts };
}

test('the first one counts, where it fits', async () => {
  expect(await tried([said('long')], [said('short')])).toEqual({ events: [said('long')], attempts: 1 });
});

test('one that is too long makes way for the next', async () => {
  expect(await tried([tooLong(30)], [tooLong(20)], [said('short')])).toEqual({ events: [said('short')], attempts: 3 });
});

test('where none fits, the last one says so', async () => {
  expect(await tried([tooLong(30)], [tooLong(20)])).toEqual({ events: [tooLong(20)], attempts: 2 });
});

test('no other failure is tried again', async () => {
  expect(await tried([said('a'), lost], [said('b')])).toEqual({ events: [said('a'), lost], attempts: 1 });
});
