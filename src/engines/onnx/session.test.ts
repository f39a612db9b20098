import { describe, expect, test } from 'vitest';
import { type Network, writeModel } from '../../../scripts/conversion/onnx-file.ts';
import { openNative } from './native.ts';
import { OnnxSession, type OnnxValue } from './session.ts';
import { elementTypes, typedModel } from './testing/typed-model.ts';

/** `sum = left · factor + right`, of any length. */
const small: Network = {
  nodes: [
    { operation: 'Mul', inputs: ['left', 'factor'], output: 'product' },
    { operation: 'Add', inputs: ['product', 'right'], output: 'sum' },
  ],
  weights: { factor: { data: Float32Array.of(3), shape: [1] } },
  inputs: [
    { name: 'left', shape: ['n'] },
    { name: 'right', shape: ['n'] },
  ],
  outputs: [{ name: 'sum', shape: ['n'] }],
};

/** Long enough to be stopped on its way: products of large matrices, one after the other. */
function slow(times: number): Network {
  const names = Array.from({ length: times + 1 }, (_, index) => (index === 0 ? 'matrix' : `after ${index}`));
  return {
    nodes: names.slice(1).map((output, index) => ({
      operation: 'MatMul',
      inputs: [names[index] ?? '', 'matrix'],
      output,
    })),
    weights: {},
    inputs: [{ name: 'matrix', shape: ['n', 'n'] }],
    outputs: [{ name: names.at(-1) ?? '', shape: ['n', 'n'] }],
  };
}

const row = (...data: number[]) => ({ data: Float32Array.from(data), shape: [data.length] });
const open = (network: Network) => OnnxSession.open(writeModel(network), { threads: 1 });
const messageOf = (work: Promise<unknown>) => work.then(String, (error: Error) => error.message);

describe('OnnxSession.run', () => {
  test('computes the graph for any length', async () => {
    const session = await open(small);
    const { sum } = await session.run({ left: row(1, 2, 3), right: row(10, 20, 30) });
    expect(sum).toEqual(row(13, 26, 39));
    const longer = await session.run({ left: row(1, 1, 1, 1), right: row(0, 0, 0, 0.5) });
    expect([...(longer.sum?.data ?? [])]).toEqual([3, 3, 3, 3.5]);
    session.release();
  });

  test('supports empty tensors', async () => {
    const session = await open(small);
    expect((await session.run({ left: row(), right: row() })).sum).toEqual(row());
    session.release();
  });

  test('results stay valid after release', async () => {
    const session = await open(small);
    const { sum } = await session.run({ left: row(2), right: row(1) });
    session.release();
    for (let round = 0; round < 20; round += 1) await open(small).then((other) => other.release());
    expect([...(sum?.data ?? [])]).toEqual([7]);
  });

  test('supports whole numbers as input', async () => {
    const { float32, int64 } = elementTypes;
    const data = new Uint8Array(Float32Array.of(10, 20, 30).buffer);
    const lookup = typedModel({
      nodes: [{ operation: 'Gather', inputs: ['table', 'index'], output: 'found' }],
      weights: [{ name: 'table', type: float32, shape: [3], data }],
      input: { name: 'index', type: int64 },
      output: { name: 'found', type: float32 },
    });
    const session = await OnnxSession.open(lookup, { threads: 1 });
    const { found } = await session.run({ index: { data: BigInt64Array.of(2n, 0n), shape: [2] } });
    expect(found).toEqual(row(30, 10));
    session.release();
  });

  test('supports concurrent runs', async () => {
    const session = await open(small);
    const runs = Array.from({ length: 8 }, (_, index) => session.run({ left: row(index), right: row(1) }));
    const sums = (await Promise.all(runs)).map(({ sum }) => sum?.data[0]);
    expect(sums).toEqual([1, 4, 7, 10, 13, 16, 19, 22]);
    session.release();
  });
});

describe('OnnxSession.compute', () => {
  test('outputs are inputs of later runs without being read, and stay valid until they are released', async () => {
    const session = await open(small);
    const [first] = (await session.compute({ left: row(1, 2), right: row(1, 1) }, ['sum'])) as [OnnxValue];
    const [second] = (await session.compute({ left: first, right: first }, ['sum'])) as [OnnxValue];
    expect(first.read()).toEqual(row(4, 7));
    expect(second.read()).toEqual(row(16, 28));
    first.release();
    first.release();
    expect(second.read()).toEqual(row(16, 28));
    second.release();
    session.release();
  });

  test('without an arena, results are the same', async () => {
    const session = await OnnxSession.open(writeModel(small), { threads: 1, arena: false });
    expect((await session.run({ left: row(1), right: row(1) })).sum).toEqual(row(4));
    session.release();
  });

  test('rejects unknown outputs and tensors of another type', async () => {
    const session = await open(small);
    expect(await messageOf(session.compute({ left: row(1), right: row(1) }, ['difference']))).toMatch(/difference/);
    const indices = { data: BigInt64Array.of(1n), shape: [1] };
    expect(await messageOf(session.compute({ left: indices, right: row(1) }, ['sum']))).toMatch(/type|int64/i);
    const flags = { data: Uint8Array.of(1), shape: [1] };
    expect(await messageOf(session.compute({ left: flags, right: row(1) }, ['sum']))).toMatch(/type|bool/i);
    session.release();
  });
});

describe('OnnxSession: errors', () => {
  test('invalid file', async () => {
    expect(await messageOf(OnnxSession.open(Buffer.from('no network at all'), { threads: 1 }))).toMatch(
      /protobuf|parse|model/i,
    );
    expect(await messageOf(OnnxSession.open(new Uint8Array(), { threads: 1 }))).not.toBe('[object Object]');
  });

  test('unknown operator', async () => {
    const unknown = { ...small, nodes: [{ operation: 'Dance', inputs: ['left'], output: 'sum' }] };
    expect(await messageOf(open(unknown))).toMatch(/Dance/);
  });

  test('wrong shape, name or length of inputs', async () => {
    const session = await open(small);
    const matrix = { data: Float32Array.of(1), shape: [1, 1] };
    expect(await messageOf(session.run({ left: matrix, right: row(1) }))).toMatch(/rank.*left/i);
    expect(await messageOf(session.run({ left: row(1), up: row(1) }))).toMatch(/up/);
    expect(await messageOf(session.run({ left: row(1) }))).toMatch(/right/);
    const short = { data: Float32Array.of(1), shape: [2] };
    expect(await messageOf(session.run({ left: short, right: row(1, 1) }))).toBe(
      'a tensor of shape 2 has 2 numbers, not 1',
    );
    // And it goes on after all that.
    expect([...((await session.run({ left: row(1), right: row(1) })).sum?.data ?? [])]).toEqual([4]);
    session.release();
  });

  test('run after release', async () => {
    const session = await open(small);
    session.release();
    session.release();
    expect(await messageOf(session.run({ left: row(1), right: row(1) }))).toBe('the network was released');
  });
});

describe('OnnxSession.run: abort', () => {
  const size = 400;
  const matrix = { data: new Float32Array(size * size).fill(1 / size), shape: [size, size] };

  test('ends a run with the reason', async () => {
    const session = await open(slow(400));
    const stop = new AbortController();
    const run = messageOf(session.run({ matrix }, stop.signal));
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error('gone'));
    expect(await run).toBe('gone');
    session.release();
  });

  test('before the start runs nothing', async () => {
    const session = await open(small);
    const gone = AbortSignal.abort(new Error('gone before'));
    expect(await messageOf(session.run({ left: row(1), right: row(1) }, gone))).toBe('gone before');
    session.release();
  });

  test('does not affect the next run, and the event loop is not blocked', async () => {
    const session = await open(slow(20));
    let turns = 0;
    const turning = setInterval(() => {
      turns += 1;
    });
    const output = (await session.run({ matrix }, new AbortController().signal))['after 20'];
    clearInterval(turning);
    expect(output?.data[0]).toBeCloseTo(1 / size, 6);
    expect(turns).toBeGreaterThan(0);
    session.release();
  });

  test('release during a run waits for its end', async () => {
    const session = await open(slow(20));
    const run = session.run({ matrix });
    session.release();
    expect((await run)['after 20']?.shape).toEqual([size, size]);
  });
});

test('openNative: has the version of the library', () => {
  expect(openNative().version).toMatch(/^1\.\d+\.\d+/);
});
