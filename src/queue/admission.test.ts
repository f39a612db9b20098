import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { type Place, Queue } from './queue.ts';

function world(places: number, capacity = 1) {
  const time = { now: 0 };
  const queue = new Queue({ capacity, maxRequests: () => places, now: () => time.now });
  const enter = (client: string): Place => queue.enter({ client });
  /** The seconds after which somebody who is refused may come again; nothing where it is taken in. */
  const told = (client: string): number | undefined => {
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
  return { queue, enter, told, pass };
}

describe('a client that hasRequests nothing', () => {
  test.each([1, 2, 3, 10])('one alone may have all of %i places, and no more', (places) => {
    const { enter, told, queue } = world(places);
    for (let count = 0; count < places; count += 1) enter('crowd');
    expect(told('crowd')).toBe(5);
    expect(queue.running + queue.waiting).toBe(places);
  });

  test('finds the place that got free since it was sent away, however often the crowd has asked meanwhile', () => {
    const { enter, told, queue } = world(3);
    const crowd = [enter('crowd'), enter('crowd'), enter('crowd')];
    expect(told('single')).toBe(5);
    crowd[0]?.leave();
    expect(told('crowd')).toBeDefined();
    expect(told('crowd')).toBeDefined();
    const single = enter('single');
    expect([single.position()?.position, queue.running + queue.waiting]).toEqual([2, 3]);
    crowd[1]?.leave();
    expect(told('crowd')).toBeUndefined();
  });

  test('is not kept out by a client that always wants two of two places', () => {
    const { enter, told } = world(2);
    const crowd = [enter('crowd'), enter('crowd')];
    expect(told('single')).toBeDefined();
    crowd[0]?.leave();
    expect(told('crowd')).toBeDefined();
    expect(told('single')).toBeUndefined();
  });

  test('with a single place is served when it comes first: nobody is refused by a server that does nothing', () => {
    const { enter, told } = world(1);
    const running = enter('crowd');
    expect(told('single')).toBe(5);
    running.leave();
    expect(told('crowd')).toBeUndefined();
  });

  test('is expected as long as it was told to wait and half a minute more', () => {
    const { enter, told, pass } = world(2);
    const [first] = [enter('crowd'), enter('crowd')];
    expect(told('single')).toBe(5);
    first.leave();
    pass(34);
    expect(told('crowd')).toBeDefined();
    pass(1);
    expect(told('crowd')).toBeUndefined();
  });

  test('several that were sent away find a place each', () => {
    const { enter, told } = world(4);
    const crowd = ['crowd', 'crowd', 'crowd', 'crowd'].map(enter);
    for (const client of ['a', 'b']) expect(told(client)).toBeDefined();
    crowd[0]?.leave();
    crowd[1]?.leave();
    expect(told('crowd')).toBeDefined();
    for (const client of ['a', 'b']) expect(told(client)).toBeUndefined();
  });

  test('takes the place that another one was to have: who comes first is served first among those who have none', () => {
    const { enter, told } = world(2);
    const [first] = [enter('crowd'), enter('crowd')];
    expect(told('a')).toBeDefined();
    first.leave();
    expect(told('b')).toBeUndefined();
    expect(told('a')).toBeDefined();
  });

  test('one that hasRequests something and is refused is not expected: it has its place', () => {
    const { enter, told } = world(3);
    enter('other');
    const crowd = [enter('crowd'), enter('crowd')];
    expect(told('crowd')).toBeDefined();
    crowd[0]?.leave();
    expect(told('other')).toBeUndefined();
  });

  test('a flood of strangers is not remembered without end', () => {
    const { enter, told } = world(1);
    enter('crowd');
    for (let stranger = 0; stranger < 1000; stranger += 1) expect(told(`stranger ${stranger}`)).toBe(5);
  });
});

describe('the time that a refused one is told', () => {
  test('is that to the next free place, not that to the end of the whole queue', () => {
    const { enter, told, pass } = world(10);
    for (let count = 0; count < 10; count += 1) enter('crowd');
    expect(told('crowd')).toBe(5);
    pass(2);
    expect(told('crowd')).toBe(3);
  });

  test('is that of the one who is done first where several run', () => {
    const { enter, told, pass } = world(2, 2);
    enter('a');
    pass(2);
    enter('b');
    expect(told('c')).toBe(3);
  });

  test('follows how long the work takes', () => {
    const { enter, told, pass } = world(1);
    for (let round = 0; round < 30; round += 1) {
      const place = enter('a');
      pass(40);
      place.leave();
    }
    enter('a');
    expect(told('b')).toBe(40);
    pass(30);
    // Near its mean nobody knows: half of it is neither a promise nor a new beginning.
    expect(told('b')).toBe(20);
  });

  test('before the first has finished grows with how long that one has run', () => {
    const { enter, told, pass } = world(1);
    enter('a');
    expect(told('b')).toBe(5);
    pass(60);
    expect(told('b')).toBe(30);
    pass(540);
    expect(told('b')).toBe(300);
  });

  test('is never less than a second', () => {
    const { enter, told, pass } = world(1);
    for (let round = 0; round < 40; round += 1) {
      const place = enter('a');
      pass(0.01);
      place.leave();
    }
    enter('a');
    expect(told('b')).toBe(1);
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
    readonly inside: ReadonlyMap<Place, string>;
    readonly refused?: string;
  }) => void,
): void {
  const { queue, enter, pass } = world(places, capacity);
  const inside = new Map<Place, string>();
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

test('whatever comes and goes, what was taken in is there until it leaves, and never more than all places', () => {
  fc.assert(
    fc.property(fc.record(shape), (course) => {
      play(course, ({ queue, inside }) => {
        expect(queue.running + queue.waiting).toBe(inside.size);
        expect(inside.size).toBeLessThanOrEqual(course.places);
      });
    }),
  );
});

test('whatever comes and goes, a client that hasRequests nothing is refused only where every place is taken', () => {
  fc.assert(
    fc.property(fc.record(shape), (course) => {
      play(course, ({ inside, refused }) => {
        if (refused === undefined || [...inside.values()].includes(refused)) return;
        expect(inside.size).toBe(course.places);
      });
    }),
  );
});

test('whatever comes and goes, everybody who was taken in gets its turn', async () => {
  await fc.assert(
    fc.asyncProperty(fc.record(shape), async (course) => {
      let left: Place[] = [];
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

test('after a refusal the next place goes to somebody who hasRequests nothing, as long as the refused one is expected', () => {
  const crowd = fc.array(fc.constantFrom('enter', 'leave'), { maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 8 }), crowd, (places, list) => {
      const { enter, told } = world(places);
      const inside = Array.from({ length: places }, () => enter('crowd'));
      expect(told('single')).toBeDefined();
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
      if (inside.length < places) expect(told('single')).toBeUndefined();
      else expect(list.includes('leave')).toBe(false);
    }),
  );
});
