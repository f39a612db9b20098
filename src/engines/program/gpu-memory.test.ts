import { describe, expect, test } from 'vitest';
import { gpuUse, NvidiaSmi, readGpuProcesses, readGpus, visibleGpus } from './gpu-memory.ts';

const processes = 'GPU-a, 100, 2048\nGPU-b, 101, 512\nGPU-a, 300, 1024\nGPU-b, 101, 512\n';
const gpus = 'GPU-a, 0, 81559, 70000, NVIDIA H100 80GB HBM3\nGPU-b, 1, 24576, 20000, NVIDIA RTX, of 24 GB\n';
const mebibyte = 2 ** 20;

test('readGpuProcesses: reads the GPU, the process and its memory', () => {
  expect(readGpuProcesses(processes)[0]).toEqual({ gpu: 'GPU-a', pid: 100, bytes: 2048 * mebibyte });
  expect(readGpuProcesses(processes)).toHaveLength(4);
});

test('readGpuProcesses: leaves out processes of unknown memory, and everything else that is printed', () => {
  const text =
    'GPU-a, 100, [N/A]\r\nGPU-a, 101, [Insufficient Permissions]\r\nGPU-a, 7, 8\r\nNo running processes found\r\n';
  expect(readGpuProcesses(text)).toEqual([{ gpu: 'GPU-a', pid: 7, bytes: 8 * mebibyte }]);
  expect(readGpuProcesses('NVIDIA-SMI has failed because it could not communicate with the driver.')).toEqual([]);
});

test('readGpus: names them as llama.cpp does, also if their own name contains a comma', () => {
  expect(readGpus(gpus)).toMatchObject([
    { id: 'GPU-a', name: 'CUDA0', description: 'NVIDIA H100 80GB HBM3', totalBytes: 81_559 * mebibyte },
    { id: 'GPU-b', name: 'CUDA1', description: 'NVIDIA RTX, of 24 GB', freeBytes: 20_000 * mebibyte },
  ]);
});

/** Of a machine with four of one kind. */
const four = [
  'GPU-1d7c2a36-9f0e-4a55-8c57-2b9c0f3a1b10, 0, 81559, 81079, NVIDIA H100 80GB HBM3',
  'GPU-1d7c5b44-02aa-4f1d-9d6b-6a1f0c8e2c21, 1, 81559, 81079, NVIDIA H100 80GB HBM3',
  'GPU-8e90c0de-77b1-41c9-a3c2-0d4e5f6a7b32, 2, 81559, 40120, NVIDIA H100 80GB HBM3',
  'GPU-f00dbabe-5c3d-4e2f-b1a0-9c8d7e6f5a43, 3, 81559, 81079, NVIDIA H100 80GB HBM3',
].join('\n');

test.each([
  [undefined, ['CUDA0', 'CUDA1', 'CUDA2', 'CUDA3']],
  ['2', ['NVIDIA0', 'NVIDIA1', 'CUDA0', 'NVIDIA3']],
  ['3, 1', ['NVIDIA0', 'CUDA1', 'NVIDIA2', 'CUDA0']],
  ['GPU-8e90c0de-77b1-41c9-a3c2-0d4e5f6a7b32,GPU-f0', ['NVIDIA0', 'NVIDIA1', 'CUDA0', 'CUDA1']],
  // Everything from the first wrong entry on is ignored: an unknown one, one that fits two, one that stands there already.
  ['1,-1,2', ['NVIDIA0', 'CUDA0', 'NVIDIA2', 'NVIDIA3']],
  ['0,GPU-1d7c,2', ['CUDA0', 'NVIDIA1', 'NVIDIA2', 'NVIDIA3']],
  ['0,0,1', ['CUDA0', 'NVIDIA1', 'NVIDIA2', 'NVIDIA3']],
  ['MIG-8e90c0de-77b1-41c9-a3c2-0d4e5f6a7b32', ['NVIDIA0', 'NVIDIA1', 'NVIDIA2', 'NVIDIA3']],
  ['', ['NVIDIA0', 'NVIDIA1', 'NVIDIA2', 'NVIDIA3']],
])('visibleGpus: with CUDA_VISIBLE_DEVICES %j they are called %j', (visible, expected) => {
  expect(visibleGpus(readGpus(four), visible).map(({ name }) => name)).toEqual(expected);
});

test('gpuUse: adds the memory of the own processes on each GPU that they use', () => {
  const used = gpuUse(readGpus(gpus), readGpuProcesses(processes), new Set([101]));
  expect(used).toMatchObject([{ name: 'CUDA1', heldBytes: 1024 * mebibyte }]);
});

describe('NvidiaSmi', () => {
  const parents: Readonly<Record<number, number>> = { 100: 90, 90: 10, 101: 10, 10: 1, 300: 1 };

  function memoryOf(query: (args: readonly string[]) => Promise<string>, visible?: string) {
    const calls = { queries: 0 };
    const memory = new NvidiaSmi({
      query: (args) => {
        calls.queries += 1;
        return query(args);
      },
      parent: async (pid) => parents[pid],
      visible,
    });
    return { memory, calls };
  }
  const answers = async ([first = '']: readonly string[]) => (/compute-apps/.test(first) ? processes : gpus);

  test('counts what a program and its descendants hold', async () => {
    const { memory } = memoryOf(answers);
    expect(await memory.use(10)).toMatchObject([
      { name: 'CUDA0', heldBytes: 2048 * mebibyte },
      { name: 'CUDA1', heldBytes: 1024 * mebibyte },
    ]);
    expect(await memory.use(300)).toMatchObject([{ name: 'CUDA0', heldBytes: 1024 * mebibyte }]);
    expect(await memory.use(42)).toEqual([]);
  });

  test('calls a GPU as the engines of this server do where CUDA_VISIBLE_DEVICES numbers them anew', async () => {
    const { memory } = memoryOf(answers, 'GPU-b');
    expect(await memory.use(10)).toMatchObject([
      { name: 'NVIDIA0', heldBytes: 2048 * mebibyte },
      { name: 'CUDA0', heldBytes: 1024 * mebibyte },
    ]);
  });

  test('asks once for requests that come together, and again later', async () => {
    const { memory, calls } = memoryOf(answers);
    await Promise.all([memory.use(10), memory.use(300)]);
    expect(calls.queries).toBe(2);
    await memory.use(10);
    expect(calls.queries).toBe(4);
  });

  test('without the tool nothing is known, and it is not looked for again', async () => {
    const { memory, calls } = memoryOf(async () => {
      throw Object.assign(new Error('spawn nvidia-smi ENOENT'), { code: 'ENOENT' });
    });
    expect(await memory.use(10)).toEqual([]);
    expect(await memory.use(10)).toEqual([]);
    expect(calls.queries).toBe(1);
  });

  test('a tool that fails or takes too long says nothing this time', async () => {
    let failing = true;
    const { memory } = memoryOf(async (args) => {
      if (failing) throw Object.assign(new Error('killed'), { killed: true });
      return answers(args);
    });
    expect(await memory.use(10)).toBeUndefined();
    failing = false;
    expect(await memory.use(10)).toHaveLength(2);
  });

  test('ends for cyclic parents', async () => {
    const memory = new NvidiaSmi({ query: answers, parent: async (pid) => pid });
    expect(await memory.use(10)).toEqual([]);
  });
});
