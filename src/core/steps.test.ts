import { expect, test, vi } from 'vitest';
import { atEnd, steps } from './steps.ts';

async function* numbers(fail = false): AsyncGenerator<number> {
  yield 1;
  if (fail) throw new Error('broken');
  yield 2;
}

async function read(values: AsyncIterable<number>, most = Number.POSITIVE_INFINITY): Promise<number[]> {
  const found: number[] = [];
  for await (const value of values) {
    found.push(value);
    if (found.length >= most) break;
  }
  return found;
}

test('steps: gives the values of each step', async () => {
  const source = numbers();
  expect(await read(steps(() => source.next(), vi.fn()))).toEqual([1, 2]);
});

test('steps: calls `close` when the reader stops early', async () => {
  const source = numbers();
  const close = vi.fn();
  expect(
    await read(
      steps(() => source.next(), close),
      1,
    ),
  ).toEqual([1]);
  expect(close).toHaveBeenCalledOnce();
});

test.each([
  ['to its end', false, 9],
  ['in part', false, 1],
])('atEnd: calls back once for a stream that is read %s', async (_, fail, most) => {
  const ended = vi.fn();
  await read(atEnd(numbers(fail), ended), most);
  expect(ended).toHaveBeenCalledOnce();
});

test('atEnd: calls back once for a stream that fails, and passes the error on', async () => {
  const ended = vi.fn();
  await expect(read(atEnd(numbers(true), ended))).rejects.toThrow('broken');
  expect(ended).toHaveBeenCalledOnce();
});

test('atEnd: closes its source when the reader stops early', async () => {
  const source = numbers();
  await read(
    atEnd(source, () => undefined),
    1,
  );
  expect(await source.next()).toEqual({ done: true, value: undefined });
});
