import { describe, expect, test } from 'vitest';
import { LineReader, pulseOf } from './channel.ts';
import { Heartbeat, HeartbeatMemory, type Pulse, StallDetector, Stillness, tickMs } from './heartbeat.ts';

/** A worker's memory and its judge; time passes in ticks. */
function world() {
  const signs = new HeartbeatMemory();
  // The other thread has a view of its own on the same memory.
  const seen = new HeartbeatMemory(signs.memory);
  const judge = new StallDetector();
  let pageFaults = 0;
  const tick = () => judge.tick(seen.read(), pageFaults);
  return {
    signs,
    seen,
    tick,
    /** Time until a hang is detected; undefined if it is not within the limit. */
    hangsAfter: (milliseconds: number, meanwhile: () => void = () => {}): number | undefined => {
      for (let passed = 0; passed <= milliseconds; passed += tickMs) {
        meanwhile();
        if (tick().hung) return passed;
      }
      return undefined;
    },
    readFromDisk: () => {
      pageFaults += 3;
    },
  };
}

const hour = 3_600_000;

describe('StallDetector: main thread', () => {
  test('is hung after eight seconds without a beat', () => {
    const { signs, hangsAfter } = world();
    signs.serving(1000);
    expect(hangsAfter(hour)).toBe(8500);
  });

  test('is alive while it beats, however seldom', () => {
    const { signs, hangsAfter } = world();
    signs.serving(1000);
    let ticks = 0;
    expect(hangsAfter(hour, () => ++ticks % 15 === 0 && signs.beat())).toBeUndefined();
  });

  test('is not checked before it serves', () => {
    const { signs, hangsAfter, tick } = world();
    expect(hangsAfter(hour)).toBeUndefined();
    signs.serving(1000);
    expect(tick().hung).toBe(false);
    expect(hangsAfter(hour)).toBe(8000);
  });

  test('may be in a step for the declared time, and no longer', () => {
    const { signs, hangsAfter } = world();
    signs.serving(1000);
    signs.here(60_000, () => expect(hangsAfter(hour)).toBe(60_500));
  });

  test('has the default limit again after a step', () => {
    const { signs, hangsAfter, tick } = world();
    signs.serving(1000);
    signs.here(60_000, () => expect(hangsAfter(50_000)).toBeUndefined());
    expect(tick().hung).toBe(false);
    expect(hangsAfter(hour)).toBe(8000);
  });

  test('the time restarts for each step, also for consecutive steps without a beat', () => {
    const { signs, hangsAfter } = world();
    signs.serving(1000);
    for (let step = 0; step < 5; step += 1) signs.here(20_000, () => expect(hangsAfter(15_000)).toBeUndefined());
  });

  test('steps can be nested', () => {
    const { signs, hangsAfter, seen } = world();
    signs.serving(1000);
    signs.here(60_000, () => {
      signs.here(20_000, () => expect(hangsAfter(15_000)).toBeUndefined());
      expect(seen.read().here.boundMs).toBe(60_000);
      expect(hangsAfter(hour)).toBe(60_500);
    });
    expect(seen.read().here.boundMs).toBe(0);
  });

  test('a step returns its result or throws its error, and ends', () => {
    const { signs, seen } = world();
    expect(signs.here(1, () => 42)).toBe(42);
    expect(() =>
      signs.here(1, () => {
        throw new Error('broken');
      }),
    ).toThrow('broken');
    expect(seen.read().here.boundMs).toBe(0);
  });

  test('is not hung while it waits for page faults', () => {
    const { signs, hangsAfter, readFromDisk } = world();
    signs.serving(1000);
    let ticks = 0;
    expect(hangsAfter(300_000, () => ++ticks % 10 === 0 && readFromDisk())).toBeUndefined();
    expect(hangsAfter(hour)).toBeLessThanOrEqual(8500);
  });

  test('page faults extend the limit only for a while', () => {
    const { signs, hangsAfter, readFromDisk } = world();
    signs.serving(1000);
    expect(hangsAfter(hour, readFromDisk)).toBeLessThan(620_000);
  });
});

describe('StallDetector: work on another thread', () => {
  const never = () => new Promise<never>(() => {});

  test('may take the declared time while the main thread beats', () => {
    const { signs, hangsAfter } = world();
    signs.serving(1000);
    void signs.aside(30_000, never);
    expect(hangsAfter(hour, () => signs.beat())).toBe(30_500);
  });

  test('does not extend the limit of the main thread', () => {
    const { signs, hangsAfter } = world();
    signs.serving(1000);
    void signs.aside(30_000, never);
    expect(hangsAfter(hour)).toBe(8500);
  });

  test('may overlap, and ends with the last one', async () => {
    const { signs, seen } = world();
    const ends: (() => void)[] = [];
    const begin = (bound: number) => signs.aside(bound, () => new Promise<void>((resolve) => ends.push(resolve)));
    const [first, second] = [begin(20_000), begin(40_000)];
    expect(seen.read().aside.boundMs).toBe(40_000);
    ends[0]?.();
    await first;
    expect(seen.read().aside.boundMs).toBe(40_000);
    ends[1]?.();
    await second;
    expect(seen.read().aside.boundMs).toBe(0);
  });

  test('ends when it fails', async () => {
    const { signs, seen } = world();
    await expect(signs.aside(20_000, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(seen.read().aside.boundMs).toBe(0);
  });
});

test('StallDetector: a pulse has the time that the step may take', () => {
  const { signs, tick } = world();
  expect(tick()).toEqual({ hung: false, timeoutMs: 0 });
  signs.here(1234.5, () => expect(tick().timeoutMs).toBe(1235));
  signs.here(Number.POSITIVE_INFINITY, () => expect(tick().timeoutMs).toBe(2 ** 31 - 1));
});

test('HeartbeatMemory: shares the closing time with the other thread, 0 while loading', () => {
  const { signs, seen } = world();
  expect(seen.closingMs).toBe(0);
  signs.serving(10_000);
  expect(seen.closingMs).toBe(10_000);
});

test('Stillness: counts the time since the last change', () => {
  const still = new Stillness();
  expect([still.tick('a'), still.tick('a'), still.tick('a'), still.tick('b'), still.tick('b')]).toEqual([
    0,
    tickMs,
    2 * tickMs,
    0,
    tickMs,
  ]);
});

test('Heartbeat: a process without any pulse is not hung, one whose pulses end is', () => {
  const heart = new Heartbeat();
  for (let tick = 0; tick < 1000; tick += 1) expect(heart.tick()).toBe(false);
  heart.pulse({ hung: false, timeoutMs: 77 });
  expect(heart.timeoutMs).toBe(77);
  const ticks = Array.from({ length: 20 }, () => heart.tick());
  expect(ticks.indexOf(true)).toBe(17);
});

test('LineReader, pulseOf: read pulses from any chunks', () => {
  const pulses: Pulse[] = [];
  const reader = new LineReader((line) => pulses.push(pulseOf(line)));
  const read = (text: string) => reader.push(text);
  for (const piece of ['0\n80', '00\nhu', 'ng', '\n', '12\n7']) read(piece);
  expect(pulses).toEqual([
    { hung: false, timeoutMs: 0 },
    { hung: false, timeoutMs: 8000 },
    { hung: true, timeoutMs: 0 },
    { hung: false, timeoutMs: 12 },
  ]);
});
