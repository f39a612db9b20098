import { describe, expect, test } from 'vitest';
import { type Drawing, drawPicture, type FlowNetwork } from './draw.ts';
import { SeededNoise } from './noise.ts';
import { samplers } from './samplers.ts';
import { timesOf } from './schedule.ts';

const size = 6;
const never = new AbortController().signal;

/**
 * A network that knows one picture for each condition (all numbers are the condition's first one) and leads there straight,
 * from wherever it is.
 */
const knowing: FlowNetwork = async ({ x, time, conditions }) =>
  x.map((value, index) => {
    const [target = 0] = conditions[Math.floor(index / size)] ?? [];
    return (target - value) / Math.max(1 - time, 1e-3);
  });

function drawing(changes: Partial<Drawing> = {}): Drawing {
  return {
    network: knowing,
    wishes: { wanted: Float32Array.of(0.5), unwanted: Float32Array.of(0), guidance: 1 },
    sampler: 'Euler',
    times: timesOf('Simple', 4),
    noise: new SeededNoise(1),
    size,
    stepped: async () => undefined,
    signal: never,
    ...changes,
  };
}

const rounded = (picture: Float32Array | undefined) => [...(picture ?? [])].map((value) => Number(value.toFixed(3)));
const all = (value: number) => Array<number>(size).fill(value);

describe('drawing', () => {
  test.each(samplers)('by %s ends at what the network has in mind', async (sampler) => {
    const picture = await drawPicture(drawing({ sampler }));
    expect(rounded(picture)).toEqual(all(0.5));
  });

  test('asks the network once at each time', async () => {
    const asked: number[] = [];
    const network: FlowNetwork = async (rows) => {
      asked.push(rows.time);
      return knowing(rows);
    };
    await drawPicture(drawing({ network }));
    expect(asked).toEqual([0, 0.25, 0.5, 0.75]);
  });

  test('is decided by the seed of the noise, with fresh noise on the way too', async () => {
    // One that keeps something of where it came from.
    const network: FlowNetwork = async ({ x, time }) => x.map((value) => Math.sin(3 * value) - time);
    for (const sampler of samplers) {
      const [first, again, other] = await Promise.all(
        [5, 5, 6].map((seed) => drawPicture(drawing({ network, sampler, noise: new SeededNoise(seed) }))),
      );
      expect(again).toEqual(first);
      expect(other).not.toEqual(first);
    }
  });

  test('tells each step and what will probably come of it', async () => {
    const told: [number, number[]][] = [];
    await drawPicture(
      drawing({
        stepped: async (done, outlook) => {
          told.push([done, rounded(outlook())]);
        },
      }),
    );
    expect(told).toEqual([1, 2, 3, 4].map((done) => [done, all(0.5)]));
  });

  test('waits until somebody has taken notice of a step', async () => {
    const log: string[] = [];
    const network: FlowNetwork = async (rows) => {
      log.push('step');
      return knowing(rows);
    };
    const stepped = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      log.push('told');
    };
    await drawPicture(drawing({ network, stepped, times: [0, 0.5, 1] }));
    expect(log).toEqual(['step', 'told', 'step', 'told']);
  });

  test('ends between two steps when nobody wants it any more', async () => {
    const stop = new AbortController();
    const done: number[] = [];
    const work = drawPicture(
      drawing({
        signal: stop.signal,
        stepped: async (step) => {
          done.push(step);
          if (step === 2) stop.abort(new Error('gone'));
        },
      }),
    );
    await expect(work).rejects.toThrow('gone');
    expect(done).toEqual([1, 2]);
  });
});

describe('guidance', () => {
  const wishes = { wanted: Float32Array.of(0.5), unwanted: Float32Array.of(0.1), guidance: 3 };

  test('goes on from the unwanted past the wanted', async () => {
    const picture = await drawPicture(drawing({ wishes }));
    // 0.1 + 3 · (0.5 − 0.1)
    expect(rounded(picture)).toEqual(all(1.3));
  });

  test('sends both wishes through the network at once, and only the wanted where nothing else counts', async () => {
    const rows: number[][] = [];
    const network: FlowNetwork = async (given) => {
      rows.push(given.conditions.map(([first = 0]) => Number(first.toFixed(1))));
      return knowing(given);
    };
    await drawPicture(drawing({ network, wishes, times: [0, 1] }));
    await drawPicture(drawing({ network, wishes: { ...wishes, guidance: 1 }, times: [0, 1] }));
    expect(rows).toEqual([[0.5, 0.1], [0.5]]);
  });

  test('of nothing draws the unwanted', async () => {
    const picture = await drawPicture(drawing({ wishes: { ...wishes, guidance: 0 } }));
    expect(rounded(picture)).toEqual(all(0.1));
  });
});

describe('a picture to begin from', () => {
  const initial = Float32Array.of(-1, -0.5, 0, 0.25, 0.5, 1);
  /** One that changes nothing: whatever is there is the picture. */
  const idle: FlowNetwork = async ({ x }) => new Float32Array(x.length);

  test('is there as much as it is to stay, under noise', async () => {
    const start = await drawPicture(drawing({ initial, network: idle, times: timesOf('Simple', 2, 0.25) }));
    const noise = new SeededNoise(1).take(size);
    expect(rounded(start)).toEqual(
      rounded(initial.map((value, index) => value * 0.75 + (noise[index] as number) * 0.25)),
    );
  });

  test('comes back untouched where nothing of it goes', async () => {
    expect(await drawPicture(drawing({ initial, times: timesOf('Simple', 0, 0) }))).toEqual(initial);
  });

  test('stays where the mask says so, and goes where it does not', async () => {
    const mask = Float32Array.of(0, 0, 0, 1, 1, 1);
    const picture = await drawPicture(drawing({ initial, mask }));
    expect(rounded(picture)).toEqual([-1, -0.5, 0, 0.5, 0.5, 0.5]);
  });

  test('stays in part where the mask is grey', async () => {
    const mask = new Float32Array(size).fill(0.5);
    const picture = await drawPicture(drawing({ initial, mask }));
    expect(rounded(picture)).toEqual(rounded(initial.map((value) => value * 0.5 + 0.25)));
  });

  test('is put back with the noise of the time, so that the network finds what it expects', async () => {
    const seen: number[][] = [];
    const network: FlowNetwork = async ({ x, time }) => {
      if (time === 0.5) seen.push(rounded(x));
      return new Float32Array(x.length);
    };
    await drawPicture(drawing({ network, initial, mask: new Float32Array(size), times: [0, 0.5, 1] }));
    const noise = new SeededNoise(1).take(size);
    expect(seen).toEqual([rounded(initial.map((value, index) => (value + (noise[index] as number)) / 2))]);
  });

  test('has one mask for all of its colours', async () => {
    // Three planes of two pixels.
    const mask = Float32Array.of(0, 1);
    const picture = await drawPicture(drawing({ initial, mask }));
    expect(rounded(picture)).toEqual([-1, 0.5, 0, 0.5, 0.5, 0.5]);
  });
});
