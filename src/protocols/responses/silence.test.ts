import { expect, test } from 'vitest';
import { handTimer, latch } from '../../http/testing/world.ts';
import { withSilences } from './silence.ts';

test('values pass as they come, each long wait between them is told, and nothing is lost', async () => {
  const { startTimer, pass, waiting } = handTimer();
  const late = latch<string>();
  async function* source(): AsyncGenerator<string> {
    yield 'a';
    yield await late.promise;
  }
  const values = withSilences(source(), 1000, startTimer);
  expect((await values.next()).value).toBe('a');
  for (const _ of [1, 2]) {
    const silent = values.next();
    await Promise.resolve();
    pass(1000);
    expect(await silent).toEqual({ done: false, value: undefined });
  }
  late.open('b');
  expect((await values.next()).value).toBe('b');
  expect((await values.next()).done).toBe(true);
  expect(waiting()).toEqual([]);
});

test('a reader that leaves closes the source, and a failure of the source is passed on', async () => {
  const { startTimer, waiting } = handTimer();
  let closed = false;
  async function* source(): AsyncGenerator<string> {
    try {
      yield 'a';
      throw new Error('lost');
    } finally {
      closed = true;
    }
  }
  for await (const _ of withSilences(source(), 1000, startTimer)) break;
  expect([closed, waiting()]).toEqual([true, []]);
  const values = withSilences(source(), 1000, startTimer);
  await values.next();
  await expect(values.next()).rejects.toThrow('lost');
  expect(waiting()).toEqual([]);
});
