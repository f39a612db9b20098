import { expect, test, vi } from 'vitest';
import { Channel } from './channel.ts';

async function collect<Value>(channel: AsyncIterable<Value>): Promise<Value[]> {
  const values: Value[] = [];
  for await (const value of channel) values.push(value);
  return values;
}

test('values pushed before anyone reads are kept in order', async () => {
  const channel = new Channel<number>();
  channel.push(1);
  channel.push(2);
  channel.end();
  expect(await collect(channel)).toEqual([1, 2]);
});

test('a reader that came first gets each value as it comes', async () => {
  const channel = new Channel<number>();
  const read = collect(channel);
  channel.push(1);
  await Promise.resolve();
  channel.push(2);
  channel.push(3);
  channel.end();
  expect(await read).toEqual([1, 2, 3]);
});

test('a reader that stops early is reported once, one that reads to the end is not', async () => {
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

test('what is pushed after the end is dropped', async () => {
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
