import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { StartTimer } from '../core/timers.ts';
import { share } from './background-share.ts';
import { type Admission, Queue, stateWork } from './queue.ts';

async function begun(place: Admission): Promise<boolean> {
  return Promise.race([place.turn.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

test('Queue: one request runs, the others start in order of arrival', async () => {
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
])('Queue: with %i places, %i of four requests are admitted', (places, expected) => {
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

test('Queue: a waiting request that leaves frees its place', async () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 3 });
  const [first, second, third] = [queue.enter(), queue.enter(), queue.enter()];
  second.leave();
  const fourth = queue.enter();
  first.leave();
  expect([await begun(second), await begun(third), await begun(fourth)]).toEqual([false, true, false]);
});

test('Queue: a client with many requests does not block one with a single request', async () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
  const crowd = [1, 2, 3].map(() => queue.enter({ client: 'crowd' }));
  const single = queue.enter({ client: 'single' });
  expect(single.position()?.position).toBe(2);
  crowd[0]?.leave();
  expect([await begun(crowd[1] as Admission), await begun(single)]).toEqual([true, false]);
  crowd[1]?.leave();
  expect([await begun(crowd[2] as Admission), await begun(single)]).toEqual([false, true]);
});

test('Queue: an exclusive request waits until none runs, and none starts while it runs', async () => {
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

test('Queue: a rejection has the expected duration', () => {
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

test('Queue: a waiting request has its position and expected wait', () => {
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

test('Queue: a request that no later client overtakes keeps its position', () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
  const [, second, third] = [1, 2, 3].map(() => queue.enter({ client: 'crowd' }));
  const positions = () => [second, third].map((place) => place?.position()?.position);
  expect(positions()).toEqual([1, 2]);
  const single = queue.enter({ client: 'single' });
  expect([...positions(), single.position()?.position]).toEqual([1, 3, 2]);
});

test('Queue: the wait of a new client considers that it does not go last', () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 4 });
  for (const _ of [1, 2, 3, 4]) queue.enter({ client: 'crowd' });
  const wait = (client: string) => queue.estimateSeconds({ client });
  expect([wait('crowd'), wait('single')]).toEqual([20, 10]);
});

test('Queue: a rejected client has no turn reserved, and comes after later arrivals', () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 3 });
  const several = ['a', 'b', 'c'].map((client) => queue.enter({ client }));
  expect(() => queue.enter({ client: 'refused' })).toThrow();
  several[0]?.leave();
  const other = queue.enter({ client: 'other' });
  several[1]?.leave();
  const again = queue.enter({ client: 'refused' });
  expect([other.position()?.position, again.position()?.position]).toEqual([1, 2]);
});

test('Queue: each kind of work has its own mean duration', () => {
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

test('Queue: expected wait is 0 with a free place, but an exclusive request waits for all', () => {
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

test('Queue: a rejected exclusive request never has a retry time of 0', () => {
  const queue = new Queue({ capacity: 2, maxRequests: () => 1 });
  queue.enter();
  expect(() => queue.enter({ alone: true })).toThrow(new AppError('busy', { retryAfterSeconds: 5 }));
});

test('Queue: a second leave has no effect', async () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
  const first = queue.enter();
  queue.enter();
  const third = queue.enter();
  first.leave();
  first.leave();
  expect(await begun(third)).toBe(false);
  expect(queue.running).toBe(1);
});

test('Queue: never exceeds the capacity, and no request waits while a place is free, in any order', () => {
  const steps = fc.array(fc.oneof(fc.constant('enter'), fc.nat(20)), { maxLength: 80 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), steps, (capacity, actions) => {
      const queue = new Queue({ capacity: capacity, maxRequests: () => 6 });
      const places: Admission[] = [];
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

test('Queue: new clients do not block one that was served before', async () => {
  const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
  const regular = [1, 2, 3].map(() => queue.enter({ client: 'regular' }));
  const mine = regular[2] as Admission;
  const strangers = [1, 2].map((name) => queue.enter({ client: `stranger ${name}` }));
  regular[0]?.leave();
  regular[1]?.leave();
  for (let turn = 3; turn < 20 && !(await begun(mine)); turn += 1) {
    strangers.push(queue.enter({ client: `stranger ${turn}` }));
    if (await begun(strangers[0] as Admission)) strangers.shift()?.leave();
  }
  expect(await begun(mine)).toBe(true);
});

describe('Queue: request with several turns', () => {
  test('continues at once without waiting requests', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 9 });
    const many = queue.enter({ client: 'many' });
    void many.again();
    expect([await begun(many), queue.running, queue.waiting]).toEqual([true, 1, 0]);
  });

  test('lets other clients have their turns in between', async () => {
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

  test('alternates with another request of the same client', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 9 });
    const many = queue.enter({ client: 'same' });
    const other = queue.enter({ client: 'same' });
    void many.again();
    expect([await begun(other), await begun(many)]).toEqual([true, false]);
  });

  test('its next turn is never rejected, and uses no further place', async () => {
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

  test('yielding before its first turn has no effect', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 9 });
    queue.enter({ client: 'one' });
    const many = queue.enter({ client: 'many' });
    void many.again();
    expect(await begun(many)).toBe(false);
  });
});

describe('Queue: free capacity', () => {
  test.each([
    [0, 3, 1],
    [1, 2, 0],
    [3, 0, 0],
  ])('with %i running is %i for shared requests, and %i for an exclusive one', (working, shared, alone) => {
    const queue = new Queue({ capacity: 3, maxRequests: () => 9 });
    for (let count = 0; count < working; count += 1) queue.enter();
    expect([queue.room(), queue.room({ alone: true })]).toEqual([shared, alone]);
  });

  test('is 0 while an exclusive request runs or any request waits', () => {
    const queue = new Queue({ capacity: 3, maxRequests: () => 9 });
    queue.enter({ alone: true });
    expect(queue.room()).toBe(0);
    const waiting = new Queue({ capacity: 3, maxRequests: () => 9 });
    waiting.enter();
    waiting.enter({ alone: true });
    expect(waiting.room()).toBe(0);
  });
});

describe('Queue: lanes', () => {
  const lanes = (capacity: number | ((lane: string) => number) = 1, places = 10) =>
    new Queue({ capacity, maxRequests: () => places });

  test('do not wait for each other', async () => {
    const queue = lanes();
    const [a, a2, b, b2] = ['a', 'a', 'b', 'b'].map((lane) => queue.enter({ lane })) as [
      Admission,
      Admission,
      Admission,
      Admission,
    ];
    expect([await begun(a), await begun(a2), await begun(b), await begun(b2)]).toEqual([true, false, true, false]);
    b.leave();
    expect([await begun(a2), await begun(b2)]).toEqual([false, true]);
  });

  test('have separate capacities', async () => {
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

  test('an exclusive request is alone in its lane only', async () => {
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

  test('have separate orders and waits', () => {
    const queue = lanes();
    const places = ['a', 'a', 'a', 'b', 'b'].map((lane) => queue.enter({ lane }));
    expect(places.map((place) => place.position()?.position)).toEqual([undefined, 1, 2, undefined, 1]);
    expect(['a', 'b', 'c'].map((lane) => queue.estimateSeconds({ lane }))).toEqual([15, 10, 0]);
  });

  test('a client has turns in each lane', async () => {
    const queue = lanes();
    const first = queue.enter({ client: 'x', lane: 'a' });
    const crowd = [1, 2].map(() => queue.enter({ client: 'crowd', lane: 'a' }));
    const other = queue.enter({ client: 'x', lane: 'b' });
    const again = queue.enter({ client: 'x', lane: 'a' });
    expect(await begun(other)).toBe(true);
    first.leave();
    expect(await begun(crowd[0] as Admission)).toBe(true);
    crowd[0]?.leave();
    expect([await begun(again), await begun(crowd[1] as Admission)]).toEqual([true, false]);
  });

  test('a request with several turns continues at once if only other lanes wait', async () => {
    const queue = lanes();
    const many = queue.enter({ lane: 'a' });
    queue.enter({ lane: 'b' });
    queue.enter({ lane: 'b' });
    void many.again();
    expect([await begun(many), queue.running, queue.waiting]).toEqual([true, 2, 1]);
  });

  test('each lane is as busy as it would be alone, in any order', () => {
    const lane = fc.constantFrom('a', 'b', 'c');
    const steps = fc.array(fc.oneof(lane, fc.nat(30)), { maxLength: 80 });
    const capacities: Record<string, number> = { a: 1, b: 2, c: 3 };
    fc.assert(
      fc.property(steps, (actions) => {
        const queue = new Queue({ capacity: (name) => capacities[name] ?? 1, maxRequests: () => 1000 });
        const present: { readonly lane: string; readonly place: Admission }[] = [];
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

describe('Queue: rank', () => {
  test('of one client, requests with a lower rank start first, and other clients are not passed over', async () => {
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

describe('Queue: close', () => {
  const codeOf = (place: Admission) =>
    place.turn.then(
      () => 'begun',
      (error: AppError) => error.code,
    );

  test('refuses waiting requests and new ones, and none of them begins', async () => {
    const queue = new Queue({ capacity: 2, maxRequests: () => 10 });
    const running = queue.enter();
    // The exclusive request holds up the shared one behind it.
    const waiting = [queue.enter({ alone: true }), queue.enter()];
    queue.close();
    expect(await Promise.all([running, ...waiting].map(codeOf))).toEqual(['begun', 'stopping', 'stopping']);
    expect(() => queue.enter()).toThrow(new AppError('stopping', {}));
    for (const place of waiting) place.leave();
    expect([queue.running, queue.waiting]).toEqual([1, 0]);
  });

  test('a part of an admitted request is not refused if the queue is full', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 1 });
    queue.enter({ client: 'a' });
    expect(() => queue.enter({ client: 'a' })).toThrow(AppError);
    expect(await begun(queue.enter({ client: 'a', lane: 'other', admitted: true }))).toBe(true);
  });

  test('a request that has begun gets its further turns', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
    const [first, second] = [queue.enter({ client: 'a' }), queue.enter({ client: 'b' })];
    void first.again();
    expect(await begun(second)).toBe(true);
    queue.close();
    second.rest();
    expect(await begun(first)).toBe(true);
    const again = second.again();
    first.leave();
    await again;
  });
});

describe('Queue: background work', () => {
  const background = (giveWay: () => void = () => undefined) => ({ client: 'index', giveWay });

  test('begins only while nothing else runs or waits, in any lane', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
    const chat = queue.enter({ lane: 'text' });
    const batch = queue.enter({ ...background(), lane: 'embedding' });
    const question = queue.enter({ lane: 'embedding' });
    expect([await begun(batch), await begun(question)]).toEqual([false, true]);
    question.leave();
    expect(await begun(batch)).toBe(false);
    chat.leave();
    expect(await begun(batch)).toBe(true);
  });

  test('is asked to give way when other work comes, which then goes first', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 10 });
    const asked: string[] = [];
    const batch = queue.enter(background(() => asked.push('batch')));
    const next = queue.enter(background(() => asked.push('next')));
    expect(asked).toEqual([]);
    const chat = queue.enter();
    expect(asked).toEqual(['batch']);
    expect(await begun(chat)).toBe(false);
    batch.leave();
    expect([await begun(chat), await begun(next)]).toEqual([true, false]);
    chat.leave();
    expect(await begun(next)).toBe(true);
  });

  test('takes no place of requests, and is never refused', async () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 1 });
    const batches = [1, 2, 3].map(() => queue.enter(background()));
    const chat = queue.enter();
    expect(queue.room()).toBe(0);
    batches[0]?.leave();
    expect(await begun(chat)).toBe(true);
    expect(() => queue.enter()).toThrow(AppError);
    expect(() => queue.enter(background())).not.toThrow();
  });

  test('that runs is asked to end when the queue is closed', () => {
    const queue = new Queue({ capacity: 1, maxRequests: () => 1 });
    let asked = 0;
    queue.enter(background(() => asked++));
    queue.close();
    expect(asked).toBe(1);
  });

  /** A queue with a clock of the test. */
  function timed(capacity = 1) {
    const timers = new Set<{ at: number; readonly passed: () => void }>();
    let now = 0;
    const startTimer: StartTimer = (milliseconds, passed) => {
      const timer = { at: now + milliseconds, passed };
      timers.add(timer);
      return { restart: () => undefined, cancel: () => timers.delete(timer) };
    };
    const advance = (milliseconds: number) => {
      now += milliseconds;
      for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.passed();
    };
    return { queue: new Queue({ capacity, maxRequests: () => 10, startTimer, now: () => now }), advance };
  }
  const slow = { name: 'slow', cost: 1, initialEstimateSeconds: 1 };
  const quick = { name: 'quick', cost: 1, initialEstimateSeconds: 1, hasShare: true };

  test('has a share of a server that is never idle, at most so long', async () => {
    const { queue, advance } = timed();
    let asked = 0;
    const chat = queue.enter();
    const batch = queue.enter({ ...background(() => asked++), kind: quick });
    const next = queue.enter();
    advance(share.everyMs);
    // It does not stop what runs.
    expect([await begun(batch), batch.isShare()]).toEqual([false, false]);
    chat.leave();
    expect([await begun(batch), await begun(next), batch.isShare()]).toEqual([true, false, true]);
    const last = queue.enter();
    expect(asked).toBe(0);
    advance(share.forMs);
    expect(asked).toBe(1);
    void batch.resume();
    expect([await begun(next), batch.isShare()]).toEqual([true, false]);
    next.leave();
    expect(await begun(last)).toBe(true);
    const rest = batch.resume();
    // Somebody has waited for it.
    advance(share.everyMs);
    const later = queue.enter();
    last.leave();
    expect([await begun(later), batch.isShare()]).toEqual([true, false]);
    later.leave();
    expect(await Promise.race([rest.then(() => 'goes on'), begun(batch)])).toBe('goes on');
  });

  test('begins its share beside other work where there is room', async () => {
    const { queue, advance } = timed(2);
    queue.enter();
    const batch = queue.enter({ ...background(), kind: quick });
    expect(await begun(batch)).toBe(false);
    advance(share.everyMs);
    expect(await begun(batch)).toBe(true);
  });

  test('has no share if it could do nothing in so short a time, or must run alone beside others', async () => {
    const { queue, advance } = timed(2);
    const chat = queue.enter();
    const image = queue.enter({ ...background(), kind: slow });
    const alone = queue.enter({ ...background(), kind: quick, alone: true });
    advance(share.everyMs);
    expect([await begun(image), await begun(alone)]).toEqual([false, false]);
    // The person behind it does not wait for it.
    expect(await begun(queue.enter())).toBe(true);
    chat.leave();
  });

  test('that had to stop for other work has its next share only after a pause', async () => {
    const { queue, advance } = timed(2);
    const batch = queue.enter({ ...background(), kind: quick });
    expect(await begun(batch)).toBe(true);
    queue.enter();
    const rest = batch.resume();
    let goesOn = false;
    void rest.then(() => {
      goesOn = true;
    });
    advance(share.everyMs - 1);
    await begun(batch);
    expect(goesOn).toBe(false);
    advance(1);
    await begun(batch);
    expect([goesOn, batch.isShare()]).toEqual([true, true]);
  });
});
