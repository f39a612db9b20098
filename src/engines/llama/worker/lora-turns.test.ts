import { expect, test } from 'vitest';
import { LoraTurns } from './lora-turns.ts';
import { workerWorld } from './testing/worker-world.ts';

const settled = () => new Promise(setImmediate);

test('LoraTurns: equal settings run together, another one after them, with all of its kind that wait', async () => {
  const log: string[] = [];
  const turns = new LoraTurns('a', async (setting) => void log.push(`change to ${setting}`));
  const leave: Record<string, () => void> = {};
  const enter = (name: string, setting: string) =>
    void turns.enter(setting).then((end) => {
      log.push(name);
      leave[name] = end;
    });
  enter('first', 'a');
  enter('second', 'a');
  await settled();
  enter('third', 'b');
  enter('late', 'a');
  enter('fourth', 'b');
  await settled();
  expect(log).toEqual(['first', 'second']);
  leave.first?.();
  leave.first?.();
  await settled();
  expect(log).toHaveLength(2);
  leave.second?.();
  await settled();
  expect(log.slice(2)).toEqual(['change to b', 'third', 'fourth']);
  leave.third?.();
  leave.fourth?.();
  await settled();
  expect(log.slice(5)).toEqual(['change to a', 'late']);
});

test('LoraTurns: a request that was aborted changes nothing', async () => {
  const log: string[] = [];
  const turns = new LoraTurns('a', async (setting) => void log.push(setting));
  const end = await turns.enter('a');
  let over = false;
  const waiting = turns.enter('b', () => over);
  over = true;
  end();
  (await waiting)();
  await turns.enter('a');
  expect(log).toEqual([]);
});

const lora = [{ path: '/models/style.gguf', scale: 1 }];

test('worker: requests with other adapters wait, and share nothing that is cached', async () => {
  const applied: string[] = [];
  const { begin, pieces, text } = workerWorld({ sequences: 2, lora, adapted: (setting) => applied.push(setting) });
  const cached = (id: number) => pieces(id).find((piece) => piece.type === 'start')?.cachedTokens;
  const done = async (id: number) => {
    while (!pieces(id).some(({ type }) => type === 'finish' || type === 'error')) await settled();
  };
  void begin(1, 'abcdefgh');
  void begin(2, 'abcdefgh', { adapters: [{ adapter: 'style', scale: 0.5 }] });
  await done(1);
  await done(2);
  void begin(3, 'abcdefgh', { adapters: [{ adapter: 0, scale: 0.5 }] });
  await done(3);
  void begin(4, 'abcdefgh');
  await done(4);
  expect([1, 2, 3, 4].map(cached)).toEqual([0, 0, 7, 0]);
  expect(applied).toEqual(['[0.5]', '[1]']);
  expect(new Set([1, 2, 3, 4].map(text)).size).toBe(1);
});

test('worker: an adapter that is not loaded is refused', async () => {
  const { begin, pieces } = workerWorld({ lora });
  await begin(1, 'abc', { adapters: [{ adapter: 'other', scale: 1 }] });
  expect(pieces(1)).toMatchObject([{ type: 'error', error: { code: 'invalid-field' } }]);
});
