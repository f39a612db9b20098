import { expect, test } from 'vitest';
import { readOn } from './read-on.ts';

async function* counting(upTo: number, seen: number[]): AsyncIterable<number> {
  for (let value = 1; value <= upTo; value += 1) {
    await Promise.resolve();
    seen.push(value);
    yield value;
  }
}

const ended = (done: () => boolean) =>
  new Promise<void>((resolve) => {
    const look = () => (done() ? resolve() : setImmediate(look));
    look();
  });

test('whoever reads gets every value in order', async () => {
  const got: number[] = [];
  for await (const value of readOn(counting(5, []))) got.push(value);
  expect(got).toEqual([1, 2, 3, 4, 5]);
});

test('the values go on to their end when the reader stops', async () => {
  const seen: number[] = [];
  for await (const value of readOn(counting(50, seen))) if (value === 2) break;
  await ended(() => seen.length === 50);
  expect(seen.at(-1)).toBe(50);
});

test('the values go on when nobody reads at all', async () => {
  const seen: number[] = [];
  readOn(counting(3, seen));
  await ended(() => seen.length === 3);
  expect(seen).toEqual([1, 2, 3]);
});

test('a failure reaches the reader after what came before it, and nobody else', async () => {
  async function* failing(): AsyncIterable<number> {
    yield 1;
    throw new Error('broken');
  }
  const got: number[] = [];
  const reading = (async () => {
    for await (const value of readOn(failing())) got.push(value);
  })();
  await expect(reading).rejects.toThrow('broken');
  expect(got).toEqual([1]);
  readOn(failing());
  await new Promise((resolve) => setImmediate(resolve));
});
