import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inSlices, type Sliced, whole } from './slices.ts';

function* counting(steps: number, done: number[] = []): Sliced<number> {
  for (let step = 0; step < steps; step++) {
    done.push(step);
    yield;
  }
  return steps;
}

/** Each look at the clock costs a millisecond. */
function slowClock(): () => number {
  let time = 0;
  return () => ++time;
}

function pauses(): { readonly pause: () => Promise<void>; readonly count: () => number } {
  let count = 0;
  return {
    pause: async () => {
      count++;
    },
    count: () => count,
  };
}

describe('inSlices', () => {
  test('gives the same result as the work at once', () =>
    fc.assert(
      fc.asyncProperty(fc.nat({ max: 200 }), async (steps) => {
        const { pause } = pauses();
        expect(await inSlices(counting(steps), { clock: slowClock(), pause })).toBe(whole(counting(steps)));
      }),
    ));

  test('does not pause for short work', async () => {
    const { pause, count } = pauses();
    await inSlices(counting(1000), { clock: () => 0, pause });
    expect(count()).toBe(0);
  });

  test('pauses in proportion to the length of the work', async () => {
    const short = pauses();
    const long = pauses();
    await inSlices(counting(100), { clock: slowClock(), pause: short.pause });
    await inSlices(counting(1000), { clock: slowClock(), pause: long.pause });
    expect(short.count()).toBeGreaterThan(5);
    expect(long.count()).toBeGreaterThan(8 * short.count());
  });

  test('lets the event loop run', async () => {
    let turns = 0;
    const beat = setInterval(() => turns++, 0);
    await inSlices(counting(400), {
      clock: slowClock(),
      pause: () => new Promise((resolve) => setTimeout(resolve, 1)),
    });
    clearInterval(beat);
    expect(turns).toBeGreaterThan(3);
  });

  test('rejects when the signal aborts', async () => {
    const gone = new AbortController();
    const done: number[] = [];
    const pause = async () => gone.abort(new Error('gone'));
    const work = inSlices(counting(1000, done), { signal: gone.signal, clock: slowClock(), pause });
    await expect(work).rejects.toThrow('gone');
    expect(done.length).toBeLessThan(20);
  });

  test('rejects with the error of the work', async () => {
    function* failing(): Sliced<void> {
      yield;
      throw new Error('broken');
    }
    await expect(inSlices(failing())).rejects.toThrow('broken');
    expect(() => whole(failing())).toThrow('broken');
  });
});
