import { describe, expect, test } from 'vitest';
import { Checkpoints } from './checkpoints.ts';

const at = (index: number, bytes = 10) => ({ index, state: new Uint8Array(bytes) });
const made = (limits = {}) => new Checkpoints({ count: 3, bytes: 1000, ...limits });
const places = (list: Checkpoints) => list.all.map(({ index }) => index);

test('the last one up to a place is found', () => {
  const list = made();
  for (const index of [100, 200, 300]) list.add(at(index), 301);
  expect([99, 100, 250, 900].map((index) => list.upTo(index)?.index)).toEqual([undefined, 100, 200, 300]);
});

test('those behind a change are dropped', () => {
  const list = made();
  for (const index of [100, 200, 300]) list.add(at(index), 301);
  list.dropBehind(200);
  expect([places(list), list.bytes]).toEqual([[100, 200], 20]);
});

test('one that is made again replaces the old one', () => {
  const list = made();
  for (const bytes of [10, 20]) list.add(at(100, bytes), 200);
  expect([places(list), list.bytes]).toEqual([[100], 20]);
});

test('one that the library could not give is none', () => {
  const list = made();
  list.add(at(100, 0), 200);
  expect(places(list)).toEqual([]);
});

describe('there are never more than', () => {
  test('their number allows', () => {
    const list = made();
    for (const index of [100, 110, 800, 990]) list.add(at(index), 1000);
    expect(places(list)).toHaveLength(3);
    expect(places(list)).toContain(990);
  });
  test('their bytes allow', () => {
    const list = made({ bytes: 250 });
    for (const index of [100, 800, 990]) list.add(at(index, 100), 1000);
    expect(list.bytes).toBe(200);
    list.add(at(995, 251), 1000);
    expect(places(list)).not.toContain(995);
  });
});
