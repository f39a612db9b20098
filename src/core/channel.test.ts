import { expect, test, vi } from 'vitest';
import { Channel, readOn } from './channel.ts';

async function collect<Value>(channel: AsyncIterable<Value>): Promise<Value[]> {
  const values: Value[] = [];
  for await (const value of channel) values.push(value);
  return values;
}

test('Channel: buffers values in order', async () => {
  const channel = new Channel<number>();
  channel.push(1);
  channel.push(2);
  channel.end();
  expect(await collect(channel)).toEqual([1, 2]);
});

test('Channel: delivers values to a waiting reader', async () => {
  const channel = new Channel<number>();
  const read = collect(channel);
  channel.push(1);
  await Promise.resolve();
  channel.push(2);
  channel.push(3);
  channel.end();
  expect(await read).toEqual([1, 2, 3]);
});

test('Channel: calls onCancel once, only if the reader stops early', async () => {
  const cancelled = vi.fn();
  const early = new Channel<number>(cancelled);
  early.push(1);
  for await (const _ of early) break;
  expect(cancelled).toHaveBeenCalledTimes(1);

  const whole = new Channel<number>(cancelled);
  whole.end();
  await collect(whole);
  expect(cancelled).toHaveBeenCalledTimes(1);
});

test('Channel: drops values after the end', async () => {
  const channel = new Channel<number>();
  channel.end();
  channel.push(1);
  expect(await collect(channel)).toEqual([]);
});

test('Channel: room() waits while many values are unread, until all are read', async () => {
  const channel = new Channel<number>();
  const reader = channel[Symbol.asyncIterator]();
  for (let value = 0; value < 255; value += 1) channel.push(value);
  expect(channel.room()).toBeUndefined();
  channel.push(255);
  const room = channel.room();
  expect(room).toBeInstanceOf(Promise);
  let passed = false;
  void room?.then(() => {
    passed = true;
  });
  for (let value = 0; value < 255; value += 1) await reader.next();
  expect(passed).toBe(false);
  await reader.next();
  await room;
  expect(channel.room()).toBeUndefined();
});

test('Channel: room() resolves when the reader leaves', async () => {
  const channel = new Channel<number>();
  for (let value = 0; value < 300; value += 1) channel.push(value);
  const room = channel.room();
  await channel[Symbol.asyncIterator]().return?.();
  await room;
  expect(channel.room()).toBeUndefined();
});

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

test('readOn: yields all values in order', async () => {
  const got: number[] = [];
  for await (const value of readOn(counting(5, []))) got.push(value);
  expect(got).toEqual([1, 2, 3, 4, 5]);
});

test('readOn: reads to the end when the reader stops', async () => {
  const seen: number[] = [];
  for await (const value of readOn(counting(50, seen))) if (value === 2) break;
  await ended(() => seen.length === 50);
  expect(seen.at(-1)).toBe(50);
});

test('readOn: reads to the end without a reader', async () => {
  const seen: number[] = [];
  readOn(counting(3, seen));
  await ended(() => seen.length === 3);
  expect(seen).toEqual([1, 2, 3]);
});

test('readOn: throws a failure after the values before it', async () => {
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
