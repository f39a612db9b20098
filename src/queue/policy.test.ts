import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mayBegin, nextTurn, type Ring, servingOrder, updateRing, type Waiting } from './policy.ts';

const entry = (client: string, cost = 1): Waiting => ({ client, alone: false, cost });
const several = (count: number, client: string, cost = 1) => Array.from({ length: count }, () => entry(client, cost));
const order = (waiting: readonly Waiting[], ring: Ring = []) =>
  servingOrder(ring, waiting)
    .map(({ client }) => client)
    .join('');

describe('nextTurn', () => {
  test('undefined without waiting requests', () => expect(nextTurn([], [])).toBeUndefined());
  test('one client: the oldest request first', () => {
    const [first, second] = [entry('a'), entry('a')];
    expect(nextTurn([], [first, second])?.entry).toBe(first);
  });
  test('clients take turns in order of arrival', () =>
    expect(order(['a', 'a', 'a', 'b', 'c', 'b'].map((client) => entry(client)))).toBe('abcaba'));
  test('a served client moves to the end of the ring', () => {
    const waiting = [entry('a'), entry('a'), entry('b')];
    expect(nextTurn([], waiting)?.ring.map(({ client }) => client)).toEqual(['b', 'a']);
  });
  test('a client without requests leaves the ring, and returns at its end', () => {
    const ring = nextTurn([], [entry('a'), entry('b')])?.ring ?? [];
    expect(updateRing(ring, [entry('b'), entry('c'), entry('a')]).map(({ client }) => client)).toEqual(['b', 'c', 'a']);
  });
});

describe('policy: requests of one client', () => {
  const of = (client: string, part: string, cost = 1): Waiting => ({ client, part, alone: false, cost });
  const parts = (waiting: readonly Waiting[]) => servingOrder([], waiting).map(({ client, part }) => client + part);

  test('policy: a client with a new genkey for each request gets no more turns than one with a single request', () => {
    const many = Array.from({ length: 20 }, (_, index) => of('a', String(index)));
    expect(parts([...many, of('b', '')]).indexOf('b')).toBe(1);
  });
  test('policy: the genkeys of one client take turns in its turns', () =>
    expect(parts([of('a', '1'), of('a', '1'), of('a', '1'), of('b', ''), of('a', '2')])).toEqual([
      'a1',
      'b',
      'a2',
      'a1',
      'a1',
    ]));
  test('policy: small work of one genkey does not use up the turns of the others', () =>
    expect(parts([...Array.from({ length: 5 }, () => of('a', '1', 0.5)), of('a', '2', 0.5)])).toEqual([
      'a1',
      'a1',
      'a2',
      'a1',
      'a1',
      'a1',
    ]));
});

describe('nextTurn: cost', () => {
  test('cheap requests continue in one turn until it is used up', () =>
    expect(order([...several(6, 'a', 0.25), ...several(2, 'b')])).toBe('aaaabaab'));
  test('an expensive request is paid by skipped turns', () =>
    expect(order([...several(2, 'a', 3), ...several(5, 'b')])).toBe('abbbabb'));
  test('no turn is skipped without other clients', () =>
    expect(order([...several(2, 'a', 3), entry('b')])).toBe('aba'));
});

describe('mayBegin', () => {
  test.each([
    ['a shared one into an idle engine', false, [], true],
    ['a shared one beside one other', false, [false], true],
    ['a shared one when all places are taken', false, [false, false], false],
    ['a shared one beside a lone one', false, [true], false],
    ['a lone one into an idle engine', true, [], true],
    ['a lone one beside a shared one', true, [false], false],
  ])('%s', (_, alone, running, expected) => {
    const others = running.map((one) => ({ alone: one }));
    expect(mayBegin({ alone }, others, 2)).toBe(expected);
  });
});

interface Arrival extends Waiting {
  readonly at: number;
  readonly seconds: number;
}

/** What happened to one request, on the simulated clock. */
interface Served extends Arrival {
  readonly id: number;
  readonly begunAt: number;
  /** Clients in the ring when it arrived. */
  readonly seatedBefore: readonly string[];
}

/** A world of clients whose requests arrive at will, and an engine that works on its own clock of whole seconds. */
function simulate(arrivals: readonly Arrival[], capacity: number) {
  const waiting: (Served & { seatedBefore: readonly string[] })[] = [];
  const served: Served[] = [];
  const idleBeside: Waiting[] = [];
  const coming = arrivals.map((arrival, id) => ({ ...arrival, id })).toSorted((a, b) => a.at - b.at || a.id - b.id);
  let running: { readonly alone: boolean; readonly until: number }[] = [];
  let ring: Ring = [];
  for (let now = 0; served.length < arrivals.length; now += 1) {
    running = running.filter(({ until }) => until > now);
    for (;;) {
      const turn = nextTurn(ring, waiting);
      if (turn && mayBegin(turn.entry, running, capacity)) {
        waiting.splice(waiting.indexOf(turn.entry), 1);
        running.push({ alone: turn.entry.alone, until: now + turn.entry.seconds });
        ring = turn.ring;
        served.push({ ...turn.entry, begunAt: now });
      } else if (coming[0] && coming[0].at <= now) {
        const next = coming.shift() as (typeof coming)[number];
        const seatedBefore = ring.map(({ client }) => client);
        waiting.push({ ...next, begunAt: -1, seatedBefore });
        ring = updateRing(ring, waiting);
      } else break;
    }
    const first = nextTurn(ring, waiting)?.entry;
    if (first && running.length < capacity && !running.some(({ alone }) => alone)) idleBeside.push(first);
  }
  return { served, idleBeside };
}

const clients = ['a', 'b', 'c', 'd'];
const arrival = fc.record({
  client: fc.constantFrom(...clients),
  at: fc.nat(60),
  seconds: fc.integer({ min: 1, max: 9 }),
  alone: fc.boolean(),
  cost: fc.constantFrom(0.25, 1, 3),
});
const arrivals = fc.array(arrival, { maxLength: 60 });
const capacity = fc.integer({ min: 1, max: 4 });

test('policy: no starvation: every request is served, and each client in its order', () => {
  fc.assert(
    fc.property(arrivals, capacity, (list, places) => {
      const { served } = simulate(list, places);
      expect(served).toHaveLength(list.length);
      for (const name of clients) {
        const own = served.filter(({ client }) => client === name);
        expect(own).toEqual(own.toSorted((x, y) => x.at - y.at || x.id - y.id));
      }
    }),
  );
});

test('policy: no place stays free while a request waits, unless the next one must run alone', () => {
  fc.assert(
    fc.property(arrivals, capacity, (list, places) => {
      expect(simulate(list, places).idleBeside.filter(({ alone }) => !alone)).toEqual([]);
    }),
  );
});

test('policy: an exclusive request waits for at most one turn of each client that came before it', () => {
  const crowd = fc.array(
    fc.record({ client: fc.constantFrom(...clients), at: fc.nat(40), seconds: fc.integer({ min: 1, max: 9 }) }),
    { maxLength: 60 },
  );
  // New clients arrive all the time: the case in which counting turns alone would cause starvation.
  const strangers = Array.from({ length: 40 }, (_, at) => ({ client: `stranger ${at}`, at, seconds: 2 }));
  fc.assert(
    fc.property(crowd, fc.nat(40), (others, at) => {
      const list = [...others, ...strangers, { client: 'me', at, seconds: 1 }];
      const { served } = simulate(
        list.map((one) => ({ ...one, alone: false, cost: 1 })),
        1,
      );
      const mine = served.find(({ client }) => client === 'me') as Served;
      const between = served.slice(0, served.indexOf(mine)).filter(({ begunAt }) => begunAt > mine.at);
      const names = between.map(({ client }) => client);
      expect(new Set(names).size).toBe(names.length);
      expect(mine.seatedBefore).toEqual(expect.arrayContaining(names));
      // The running request, then one turn of each client, at most as long as the longest.
      expect(mine.begunAt - mine.at).toBeLessThanOrEqual(9 * (mine.seatedBefore.length + 1));
    }),
    { numRuns: 40 },
  );
});

test('policy: clients that always wait get equal shares of the turns', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([0.25, 0.5, 1, 2, 4], { minLength: 2, maxLength: 2 }), (costs) => {
      const names = costs.map((_, index) => `client ${index}`);
      const waiting = costs.flatMap((cost, index) => several(60, names[index] as string, cost));
      const first = servingOrder([], waiting).slice(0, 60);
      const [one, other] = names.map((name) =>
        first.filter(({ client }) => client === name).reduce((sum, { cost }) => sum + cost, 0),
      ) as [number, number];
      expect(Math.abs(one - other)).toBeLessThanOrEqual(Math.max(...costs) + 2);
    }),
    { numRuns: 20 },
  );
});
