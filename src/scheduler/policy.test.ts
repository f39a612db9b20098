import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mayBegin, pickNext, startingLevel, takeTurn, type Waiting } from './policy.ts';

const entry = (client: string, alone = false): Waiting => ({ client, alone });

describe('whose turn it is', () => {
  test('nobody waits: nobody goes', () => expect(pickNext([], new Map())).toBeUndefined());
  test('one client: the oldest first', () => {
    const [first, second] = [entry('a'), entry('a')];
    expect(pickNext([first, second], new Map())).toBe(first);
  });
  test('the client that has had fewer turns goes first', () => {
    const [a, b] = [entry('a'), entry('b')];
    expect(
      pickNext(
        [a, b],
        new Map([
          ['a', 2],
          ['b', 1],
        ]),
      ),
    ).toBe(b);
  });
  test('of equals the one that came first', () => {
    const [a, b] = [entry('a'), entry('b')];
    expect(
      pickNext(
        [a, b],
        new Map([
          ['a', 1],
          ['b', 1],
        ]),
      ),
    ).toBe(a);
  });
});

describe('whether it may begin', () => {
  test.each([
    ['a shared one into an idle engine', false, [], true],
    ['a shared one beside one other', false, [false], true],
    ['a shared one when all places are taken', false, [false, false], false],
    ['a shared one beside a lone one', false, [true], false],
    ['a lone one into an idle engine', true, [], true],
    ['a lone one beside a shared one', true, [false], false],
  ])('%s', (_, alone, running, expected) => {
    expect(
      mayBegin(
        entry('x', alone),
        running.map((one) => entry('y', one)),
        2,
      ),
    ).toBe(expected);
  });
});

test('a newcomer starts level with those who have had least', () => {
  const turns = new Map([
    ['a', 7],
    ['b', 5],
  ]);
  expect(startingLevel(turns, 'new')).toBe(5);
  expect(takeTurn(turns, 'new', 1, new Set(['a', 'b', 'new'])).get('new')).toBe(6);
});

test('a heavier weight makes a turn count less', () => {
  expect(takeTurn(new Map(), 'a', 4, new Set(['a'])).get('a')).toBe(0.25);
});

/** A world of clients whose requests arrive at will, an engine with one place, and no clock but the number of turns. */
function simulate(arrivals: readonly { readonly client: string; readonly after: number }[]) {
  const waiting: (Waiting & { readonly id: number; readonly since: number })[] = [];
  const served: { readonly client: string; readonly id: number; readonly waited: number }[] = [];
  const coming = arrivals.map((arrival, id) => ({ ...arrival, id })).sort((a, b) => a.after - b.after || a.id - b.id);
  let turns: ReadonlyMap<string, number> = new Map();
  for (let time = 0; served.length < arrivals.length; time += 1) {
    while (coming[0] && coming[0].after <= time) {
      const { client, id } = coming.shift() as (typeof coming)[number];
      const level = startingLevel(turns, client);
      turns = new Map(turns).set(client, level);
      waiting.push({ client, alone: false, id, since: time });
    }
    const next = pickNext(waiting, turns);
    if (!next) continue;
    waiting.splice(waiting.indexOf(next), 1);
    turns = takeTurn(turns, next.client, 1, new Set([...waiting.map(({ client }) => client), next.client]));
    served.push({ client: next.client, id: next.id, waited: time - next.since });
  }
  return served;
}

const arrivals = fc.array(fc.record({ client: fc.constantFrom('a', 'b', 'c', 'd'), after: fc.nat(30) }), {
  maxLength: 60,
});

test('nobody starves: everything that comes is served, and each client in its own order', () => {
  fc.assert(
    fc.property(arrivals, (list) => {
      const served = simulate(list);
      expect(served).toHaveLength(list.length);
      for (const name of ['a', 'b', 'c', 'd']) {
        const own = served.filter(({ client }) => client === name).map(({ id }) => id);
        const expected = list
          .map(({ client, after }, id) => ({ client, after, id }))
          .filter(({ client }) => client === name)
          .sort((x, y) => x.after - y.after || x.id - y.id)
          .map(({ id }) => id);
        expect(own).toEqual(expected);
      }
    }),
  );
});

test('a client with one request waits for at most one turn of each other client, and the one that runs', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 3 }), fc.nat(20), (many, crowds, after) => {
      const list = Array.from({ length: crowds }, (_, crowd) =>
        Array.from({ length: many }, () => ({ client: `crowd-${crowd}`, after: 0 })),
      ).flat();
      const mine = simulate([...list, { client: 'me', after }]).find(({ client }) => client === 'me');
      expect(mine?.waited).toBeLessThanOrEqual(crowds + 1);
    }),
  );
});
