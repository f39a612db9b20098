import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { type Place, Queue } from './queue.ts';
import { stateWork } from './work.ts';

async function begun(place: Place): Promise<boolean> {
  return Promise.race([place.turn.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

test('one works, the others wait and begin in the order in which they came', async () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
  const [first, second, third] = [queue.enter(), queue.enter(), queue.enter()];
  expect([await begun(first), await begun(second), await begun(third)]).toEqual([true, false, false]);
  expect([queue.running, queue.waiting]).toEqual([1, 2]);
  first.leave();
  expect([await begun(second), await begun(third)]).toEqual([true, false]);
  second.leave();
  expect(await begun(third)).toBe(true);
});

test.each([
  [10, 4],
  [2, 2],
  [1, 1],
])('with %i places in all, %i of four requests are taken in', (places, expected) => {
  const queue = new Queue({ capacity: 1, maxRequests: () => places });
  const taken = [1, 2, 3, 4].filter(() => {
    try {
      queue.enter();
      return true;
    } catch (error) {
      expect(error).toBeInstanceOf(AppError);
      expect((error as AppError).status).toBe(503);
      return false;
    }
  });
  expect(taken.length).toBe(expected);
});

test('a waiting request that leaves frees its place and is passed over', async () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 3 });
  const [first, second, third] = [queue.enter(), queue.enter(), queue.enter()];
  second.leave();
  const fourth = queue.enter();
  first.leave();
  expect([await begun(second), await begun(third), await begun(fourth)]).toEqual([false, true, false]);
});

test('a client with many requests does not keep out one with a single request', async () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
  const crowd = [1, 2, 3].map(() => queue.enter({ client: 'crowd' }));
  const single = queue.enter({ client: 'single' });
  expect(single.position()?.position).toBe(2);
  crowd[0]?.leave();
  expect([await begun(crowd[1] as Place), await begun(single)]).toEqual([true, false]);
  crowd[1]?.leave();
  expect([await begun(crowd[2] as Place), await begun(single)]).toEqual([false, true]);
});

test('what must be alone waits until nobody works, and nobody begins beside it', async () => {
  const queue = new Queue({ capacity: 2, maxRequests: () => 10 });
  const [first, second] = [queue.enter(), queue.enter()];
  const lone = queue.enter({ alone: true });
  const last = queue.enter();
  first.leave();
  expect([await begun(lone), await begun(last)]).toEqual([false, false]);
  second.leave();
  expect([await begun(lone), await begun(last)]).toEqual([true, false]);
  lone.leave();
  expect(await begun(last)).toBe(true);
});

test('whoever is refused is told how long the work takes', () => {
  let now = 0;
  const queue = new Queue({ capacity: 1, maxRequests: () => 1, now: () => now });
  for (let round = 0; round < 20; round += 1) {
    const place = queue.enter();
    now += 8000;
    place.leave();
  }
  queue.enter();
  expect(queue.estimateSeconds()).toBe(8);
});

test('each place tells where it stands and how long that will last, as long as it waits', () => {
  let now = 0;
  const queue = new Queue({ capacity: 1, maxRequests: () => 10, now: () => now });
  const [first, second, third] = [queue.enter(), queue.enter(), queue.enter()] as const;
  expect([first, second, third].map((place) => place.position())).toEqual([
    undefined,
    { position: 1, estimateSeconds: 5 },
    { position: 2, estimateSeconds: 10 },
  ]);
  now = 2000;
  expect(second.position()).toEqual({ position: 1, estimateSeconds: 3 });
  second.leave();
  expect([second.position(), third.position()?.position]).toEqual([undefined, 1]);
  first.leave();
  expect(third.position()).toBeUndefined();
});

test('one that a newcomer of another client does not overtake keeps its position', () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
  const [, second, third] = [1, 2, 3].map(() => queue.enter({ client: 'crowd' }));
  const standings = () => [second, third].map((place) => place?.position()?.position);
  expect(standings()).toEqual([1, 2]);
  const single = queue.enter({ client: 'single' });
  expect([...standings(), single.position()?.position]).toEqual([1, 3, 2]);
});

test('a newcomer is told its own wait: a client with nothing in the queue would not go last', () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 4 });
  for (const _ of [1, 2, 3, 4]) queue.enter({ client: 'crowd' });
  const wait = (client: string) => queue.estimateSeconds({ client });
  expect([wait('crowd'), wait('single')]).toEqual([20, 10]);
});

test('somebody who was refused has no seat, and comes after those who came meanwhile', () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 3 });
  const several = ['a', 'b', 'c'].map((client) => queue.enter({ client }));
  expect(() => queue.enter({ client: 'refused' })).toThrow();
  several[0]?.leave();
  const other = queue.enter({ client: 'other' });
  several[1]?.leave();
  const again = queue.enter({ client: 'refused' });
  expect([other.position()?.position, again.position()?.position]).toEqual([1, 2]);
});

test('each kind of work has a time of its own', () => {
  let now = 0;
  const queue = new Queue({ capacity: 1, maxRequests: () => 10, now: () => now });
  for (let round = 0; round < 20; round += 1) {
    const place = queue.enter({ kind: stateWork, alone: true });
    now += 2000;
    place.leave();
  }
  queue.enter({ kind: stateWork, alone: true });
  expect(queue.estimateSeconds()).toBe(2);
  queue.enter();
  expect(queue.estimateSeconds()).toBe(7);
});

test('nobody waits for a place that is free, but what must be alone waits for all', () => {
  const queue = new Queue({ capacity: 2, maxRequests: () => 10 });
  expect(queue.estimateSeconds()).toBe(0);
  queue.enter();
  expect([queue.estimateSeconds(), queue.estimateSeconds({ alone: true })]).toEqual([0, 5]);
  queue.enter();
  expect(queue.estimateSeconds()).toBe(5);
  queue.enter();
  queue.enter();
  expect(queue.estimateSeconds()).toBe(10);
});

test('whoever must be alone and is refused is never told to come back at once', () => {
  const queue = new Queue({ capacity: 2, maxRequests: () => 1 });
  queue.enter();
  expect(() => queue.enter({ alone: true })).toThrow(new AppError('busy', { retryAfterSeconds: 5 }));
});

test('leaving twice is leaving once', async () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
  const first = queue.enter();
  queue.enter();
  const third = queue.enter();
  first.leave();
  first.leave();
  expect(await begun(third)).toBe(false);
  expect(queue.running).toBe(1);
});

test('whatever comes and goes, never more work than the capacity allows, and nobody waits beside a free place', () => {
  const steps = fc.array(fc.oneof(fc.constant('enter'), fc.nat(20)), { maxLength: 80 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), steps, (capacity, actions) => {
      const queue = new Queue({ capacity: capacity, maxRequests: () => 6 });
      const places: Place[] = [];
      for (const action of actions) {
        try {
          if (action === 'enter') places.push(queue.enter());
          else places[Number(action) % Math.max(1, places.length)]?.leave();
        } catch {
          expect(queue.running + queue.waiting).toBe(6);
        }
        expect(queue.running).toBeLessThanOrEqual(capacity);
        if (queue.waiting > 0) expect(queue.running).toBe(capacity);
      }
      for (const place of places) place.leave();
      expect([queue.running, queue.waiting]).toEqual([0, 0]);
    }),
  );
});

test('a client that has been served before is not kept out by strangers who keep coming', async () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
  const regular = [1, 2, 3].map(() => queue.enter({ client: 'regular' }));
  const mine = regular[2] as Place;
  const strangers = [1, 2].map((name) => queue.enter({ client: `stranger ${name}` }));
  regular[0]?.leave();
  regular[1]?.leave();
  for (let turn = 3; turn < 20 && !(await begun(mine)); turn += 1) {
    strangers.push(queue.enter({ client: `stranger ${turn}` }));
    if (await begun(strangers[0] as Place)) strangers.shift()?.leave();
  }
  expect(await begun(mine)).toBe(true);
});

describe('whoever has several things to do', () => {
  test('goes on at once where nobody waits', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 9 });
    const many = queue.enter({ client: 'many' });
    void many.again();
    expect([await begun(many), queue.running, queue.waiting]).toEqual([true, 1, 0]);
  });

  test('lets others have their turns in between', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 9 });
    const many = queue.enter({ client: 'many' });
    const one = queue.enter({ client: 'one' });
    void many.again();
    expect([await begun(one), await begun(many)]).toEqual([true, false]);
    expect(many.position()).toMatchObject({ position: 1 });
    one.leave();
    expect(await begun(many)).toBe(true);
    expect(many.position()).toBeUndefined();
  });

  test('takes turns with another request of the same client', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 9 });
    const many = queue.enter({ client: 'same' });
    const other = queue.enter({ client: 'same' });
    void many.again();
    expect([await begun(other), await begun(many)]).toEqual([true, false]);
  });

  test('is never refused its next turn, and takes no place from anybody', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 3 });
    const many = queue.enter({ client: 'many' });
    const one = queue.enter({ client: 'one' });
    void many.again();
    const two = queue.enter({ client: 'two' });
    expect(() => queue.enter({ client: 'three' })).toThrow(AppError);
    expect([await begun(one), await begun(many)]).toEqual([true, false]);
    one.leave();
    expect([await begun(many), await begun(two)]).toEqual([true, false]);
    many.leave();
    expect(await begun(two)).toBe(true);
  });

  test('may leave while it waits for its next turn', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 9 });
    const many = queue.enter({ client: 'many' });
    const one = queue.enter({ client: 'one' });
    void many.again();
    many.leave();
    one.leave();
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
  });

  test('still waits for its first turn when it passes on what it never had', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 9 });
    queue.enter({ client: 'one' });
    const many = queue.enter({ client: 'many' });
    void many.again();
    expect(await begun(many)).toBe(false);
  });
});

describe('the room for more', () => {
  test.each([
    [0, 3, 1],
    [1, 2, 0],
    [3, 0, 0],
  ])('with %i at work is %i for those who share, and %i for one alone', (working, shared, alone) => {
    const queue = new Queue({ capacity: 3, maxRequests: () => 9 });
    for (let count = 0; count < working; count += 1) queue.enter();
    expect([queue.room(), queue.room({ alone: true })]).toEqual([shared, alone]);
  });

  test('is none beside one who works alone, or while somebody waits', () => {
    const queue = new Queue({ capacity: 3, maxRequests: () => 9 });
    queue.enter({ alone: true });
    expect(queue.room()).toBe(0);
    const waiting = new Queue({ capacity: 3, maxRequests: () => 9 });
    waiting.enter();
    waiting.enter({ alone: true });
    expect(waiting.room()).toBe(0);
  });
});

describe('lanes', () => {
  const lanes = (capacity: number | ((lane: string) => number) = 1, places = 10) =>
    new Queue({ capacity, maxRequests: () => places });

  test('do not wait for each other', async () => {
    const queue = lanes();
    const [a, a2, b, b2] = ['a', 'a', 'b', 'b'].map((lane) => queue.enter({ lane })) as [Place, Place, Place, Place];
    expect([await begun(a), await begun(a2), await begun(b), await begun(b2)]).toEqual([true, false, true, false]);
    b.leave();
    expect([await begun(a2), await begun(b2)]).toEqual([false, true]);
  });

  test('have each a capacity of their own', async () => {
    const queue = lanes((lane) => (lane === 'wide' ? 2 : 1));
    const places = ['wide', 'wide', 'wide', 'narrow', 'narrow'].map((lane) => queue.enter({ lane }));
    expect(await Promise.all(places.map(begun))).toEqual([true, true, false, true, false]);
    expect([queue.room({ lane: 'wide' }), queue.room({ lane: 'narrow' }), queue.room({ lane: 'new' })]).toEqual([
      0, 0, 1,
    ]);
  });

  test('share the places', () => {
    const queue = lanes(1, 3);
    for (const lane of ['a', 'b', 'c']) queue.enter({ lane });
    expect(() => queue.enter({ lane: 'd' })).toThrow(AppError);
    expect([queue.running, queue.waiting]).toEqual([3, 0]);
  });

  test('what must be alone is alone in its lane, beside others', async () => {
    const queue = lanes(2);
    const [a, lone, b] = [
      queue.enter({ lane: 'a' }),
      queue.enter({ lane: 'a', alone: true }),
      queue.enter({ lane: 'b' }),
    ];
    expect([await begun(lone), await begun(b)]).toEqual([false, true]);
    a.leave();
    expect(await begun(lone)).toBe(true);
    expect([queue.room({ lane: 'a' }), queue.room({ lane: 'b' })]).toEqual([0, 1]);
  });

  test('have each their own order and their own wait', () => {
    const queue = lanes();
    const places = ['a', 'a', 'a', 'b', 'b'].map((lane) => queue.enter({ lane }));
    expect(places.map((place) => place.position()?.position)).toEqual([undefined, 1, 2, undefined, 1]);
    expect(['a', 'b', 'c'].map((lane) => queue.estimateSeconds({ lane }))).toEqual([15, 10, 0]);
  });

  test('let a client take its turn in each of them', async () => {
    const queue = lanes();
    const first = queue.enter({ client: 'x', lane: 'a' });
    const crowd = [1, 2].map(() => queue.enter({ client: 'crowd', lane: 'a' }));
    const other = queue.enter({ client: 'x', lane: 'b' });
    const again = queue.enter({ client: 'x', lane: 'a' });
    expect(await begun(other)).toBe(true);
    first.leave();
    expect(await begun(crowd[0] as Place)).toBe(true);
    crowd[0]?.leave();
    expect([await begun(again), await begun(crowd[1] as Place)]).toEqual([true, false]);
  });

  test('who has several things to do goes on at once where only other lanes wait', async () => {
    const queue = lanes();
    const many = queue.enter({ lane: 'a' });
    queue.enter({ lane: 'b' });
    queue.enter({ lane: 'b' });
    void many.again();
    expect([await begun(many), queue.running, queue.waiting]).toEqual([true, 2, 1]);
  });

  test('whatever comes and goes, each lane is as busy as it would be alone', () => {
    const lane = fc.constantFrom('a', 'b', 'c');
    const steps = fc.array(fc.oneof(lane, fc.nat(30)), { maxLength: 80 });
    const capacities: Record<string, number> = { a: 1, b: 2, c: 3 };
    fc.assert(
      fc.property(steps, (actions) => {
        const queue = new Queue({ capacity: (name) => capacities[name] ?? 1, maxRequests: () => 1000 });
        const present: { readonly lane: string; readonly place: Place }[] = [];
        for (const action of actions) {
          if (typeof action === 'string') present.push({ lane: action, place: queue.enter({ lane: action }) });
          else present.splice(action % Math.max(1, present.length), 1)[0]?.place.leave();
          for (const name of ['a', 'b', 'c']) {
            const all = present.filter((one) => one.lane === name);
            const waiting = all.filter(({ place }) => place.position() !== undefined).length;
            expect(waiting).toBe(Math.max(0, all.length - (capacities[name] ?? 1)));
          }
        }
        for (const { place } of present) place.leave();
        expect([queue.running, queue.waiting]).toEqual([0, 0]);
      }),
    );
  });
});

describe('rank', () => {
  test('Queue: of one client, entries with a lower rank begin first, and no other client is passed over', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 9 });
    const first = queue.enter({ client: 'a' });
    const [second, third, front] = [2, 3, -4].map((rank) => queue.enter({ client: 'a', rank }));
    const other = queue.enter({ client: 'b' });
    const positions = () => [second, third, front, other].map((place) => place?.position()?.position);
    expect(positions()).toEqual([3, 4, 1, 2]);
    first.leave();
    expect(positions()).toEqual([2, 3, undefined, 1]);
  });
});
