import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BatchLimit, type Computer, nextBatch, type Piece, SharedBatches } from './shared-batches.ts';

const never = new AbortController().signal;
const text = (...tokens: number[]): Int32Array => Int32Array.from(tokens);
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Each vector is the text itself; a batch is done when the test says so, or at once. */
function computer(room: BatchLimit = { tokens: 100, sequences: 8 }, held = false) {
  const seen: { pooling: string; sizes: number[] }[] = [];
  const finish: ((stopped?: boolean) => void)[] = [];
  let stops = 0;
  const computing: Computer = {
    limit: room,
    compute: (pooling, texts) => {
      seen.push({ pooling, sizes: texts.map(({ length }) => length) });
      const result = texts.map((one) => [Float32Array.from(one)]);
      if (!held) return Promise.resolve(result);
      return new Promise((resolve) => {
        finish.push((stopped = false) => resolve(stopped ? undefined : result));
      });
    },
    stop: () => {
      stops += 1;
      finish.at(-1)?.(true);
    },
  };
  return { computing, seen, finish, stops: () => stops };
}

describe('SharedBatches', () => {
  test('returns the vectors in the order of the texts', async () => {
    const batches = new SharedBatches(computer({ tokens: 5, sequences: 2 }).computing);
    const texts = [text(1), text(2, 2), text(3, 3, 3), text(4), text(5, 5)];
    const vectors = await batches.vectors('mean', texts, never);
    expect(vectors.map(([vector]) => Array.from(vector ?? []))).toEqual(texts.map((one) => Array.from(one)));
  });

  test('batches requests of the same turn', async () => {
    const { computing, seen } = computer();
    const batches = new SharedBatches(computing);
    await Promise.all([1, 2, 3].map((token) => batches.vectors('mean', [text(token)], never)));
    expect(seen).toEqual([{ pooling: 'mean', sizes: [1, 1, 1] }]);
  });

  test('requests during a batch share the next one', async () => {
    const { computing, seen, finish } = computer(undefined, true);
    const batches = new SharedBatches(computing);
    const first = batches.vectors('mean', [text(1)], never);
    await turn();
    const later = [text(2), text(3)].map((one) => batches.vectors('mean', [one], never));
    await turn();
    expect(seen).toHaveLength(1);
    finish[0]?.();
    await first;
    await turn();
    expect(seen[1]).toEqual({ pooling: 'mean', sizes: [1, 1] });
    finish[1]?.();
    await Promise.all(later);
  });

  test('other poolings have their own batch', async () => {
    const { computing, seen } = computer();
    const batches = new SharedBatches(computing);
    await Promise.all([batches.vectors('mean', [text(1)], never), batches.vectors('none', [text(2)], never)]);
    expect(seen.map(({ pooling }) => pooling)).toEqual(['mean', 'none']);
  });

  test('supports an empty list', async () => {
    expect(await new SharedBatches(computer().computing).vectors('mean', [], never)).toEqual([]);
  });
});

describe('SharedBatches: abort', () => {
  test('removes waiting texts', async () => {
    const { computing, seen, finish } = computer({ tokens: 1, sequences: 1 }, true);
    const batches = new SharedBatches(computing);
    const first = batches.vectors('mean', [text(1)], never);
    await turn();
    const gone = new AbortController();
    const second = batches.vectors('mean', [text(2)], gone.signal);
    const third = batches.vectors('mean', [text(3)], never);
    await turn();
    gone.abort(new Error('left'));
    await expect(second).rejects.toThrow('left');
    finish[0]?.();
    await first;
    await turn();
    finish[1]?.();
    expect(Array.from((await third)[0]?.[0] ?? [])).toEqual([3]);
    expect(seen).toHaveLength(2);
  });

  test('stops the batch if all of its requests are aborted', async () => {
    const { computing, stops } = computer(undefined, true);
    const gone = new AbortController();
    const work = new SharedBatches(computing).vectors('mean', [text(1), text(2)], gone.signal);
    await turn();
    gone.abort(new Error('left'));
    await expect(work).rejects.toThrow('left');
    expect(stops()).toBe(1);
  });

  test('does not affect other requests of the batch', async () => {
    const { computing, finish, stops } = computer(undefined, true);
    const batches = new SharedBatches(computing);
    const gone = new AbortController();
    const leaving = batches.vectors('mean', [text(1)], gone.signal);
    const staying = batches.vectors('mean', [text(2)], never);
    await turn();
    gone.abort(new Error('left'));
    await expect(leaving).rejects.toThrow('left');
    expect(stops()).toBe(0);
    finish[0]?.();
    expect(Array.from((await staying)[0]?.[0] ?? [])).toEqual([2]);
  });

  test('before the start computes nothing', async () => {
    const { computing, seen } = computer();
    const gone = AbortSignal.abort(new Error('left'));
    await expect(new SharedBatches(computing).vectors('mean', [text(1)], gone)).rejects.toThrow('left');
    await turn();
    expect(seen).toEqual([]);
  });

  test('the next batch is computed after a stopped one', async () => {
    const { computing, finish } = computer(undefined, true);
    const batches = new SharedBatches(computing);
    const gone = new AbortController();
    const leaving = batches.vectors('mean', [text(1)], gone.signal);
    await turn();
    gone.abort(new Error('left'));
    await expect(leaving).rejects.toThrow('left');
    const next = batches.vectors('mean', [text(2)], never);
    await turn();
    await turn();
    finish[1]?.();
    expect(Array.from((await next)[0]?.[0] ?? [])).toEqual([2]);
  });
});

test('SharedBatches: a failed batch rejects its requests only', async () => {
  const { computing } = computer();
  let broken = true;
  const compute: typeof computing.compute = (...batch) => {
    if (!broken) return computing.compute(...batch);
    broken = false;
    return Promise.reject(new Error('out of memory'));
  };
  const batches = new SharedBatches({ ...computing, compute });
  const both = [text(1), text(2)].map((one) => batches.vectors('mean', [one], never));
  for (const work of both) await expect(work).rejects.toThrow('out of memory');
  expect(await batches.vectors('mean', [text(3)], never)).toEqual([[Float32Array.of(3)]]);
});

interface Numbered extends Piece {
  readonly number: number;
}

const piece = fc.record({
  owner: fc.nat(4),
  tokens: fc.integer({ min: 1, max: 60 }),
  pooling: fc.constantFrom('mean', 'none'),
});
const waiting: fc.Arbitrary<Numbered[]> = fc
  .array(piece, { maxLength: 60 })
  .map((pieces) => pieces.map((one, number) => ({ ...one, number })));
const room: fc.Arbitrary<BatchLimit> = fc.record({
  tokens: fc.integer({ min: 1, max: 100 }),
  sequences: fc.integer({ min: 1, max: 12 }),
});
const sum = (pieces: readonly Piece[]): number => pieces.reduce((total, { tokens }) => total + tokens, 0);

/** All batches until nothing waits. */
function batches(pieces: readonly Numbered[], size: BatchLimit): Numbered[][] {
  const all: Numbered[][] = [];
  for (let left = pieces; left.length > 0; ) {
    const batch = nextBatch(left, size);
    if (batch.length === 0) throw new Error('nothing goes on');
    all.push(batch);
    left = left.filter((one) => !batch.includes(one));
  }
  return all;
}

describe('nextBatch', () => {
  test('every text is computed once', () => {
    fc.assert(
      fc.property(waiting, room, (pieces, size) => {
        const numbers = batches(pieces, size)
          .flat()
          .map(({ number }) => number);
        expect(numbers.toSorted((a, b) => a - b)).toEqual(pieces.map(({ number }) => number));
      }),
    );
  });

  test('respects the limits, except for a single long text', () => {
    fc.assert(
      fc.property(waiting, room, (pieces, size) => {
        for (const batch of batches(pieces, size)) {
          expect(batch.length).toBeLessThanOrEqual(size.sequences);
          if (batch.length > 1) expect(sum(batch)).toBeLessThanOrEqual(size.tokens);
        }
      }),
    );
  });

  test('starts with the oldest text and its pooling', () => {
    fc.assert(
      fc.property(waiting, room, (pieces, size) => {
        const batch = nextBatch(pieces, size);
        expect(batch[0]).toBe(pieces[0]);
        expect(new Set(batch.map(({ pooling }) => pooling)).size).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('keeps the order of each owner', () => {
    fc.assert(
      fc.property(waiting, room, (pieces, size) => {
        const order = batches(pieces, size).flat();
        for (const { owner, pooling } of pieces) {
          const own = order.filter((one) => one.owner === owner && one.pooling === pooling).map((one) => one.number);
          expect(own).toEqual(own.toSorted((a, b) => a - b));
        }
      }),
    );
  });

  test('leaves out no owner whose next text fits', () => {
    fc.assert(
      fc.property(waiting, room, (pieces, size) => {
        const batch = nextBatch(pieces, size);
        if (batch.length === size.sequences) return;
        const alike = pieces.filter(({ pooling }) => pooling === pieces[0]?.pooling);
        for (const owner of new Set(alike.map((one) => one.owner))) {
          const next = alike.find((one) => one.owner === owner && !batch.includes(one));
          if (next) expect(sum(batch) + next.tokens).toBeGreaterThan(size.tokens);
        }
      }),
    );
  });
});

test('nextBatch: a single text does not wait behind hundreds of another owner', () => {
  const many = Array.from({ length: 300 }, (): Piece => ({ owner: 1, tokens: 10, pooling: 'mean' }));
  const single: Piece = { owner: 2, tokens: 10, pooling: 'mean' };
  const batch = nextBatch([...many, single], { tokens: 100, sequences: 64 });
  expect(batch).toContain(single);
  expect(batch).toHaveLength(10);
});

test('nextBatch: is empty without texts', () => expect(nextBatch([], { tokens: 1, sequences: 1 })).toEqual([]));
