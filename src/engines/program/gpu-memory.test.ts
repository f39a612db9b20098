import { describe, expect, test } from 'vitest';
import { GpuMemory, gpuUse, readGpuProcesses, readGpus } from './gpu-memory.ts';

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

test('gpuUse: adds the memory of the own processes on each GPU that they use', () => {
  const used = gpuUse(readGpus(gpus), readGpuProcesses(processes), new Set([101]));
  expect(used).toMatchObject([{ name: 'CUDA1', heldBytes: 1024 * mebibyte }]);
});

describe('GpuMemory', () => {
  const parents: Readonly<Record<number, number>> = { 100: 90, 90: 10, 101: 10, 10: 1, 300: 1 };

  function memoryOf(query: (args: readonly string[]) => Promise<string>) {
    const calls = { queries: 0 };
    const memory = new GpuMemory({
      query: (args) => {
        calls.queries += 1;
        return query(args);
      },
      parent: async (pid) => parents[pid],
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
    const memory = new GpuMemory({ query: answers, parent: async (pid) => pid });
    expect(await memory.use(10)).toEqual([]);
  });
});
