import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { type Admission, Queue } from './queue.ts';

function world(places: number, capacity = 1) {
  const time = { now: 0 };
  const queue = new Queue({ capacity, maxRequests: () => places, now: () => time.now });
  const enter = (client: string): Admission => queue.enter({ client });
  /** Retry time in seconds of a rejected request; undefined if it is admitted. */
  const retryAfter = (client: string): number | undefined => {
    try {
      enter(client);
      return undefined;
    } catch (error) {
      expect(error).toBeInstanceOf(AppError);
      return (error as AppError<'busy'>).details.retryAfterSeconds;
    }
  };
  const pass = (seconds: number) => {
    time.now += seconds * 1000;
  };
  return { queue, enter, retryAfter, pass };
}

describe('Queue.enter: client without requests', () => {
  test.each([1, 2, 3, 10])('alone gets all of %i places, and no more', (places) => {
    const { enter, retryAfter, queue } = world(places);
    for (let count = 0; count < places; count += 1) enter('crowd');
    expect(retryAfter('crowd')).toBe(5);
    expect(queue.running + queue.waiting).toBe(places);
  });

  test('gets a place that became free since its rejection, however often other clients have tried', () => {
    const { enter, retryAfter, queue } = world(3);
    const crowd = [enter('crowd'), enter('crowd'), enter('crowd')];
    expect(retryAfter('single')).toBe(5);
    crowd[0]?.leave();
    expect(retryAfter('crowd')).toBeDefined();
    expect(retryAfter('crowd')).toBeDefined();
    const single = enter('single');
    expect([single.position()?.position, queue.running + queue.waiting]).toEqual([2, 3]);
    crowd[1]?.leave();
    expect(retryAfter('crowd')).toBeUndefined();
  });

  test('is admitted although another client always fills both places', () => {
    const { enter, retryAfter } = world(2);
    const crowd = [enter('crowd'), enter('crowd')];
    expect(retryAfter('single')).toBeDefined();
    crowd[0]?.leave();
    expect(retryAfter('crowd')).toBeDefined();
    expect(retryAfter('single')).toBeUndefined();
  });

  test('with a single place is admitted if it comes first: an idle server rejects no request', () => {
    const { enter, retryAfter } = world(1);
    const running = enter('crowd');
    expect(retryAfter('single')).toBe(5);
    running.leave();
    expect(retryAfter('crowd')).toBeUndefined();
  });

  test('has a place reserved for its wait and half a minute more', () => {
    const { enter, retryAfter, pass } = world(2);
    const [first] = [enter('crowd'), enter('crowd')];
    expect(retryAfter('single')).toBe(5);
    first.leave();
    pass(34);
    expect(retryAfter('crowd')).toBeDefined();
    pass(1);
    expect(retryAfter('crowd')).toBeUndefined();
  });

  test('several rejected clients get a place each', () => {
    const { enter, retryAfter } = world(4);
    const crowd = ['crowd', 'crowd', 'crowd', 'crowd'].map(enter);
    for (const client of ['a', 'b']) expect(retryAfter(client)).toBeDefined();
    crowd[0]?.leave();
    crowd[1]?.leave();
    expect(retryAfter('crowd')).toBeDefined();
    for (const client of ['a', 'b']) expect(retryAfter(client)).toBeUndefined();
  });

  test('takes a place reserved for another one: first come, first served among clients without requests', () => {
    const { enter, retryAfter } = world(2);
    const [first] = [enter('crowd'), enter('crowd')];
    expect(retryAfter('a')).toBeDefined();
    first.leave();
    expect(retryAfter('b')).toBeUndefined();
    expect(retryAfter('a')).toBeDefined();
  });

  test('a client with requests gets no reservation when it is rejected', () => {
    const { enter, retryAfter } = world(3);
    enter('other');
    const crowd = [enter('crowd'), enter('crowd')];
    expect(retryAfter('crowd')).toBeDefined();
    crowd[0]?.leave();
    expect(retryAfter('other')).toBeUndefined();
  });

  test('the number of remembered clients is limited', () => {
    const { enter, retryAfter } = world(1);
    enter('crowd');
    for (let stranger = 0; stranger < 1000; stranger += 1) expect(retryAfter(`stranger ${stranger}`)).toBe(5);
  });
});

describe('Queue.enter: retry time', () => {
  test('is that of the next free place, not of the whole queue', () => {
    const { enter, retryAfter, pass } = world(10);
    for (let count = 0; count < 10; count += 1) enter('crowd');
    expect(retryAfter('crowd')).toBe(5);
    pass(2);
    expect(retryAfter('crowd')).toBe(3);
  });

  test('is that of the request that finishes first', () => {
    const { enter, retryAfter, pass } = world(2, 2);
    enter('a');
    pass(2);
    enter('b');
    expect(retryAfter('c')).toBe(3);
  });

  test('follows the duration of finished requests', () => {
    const { enter, retryAfter, pass } = world(1);
    for (let round = 0; round < 30; round += 1) {
      const place = enter('a');
      pass(40);
      place.leave();
    }
    enter('a');
    expect(retryAfter('b')).toBe(40);
    pass(30);
    // Near the mean the estimate is half of it.
    expect(retryAfter('b')).toBe(20);
  });

  test('grows with the running time of the first request', () => {
    const { enter, retryAfter, pass } = world(1);
    enter('a');
    expect(retryAfter('b')).toBe(5);
    pass(60);
    expect(retryAfter('b')).toBe(30);
    pass(540);
    expect(retryAfter('b')).toBe(300);
  });

  test('is at least one second', () => {
    const { enter, retryAfter, pass } = world(1);
    for (let round = 0; round < 40; round += 1) {
      const place = enter('a');
      pass(0.01);
      place.leave();
    }
    enter('a');
    expect(retryAfter('b')).toBe(1);
  });
});

type Step = { readonly enter: string } | { readonly leave: number } | { readonly pass: number };

const steps = fc.array(
  fc.oneof<fc.Arbitrary<Step>[]>(
    fc.record({ enter: fc.constantFrom('a', 'a', 'a', 'b', 'c', 'd') }),
    fc.record({ leave: fc.nat(30) }),
    fc.record({ pass: fc.nat(40) }),
  ),
  { maxLength: 120 },
);

/** Plays the steps and looks at everything after each of them. */
function play(
  { places, capacity, list }: { readonly places: number; readonly capacity: number; readonly list: readonly Step[] },
  look: (state: {
    readonly queue: Queue;
    readonly inside: ReadonlyMap<Admission, string>;
    readonly refused?: string;
  }) => void,
): void {
  const { queue, enter, pass } = world(places, capacity);
  const inside = new Map<Admission, string>();
  for (const step of list) {
    let refused: string | undefined;
    if ('pass' in step) pass(step.pass);
    else if ('leave' in step) {
      const place = [...inside.keys()][step.leave % Math.max(1, inside.size)];
      place?.leave();
      if (place) inside.delete(place);
    } else {
      try {
        inside.set(enter(step.enter), step.enter);
      } catch {
        refused = step.enter;
      }
    }
    look({ queue, inside, ...(refused !== undefined && { refused }) });
  }
}

const shape = { places: fc.integer({ min: 1, max: 8 }), capacity: fc.integer({ min: 1, max: 4 }), list: steps };

test('Queue.enter: an admitted request stays until it leaves, and never more than all places are used, in any order', () => {
  fc.assert(
    fc.property(fc.record(shape), (course) => {
      play(course, ({ queue, inside }) => {
        expect(queue.running + queue.waiting).toBe(inside.size);
        expect(inside.size).toBeLessThanOrEqual(course.places);
      });
    }),
  );
});

test('Queue.enter: a client without requests is rejected only if every place is taken, in any order', () => {
  fc.assert(
    fc.property(fc.record(shape), (course) => {
      play(course, ({ inside, refused }) => {
        if (refused === undefined || [...inside.values()].includes(refused)) return;
        expect(inside.size).toBe(course.places);
      });
    }),
  );
});

test('Queue.enter: every admitted request gets its turn, in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.record(shape), async (course) => {
      let left: Admission[] = [];
      play(course, ({ inside }) => {
        left = [...inside.keys()];
      });
      while (left.length > 0) {
        const next = await Promise.race(left.map((place) => place.turn.then(() => place)));
        next.leave();
        left = left.filter((place) => place !== next);
      }
    }),
    { numRuns: 40 },
  );
});

test('Queue.enter: after a rejection the next place goes to a client without requests while the rejected one is expected', () => {
  const crowd = fc.array(fc.constantFrom('enter', 'leave'), { maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 8 }), crowd, (places, list) => {
      const { enter, retryAfter } = world(places);
      const inside = Array.from({ length: places }, () => enter('crowd'));
      expect(retryAfter('single')).toBeDefined();
      for (const action of list) {
        if (action === 'leave' && inside.length > 1) inside.shift()?.leave();
        if (action === 'enter') {
          try {
            inside.push(enter('crowd'));
          } catch {
            // Refused, as it should be where the last place is kept.
          }
        }
      }
      if (inside.length < places) expect(retryAfter('single')).toBeUndefined();
      else expect(list.includes('leave')).toBe(false);
    }),
  );
});
