import { describe, expect, test } from 'vitest';
import { ThreadCount, threadLevels, widthClass } from './thread-count.ts';

interface Machine {
  readonly cores: number;
  /** Busy programs at this time. */
  readonly neighbours?: (now: number) => number;
  /** Factor on each step. */
  readonly noise?: () => number;
}

/** Duration of a step: an equal share for each thread, and many missed barriers if there are more threads than free cores. */
function stepMs({ cores, neighbours = () => 0, noise = () => 1 }: Machine, threads: number, now: number, work = 60) {
  const busy = neighbours(now);
  const free = Math.max(1, cores - busy);
  const turns = threads === 1 ? Math.max(1, (1 + busy) / cores) : 1;
  const waits = threads > free ? 1000 : 0;
  return ((work / threads) * turns + waits) * noise();
}

/** Runs steps for a simulated time; returns how many, and how many of them had each number of threads. */
function steps(machine: Machine, count: ThreadCount, { from = 0, seconds = 60, width = 16 } = {}) {
  const used = new Map<number, number>();
  let now = from;
  let done = 0;
  for (; now < from + seconds * 1000; done += 1) {
    const threads = count.next(width, now);
    used.set(threads, (used.get(threads) ?? 0) + 1);
    const elapsed = stepMs(machine, threads, now);
    now += elapsed;
    count.completed(elapsed, now);
  }
  return { done, used, now };
}

const fixed = (machine: Machine, threads: number, seconds = 60) => {
  let [now, done] = [0, 0];
  for (; now < seconds * 1000; done += 1) now += stepMs(machine, threads, now);
  return done;
};

/** A repeatable sequence of numbers from 0 to 1. */
function random(seed = 1) {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

describe('ThreadCount: on an idle machine', () => {
  test('uses all threads, and trials cost less than 1 %', () => {
    const machine = { cores: 2 };
    const count = new ThreadCount(2);
    const { done, used } = steps(machine, count);
    expect(count.current).toBe(2);
    expect(done).toBeGreaterThan(fixed(machine, 2) * 0.99);
    expect(used.get(1)).toBeGreaterThan(0);
  });

  test('unsteady steps and short interruptions cost less than 2 %', () => {
    const next = random();
    const noise = () => (next() < 0.03 ? 1.5 + 2 * next() : 0.9 + 0.2 * next());
    const undisturbed = fixed({ cores: 2, noise }, 2, 300);
    const { done } = steps({ cores: 2, noise }, new ThreadCount(2), { seconds: 300 });
    expect(done).toBeGreaterThan(undisturbed * 0.98);
  });

  test.each([
    { share: 0.02, factor: 6 },
    { share: 0.01, factor: 12 },
    { share: 0.05, factor: 4 },
  ])('interruptions of $factor times a step, $share of all, cost less than 3 %', ({ share, factor }) => {
    const next = random(7);
    const noise = () => (next() < share ? factor : 0.9 + 0.2 * next());
    const machine = { cores: 2, noise };
    const undisturbed = fixed(machine, 2, 300);
    for (const watched of [false, true]) {
      const { done } = steps(machine, new ThreadCount(2, { watched }), { seconds: 300 });
      expect(done).toBeGreaterThan(undisturbed * 0.97);
    }
  });

  /** A virtual machine whose host takes single cores away for a moment, and all of them for longer now and then. */
  function unsteady(seed: number) {
    const next = random(seed);
    let [burstUntil, nextBurst] = [0, 300];
    return (threads: number, now: number, work: number) => {
      if (now > nextBurst) [burstUntil, nextBurst] = [now + 60 * next(), now + 800 * next() + 100];
      const delays = Array.from({ length: threads }, () =>
        next() < 0.06 ? (work / threads) * (0.5 + 2.5 * next()) : 0,
      );
      const inBurst = now < burstUntil ? (threads === 1 ? 1.6 : 3) : 1;
      return (work / threads) * inBurst * (0.95 + 0.1 * next()) + Math.max(...delays);
    };
  }

  test.each([2, 4, 8])('an unsteady machine with %i threads: at least 0.95 of the fixed number', (threads) => {
    for (const watched of [false, true]) {
      const [fixedTime, ownTime] = [unsteady(5), unsteady(5)];
      let [now, expected] = [0, 0];
      for (; now < 60_000; expected += 1) now += fixedTime(threads, now, 12);
      const count = new ThreadCount(threads, { watched });
      let done = 0;
      for (now = 0; now < 60_000; done += 1) {
        const elapsed = ownTime(count.next(1, now), now, 12);
        now += elapsed;
        count.completed(elapsed, now);
      }
      expect(done).toBeGreaterThan(expected * 0.95);
    }
  });

  test('short replies after pauses, each disturbed in its first steps: most are computed with all threads', () => {
    const count = new ThreadCount(2, { watched: true });
    let now = 0;
    const used = { one: 0, two: 0 };
    for (let reply = 0; reply < 40; reply += 1, now += 3000) {
      for (let step = 0; step < 128; step += 1) {
        const threads = count.next(1, now);
        if (reply > 0) used[threads === 1 ? 'one' : 'two'] += 1;
        const elapsed = threads === 1 ? 6.4 : step < 6 ? 14 : 3.3;
        now += elapsed;
        count.completed(elapsed, now);
      }
    }
    expect(used.two / (used.one + used.two)).toBeGreaterThan(0.7);
  });

  test('lowers the number for less than a second after a single very slow step', () => {
    const count = new ThreadCount(2);
    const once = { cores: 2, neighbours: (now: number) => (now > 10_000 && now < 10_030 ? 1 : 0) };
    const { used } = steps(once, count, { seconds: 20 });
    expect(count.current).toBe(2);
    expect(used.get(1)).toBeLessThan(20);
  });

  test('does not lower the number for the growing step times of a long prompt', () => {
    const count = new ThreadCount(2, { growing: true });
    let [now, lowered] = [0, 0];
    for (let chunk = 0; chunk < 64; chunk += 1) {
      const threads = count.next(512, now);
      if (threads < 2) lowered += 1;
      const elapsed = ((1 + chunk / 8) * 1000) / threads;
      now += elapsed;
      count.completed(elapsed, now);
    }
    expect(count.current).toBe(2);
    expect(lowered).toBeLessThan(5);
  });
});

describe('ThreadCount: with other busy programs', () => {
  test.each([1, 2])('with %d of them on two cores, at least 0.9 of the best fixed number', (busy) => {
    const machine = { cores: 2, neighbours: () => busy };
    const count = new ThreadCount(2);
    const { done } = steps(machine, count);
    expect(count.current).toBe(1);
    expect(done).toBeGreaterThan(fixed(machine, 1) * 0.9);
  });

  test('lowers the number after three slow steps when one starts later', () => {
    const count = new ThreadCount(2);
    const { now } = steps({ cores: 2 }, count, { seconds: 10 });
    const { used } = steps({ cores: 2, neighbours: () => 1 }, count, { from: now, seconds: 5 });
    expect(count.current).toBe(1);
    // The fourth one is the trial whether it was chance.
    expect(used.get(2)).toBeLessThanOrEqual(4);
  });

  test('uses all threads again within a minute after its end', () => {
    const count = new ThreadCount(2);
    const { now } = steps({ cores: 2, neighbours: () => 1 }, count);
    steps({ cores: 2 }, count, { from: now, seconds: 61 });
    expect(count.current).toBe(2);
  });

  test('tries more threads at once when steps become much faster', () => {
    const count = new ThreadCount(2);
    const { now } = steps({ cores: 2, neighbours: () => 2 }, count);
    steps({ cores: 2 }, count, { from: now, seconds: 1 });
    expect(count.current).toBe(2);
  });

  test('finds the number with single steps between long pauses', () => {
    const count = new ThreadCount(2, { growing: true });
    for (let minute = 0; minute < 3; minute += 1) {
      const threads = count.next(16, minute * 60_000);
      count.completed(threads > 1 ? 1000 : 60, minute * 60_000 + 1000);
    }
    expect(count.current).toBe(1);
  });

  test('does not try more threads at each of a few steps between pauses', () => {
    const machine = { cores: 2, neighbours: () => 1 };
    const count = new ThreadCount(2);
    let now = 0;
    let tried = 0;
    for (let minute = 0; minute < 60; minute += 1) {
      const { used } = steps(machine, count, { from: now, seconds: 2 });
      tried += used.get(2) ?? 0;
      now = (minute + 1) * 60_000;
    }
    expect(tried).toBeLessThan(12);
  });

  test('uses the free ones of many cores', () => {
    const count = new ThreadCount(8);
    steps({ cores: 8, neighbours: () => 3 }, count);
    expect(count.current).toBe(5);
  });

  test('reaches three quarters of the speed of the better fixed number if one comes and goes', () => {
    const machine = { cores: 2, neighbours: (now: number) => (Math.floor(now / 3000) % 2) as number };
    const { done } = steps(machine, new ThreadCount(2), { seconds: 300 });
    const best = Math.max(fixed(machine, 1, 300), fixed(machine, 2, 300));
    expect(done).toBeGreaterThan(best * 0.75);
  });
});

test('ThreadCount: always 1 with a maximum of 1', () => {
  const { used } = steps({ cores: 2 }, new ThreadCount(1), { seconds: 5 });
  expect([...used.keys()]).toEqual([1]);
});

describe('ThreadCount: prompts and replies', () => {
  test('after a pause, starts with the number that the other kind of steps has found meanwhile', () => {
    const [replies, prompts] = [new ThreadCount(4), new ThreadCount(8)];
    const { now } = steps({ cores: 4, neighbours: () => 2 }, replies, { seconds: 10 });
    expect(replies.current).toBe(2);
    prompts.follow(replies, now);
    expect(prompts.current).toBe(4);
  });

  test('keeps its own number without a pause', () => {
    const [replies, prompts] = [new ThreadCount(2), new ThreadCount(2)];
    const { now } = steps({ cores: 2, neighbours: () => 1 }, replies, { seconds: 10 });
    prompts.next(512, now);
    prompts.completed(500, now + 500);
    prompts.follow(replies, now + 600);
    expect(prompts.current).toBe(2);
  });
});

test('ThreadCount: compares a step only with steps of its width class', () => {
  const count = new ThreadCount(2);
  let [now, ones] = [0, 0];
  for (let step = 0; step < 2000; step += 1) {
    const wide = step % 50 >= 25;
    const threads = count.next(wide ? 16 : 1, now);
    if (threads === 1) ones += 1;
    const elapsed = (wide ? 60 : 20) / threads;
    now += elapsed;
    count.completed(elapsed, now);
  }
  expect(count.current).toBe(2);
  expect(ones).toBeLessThan(20);
});

test('threadLevels: every number up to 14, and an eighth less at a time above', () => {
  expect(threadLevels(4)).toEqual([1, 2, 3, 4]);
  expect(threadLevels(1)).toEqual([1]);
  expect(threadLevels(0)).toEqual([1]);
  expect(threadLevels(32)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 25, 28, 32]);
});

test('widthClass: two classes for each doubling', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17].map(widthClass)).toEqual([1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9]);
});

describe('ThreadCount: watched steps', () => {
  test('contention: lowers the number to the free cores at once', () => {
    const count = new ThreadCount(8, { watched: true });
    expect(count.next(16, 0)).toBe(8);
    count.contended(5, 40, 40);
    expect(count.next(16, 40)).toBe(5);
  });

  test('contention during a trial with more threads: keeps the number and delays the next trial', () => {
    const count = new ThreadCount(2, { watched: true });
    count.next(16, 0);
    count.contended(1, 40, 40);
    const trials: number[] = [];
    for (let now = 40; now < 60_000; now += 60) {
      if (count.next(16, now) === 1) {
        count.completed(60, now + 60);
        continue;
      }
      trials.push(now);
      count.contended(1, 40, now + 40);
    }
    expect(count.current).toBe(1);
    expect(trials.length).toBeGreaterThan(2);
    expect(trials.length).toBeLessThan(12);
  });

  test('contention after faster steps of a trial with more threads: tries again two seconds later', () => {
    const count = new ThreadCount(2, { growing: true, watched: true });
    let now = 0;
    const step = (elapsed: number) => {
      const threads = count.next(512, now);
      now += elapsed;
      count.completed(elapsed, now);
      return threads;
    };
    const contended = () => {
      const threads = count.next(512, now);
      now += 100;
      count.contended(1, 100, now);
      return threads;
    };
    contended();
    expect([step(2500), step(1250), step(1250)]).toEqual([1, 2, 2]);
    expect(contended()).toBe(2);
    expect([step(2500), step(1250)]).toEqual([1, 2]);
  });

  test('an idle machine: trials cost less than 0.3 %', () => {
    const machine = { cores: 2 };
    const { done } = steps(machine, new ThreadCount(2, { watched: true }));
    expect(done).toBeGreaterThan(fixed(machine, 2) * 0.997);
  });

  /** Chunks of a long prompt, which take more than a second each. */
  function chunks(machine: Machine, count: ThreadCount, number: number) {
    const used: number[] = [];
    for (let now = 0; used.length < number; ) {
      const threads = count.next(512, now);
      used.push(threads);
      const elapsed = stepMs(machine, threads, now, 2500);
      now += elapsed;
      count.completed(elapsed, now);
    }
    return used;
  }

  test('the chunks of a prompt: all threads until a trial costs less than 4 %', () => {
    const used = chunks({ cores: 2 }, new ThreadCount(2, { growing: true, watched: true }), 100);
    expect(used.indexOf(1)).toBeGreaterThan(24);
    expect(used.filter((threads) => threads === 1)).toHaveLength(1);
  });

  test('the chunks of a prompt after contention that has ended: all threads again, without a second trial of fewer', () => {
    const machine = { cores: 2 };
    const count = new ThreadCount(2, { growing: true, watched: true });
    count.next(512, 0);
    count.contended(1, 100, 100);
    const used = chunks(machine, count, 20);
    expect(used.lastIndexOf(1)).toBe(0);
  });

  test('contention on the host of a virtual machine, which it cannot see: found by the step times', () => {
    const machine = { cores: 2, neighbours: () => 1 };
    const count = new ThreadCount(2, { watched: true });
    steps(machine, count, { seconds: 20 });
    expect(count.current).toBe(1);
  });
});
