import { describe, expect, test } from 'vitest';
import type { Room } from './packing.ts';
import { type Computer, SharedBatches } from './shared-batches.ts';

const never = new AbortController().signal;
const text = (...tokens: number[]): Int32Array => Int32Array.from(tokens);
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Each vector is the text itself; a batch is done when the test says so, or at once. */
function computer(room: Room = { tokens: 100, sequences: 8 }, held = false) {
  const seen: { pooling: string; sizes: number[] }[] = [];
  const finish: ((stopped?: boolean) => void)[] = [];
  let stops = 0;
  const computing: Computer<string> = {
    room,
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

describe('texts that wait', () => {
  test('have their own vectors, in their own order', async () => {
    const batches = new SharedBatches(computer({ tokens: 5, sequences: 2 }).computing);
    const texts = [text(1), text(2, 2), text(3, 3, 3), text(4), text(5, 5)];
    const vectors = await batches.vectors('mean', texts, never);
    expect(vectors.map(([vector]) => Array.from(vector ?? []))).toEqual(texts.map((one) => Array.from(one)));
  });

  test('of several who ask in one turn are computed together', async () => {
    const { computing, seen } = computer();
    const batches = new SharedBatches(computing);
    await Promise.all([1, 2, 3].map((token) => batches.vectors('mean', [text(token)], never)));
    expect(seen).toEqual([{ pooling: 'mean', sizes: [1, 1, 1] }]);
  });

  test('that come while others are computed share the next batch', async () => {
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

  test('that are pooled in another way have a batch of their own', async () => {
    const { computing, seen } = computer();
    const batches = new SharedBatches(computing);
    await Promise.all([batches.vectors('mean', [text(1)], never), batches.vectors('none', [text(2)], never)]);
    expect(seen.map(({ pooling }) => pooling)).toEqual(['mean', 'none']);
  });

  test('may be none at all', async () => {
    expect(await new SharedBatches(computer().computing).vectors('mean', [], never)).toEqual([]);
  });
});

describe('somebody who goes away', () => {
  test('before the turn comes is not computed', async () => {
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

  test('in the middle stops the batch, if nobody else is in it', async () => {
    const { computing, stops } = computer(undefined, true);
    const gone = new AbortController();
    const work = new SharedBatches(computing).vectors('mean', [text(1), text(2)], gone.signal);
    await turn();
    gone.abort(new Error('left'));
    await expect(work).rejects.toThrow('left');
    expect(stops()).toBe(1);
  });

  test('leaves those alone who share the batch', async () => {
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

  test('already is not begun', async () => {
    const { computing, seen } = computer();
    const gone = AbortSignal.abort(new Error('left'));
    await expect(new SharedBatches(computing).vectors('mean', [text(1)], gone)).rejects.toThrow('left');
    await turn();
    expect(seen).toEqual([]);
  });

  test('after a batch was stopped, the next one is computed', async () => {
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

test('a batch that fails fails for all in it, and for nobody after it', async () => {
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
