import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Turn } from '../conversations/conversation.ts';
import { droppedTurns, estimateOf, fittedPath, roomFor } from './context-fit.ts';

const turn = (role: Turn['role'], length: number): Turn => ({
  id: '',
  parent: null,
  role,
  text: 'x'.repeat(length),
  at: 0,
});
const path = [turn('user', 360), turn('assistant', 360), turn('user', 360), turn('assistant', 360), turn('user', 36)];

describe('droppedTurns', () => {
  test('drops questions with their replies from the start', () => {
    const sizes = [100, 100, 100, 100, 10];
    expect(droppedTurns(path, sizes, 500)).toBe(0);
    expect(droppedTurns(path, sizes, 400)).toBe(2);
    expect(droppedTurns(path, sizes, 211)).toBe(2);
    expect(droppedTurns(path, sizes, 209)).toBe(4);
  });

  test('keeps the last question and what follows', () => {
    const calling = [...path, turn('assistant', 360), turn('tool', 360)];
    expect(
      droppedTurns(
        calling,
        calling.map(() => 1000),
        10,
      ),
    ).toBe(4);
    expect(droppedTurns([turn('assistant', 9)], [1000], 10)).toBe(0);
  });

  test('starts with a question and drops no more than needed', () => {
    const turns = fc.array(fc.tuple(fc.constantFrom('user', 'assistant', 'tool'), fc.integer({ min: 1, max: 50 })), {
      minLength: 1,
    });
    fc.assert(
      fc.property(turns, fc.nat(500), (made, room) => {
        const all = made.map(([role]) => turn(role, 1));
        const sizes = made.map(([, size]) => size);
        const dropped = droppedTurns(all, sizes, room);
        const last = all.findLastIndex(({ role }) => role === 'user');
        const left = sizes.slice(dropped).reduce((sum, size) => sum + size, 0);
        if (dropped > 0) expect(all[dropped]?.role).toBe('user');
        expect(dropped).toBeLessThanOrEqual(Math.max(0, last));
        if (left > room) expect(dropped).toBe(Math.max(0, last));
      }),
    );
  });
});

test('roomFor: reserves the reply, at most half of the context', () => {
  expect(roomFor(2048, 512)).toBe(1536);
  expect(roomFor(2048, 9000)).toBe(1024);
});

test('estimateOf: counts text, files, calls and images', () => {
  const text = { id: '', kind: 'text', name: '', text: 'x'.repeat(360) } as const;
  const image = { id: '', kind: 'image', name: '' } as const;
  expect(estimateOf({ text: 'x'.repeat(36) })).toBe(15);
  expect(estimateOf({ text: '', attachments: [text, image] })).toBe(705);
  expect(estimateOf({ text: '', calls: [{ id: '', name: 'abc', arguments: '{"a":1}' }] })).toBe(8);
});

describe('fittedPath', () => {
  const counting = (perTurn: number) => async (some: readonly Turn[]) => some.length * perTurn;

  test('does not count short chats', async () => {
    const count = () => Promise.reject(new Error('never'));
    expect(await fittedPath(path, { system: '', room: 100_000, count })).toBe(path);
  });

  test('trusts the count of the server over the estimate', async () => {
    const kept = await fittedPath(path, { system: '', room: 350, count: counting(100) });
    expect(kept.length * 100).toBeLessThanOrEqual(350);
    expect(kept.at(-1)).toBe(path.at(-1));
    expect(await fittedPath(path, { system: '', room: 500, count: counting(100) })).toHaveLength(5);
  });

  test('does not send a long chat as a whole for counting', async () => {
    const long = Array.from({ length: 2000 }, (_, index) => turn(index % 2 === 0 ? 'user' : 'assistant', 360));
    const counted: number[] = [];
    const count = async (some: readonly Turn[]) => {
      counted.push(some.length);
      return some.length * 105;
    };
    const kept = await fittedPath([...long, turn('user', 1)], { system: '', room: 1000, count });
    expect(kept.length).toBeGreaterThan(6);
    expect(kept.length * 105).toBeLessThanOrEqual(1000);
    expect(Math.max(...counted)).toBeLessThan(40);
  });

  test('keeps the last question even if it does not fit', async () => {
    expect(await fittedPath(path, { system: '', room: 350, count: counting(1000) })).toEqual([path[4]]);
  });

  test('uses the estimate if the server cannot count', async () => {
    const kept = await fittedPath(path, { system: '', room: 300, count: () => Promise.reject(new Error('away')) });
    expect(kept).toEqual(path.slice(2));
  });

  test('keeps everything if the context size is unknown', async () => {
    expect(await fittedPath(path, { system: '', room: 0, count: counting(100) })).toBe(path);
  });
});
