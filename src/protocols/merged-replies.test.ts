import { expect, test } from 'vitest';
import { Channel } from '../core/channel.ts';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { mergedReplies } from './generate-all.ts';
import { finishEvent, play } from './testing/doubles.ts';

const say = (text: string): GenerationEvent => ({ type: 'text-delta', text });
const finish = finishEvent();
const settled = () => new Promise((resolve) => setImmediate(resolve));

async function listed(replies: readonly AsyncIterable<GenerationEvent>[]): Promise<string[]> {
  const seen: string[] = [];
  for await (const [index, event] of mergedReplies(replies)) {
    seen.push(`${index} ${event.type === 'text-delta' ? event.text : event.type}`);
  }
  return seen;
}

test('mergedReplies: no events for no replies', async () => {
  expect(await listed([])).toEqual([]);
});

test('mergedReplies: passes one reply through', async () => {
  expect(await listed([play([say('a'), finish])])).toEqual(['0 a', '0 finish']);
});

test('mergedReplies: reads a single reply only as fast as it is taken', async () => {
  let made = 0;
  async function* endless(): AsyncGenerator<GenerationEvent> {
    for (;;) yield say(String(made++));
  }
  for await (const [, event] of mergedReplies([endless()])) {
    await settled();
    if (event.type === 'text-delta' && event.text === '2') break;
  }
  expect(made).toBe(3);
});

test('mergedReplies: orders events by when they happen', async () => {
  const [one, two] = [new Channel<GenerationEvent>(), new Channel<GenerationEvent>()];
  const seen = listed([one, two]);
  for (const [channel, text] of [
    [two, 'a'],
    [one, 'b'],
    [two, 'c'],
    [one, 'd'],
  ] as const) {
    channel.push(say(text));
    await settled();
  }
  two.end();
  one.end();
  expect(await seen).toEqual(['1 a', '0 b', '1 c', '0 d']);
});

test('mergedReplies: the end of one reply does not end the others', async () => {
  expect(await listed([play([]), play([say('a'), finish]), play([say('b')])])).toEqual(
    expect.arrayContaining(['1 a', '1 finish', '2 b']),
  );
});

test('mergedReplies: an exception becomes an error event of its reply', async () => {
  async function* broken(): AsyncGenerator<GenerationEvent> {
    yield say('a');
    throw new AppError('engine-lost', { capability: 'text' });
  }
  expect(await listed([broken(), play([finish])])).toEqual(expect.arrayContaining(['0 a', '0 error', '1 finish']));
});

test.each([1, 2, 3])('mergedReplies: to stop reading stops all %i replies', async (count) => {
  let stopped = 0;
  const replies = Array.from({ length: count }, () => new Channel<GenerationEvent>(() => (stopped += 1)));
  replies[0]?.push(say('a'));
  for await (const _ of mergedReplies(replies)) break;
  await settled();
  expect(stopped).toBe(count);
});
