import { expect, test } from 'vitest';
import type { Native } from './native.ts';
import { gpuDevices, gpuUse, kvOverrides, readGpus, tensorOverrides } from './weights.ts';

const entryBytes = 264;
const text = (memory: Uint8Array, start: number) => {
  const bytes = Buffer.from(memory.subarray(start, start + 128));
  return bytes.subarray(0, bytes.indexOf(0)).toString();
};

test('kvOverrides: values at their native offsets, with an empty key as terminator', () => {
  const memory = Buffer.from(
    kvOverrides([
      { key: 'a.count', type: 'int', value: '-7' },
      { key: 'a.scale', type: 'float', value: '0.5' },
      { key: 'a.flag', type: 'bool', value: 'true' },
      { key: 'a.name', type: 'str', value: 'Grüße' },
    ]) ?? new Uint8Array(),
  );
  expect(memory.length).toBe(5 * entryBytes);
  expect([0, 1, 2, 3].map((index) => memory.readInt32LE(index * entryBytes))).toEqual([0, 1, 2, 3]);
  expect([0, 1, 2, 3, 4].map((index) => text(memory, index * entryBytes + 4))).toEqual([
    'a.count',
    'a.scale',
    'a.flag',
    'a.name',
    '',
  ]);
  expect(memory.readBigInt64LE(136)).toBe(-7n);
  expect(memory.readDoubleLE(entryBytes + 136)).toBe(0.5);
  expect(memory.readUInt8(2 * entryBytes + 136)).toBe(1);
  expect(text(memory, 3 * entryBytes + 136)).toBe('Grüße');
});

test('kvOverrides: undefined without overrides', () => {
  expect(kvOverrides([])).toBeNull();
  expect(tensorOverrides({} as Native, { tensorOverrides: [] }).list).toBeNull();
});

/** Memory by address, as the library would see it. */
function fakeNative() {
  const blocks = new Map<number, ArrayBuffer>();
  const native = {
    alloc: (bytes: number) => {
      const address = 1000 * (blocks.size + 1);
      blocks.set(address, new ArrayBuffer(bytes));
      return address;
    },
    free: (address: number) => blocks.delete(address),
    view: (address: number) => blocks.get(address),
    cpuBufferType: () => 11,
    deviceCount: () => 1,
    device: () => 5,
    deviceName: () => 'Vulkan0',
    deviceBufferType: () => 22,
  };
  return { native: native as unknown as Native, blocks };
}

test('tensorOverrides: pairs of pattern and device with a terminator, alive until released', () => {
  const { native, blocks } = fakeNative();
  const { list, release } = tensorOverrides(native, {
    tensorOverrides: [
      { pattern: 'ffn_.*', buffer: 'cpu' },
      { pattern: 'attn', buffer: 'vulkan0' },
    ],
  });
  const pairs = [...new BigUint64Array((list as Uint8Array<ArrayBuffer>).buffer)].map(Number);
  expect(pairs).toEqual([1000, 11, 2000, 22, 0, 0]);
  expect(Buffer.from(blocks.get(1000) ?? new ArrayBuffer()).toString()).toBe('ffn_.*\0');
  release();
  expect(blocks.size).toBe(0);
});

test('tensorOverrides: an unknown device is named in the error', () => {
  const { native } = fakeNative();
  expect(() => tensorOverrides(native, { tensorOverrides: [{ pattern: 'x', buffer: 'CUDA9' }] })).toThrow(/CUDA9/);
});

/** A CPU and two GPUs. */
function gpusNative(free: readonly number[] = [0, 10, 20]) {
  const names = ['CPU', 'CUDA0', 'CUDA1'];
  return {
    deviceCount: () => 3,
    device: (index: number) => index,
    deviceType: (device: number) => (device === 0 ? 0 : 1),
    deviceName: (device: number) => names[device],
    deviceDescription: (device: number) => `card ${device}`,
    deviceMemory: (device: number, into: number[], total: number[]) => {
      into[0] = free[device] ?? 0;
      total[0] = 30;
    },
  } as unknown as Native;
}

const anyGpu = { backend: 'auto', gpuLayers: 'auto', devices: [], tensorSplit: [], mainGpu: -1 } as const;

test('gpuDevices: all GPUs, the named ones, or none', () => {
  const native = gpusNative();
  expect(gpuDevices(native, { ...anyGpu, tensorSplit: [] })).toEqual([1, 2]);
  expect(gpuDevices(native, { ...anyGpu, devices: ['1'], tensorSplit: [] })).toEqual([2]);
  expect(gpuDevices(native, { ...anyGpu, gpuLayers: 0, tensorSplit: [] })).toEqual([]);
  expect(gpuDevices(native, { ...anyGpu, backend: 'cpu', tensorSplit: [] })).toEqual([]);
});

test('gpuDevices: refuses a GPU that does not exist', () => {
  expect(() => gpuDevices(gpusNative(), { ...anyGpu, devices: ['2'], tensorSplit: [] })).toThrow(
    'the card 2 (--usecuda, --usevulkan, --device) is not here; there are 0 (CUDA0, card 1), 1 (CUDA1, card 2)',
  );
});

test('readGpus, gpuUse: free and total memory, and what was taken in between', () => {
  const [before, after] = [
    [0, 10, 20],
    [0, 4, 25],
  ].map((free) => readGpus(gpusNative(free), [1, 2] as never));
  expect(before?.[0]).toEqual({ name: 'CUDA0', description: 'card 1', freeBytes: 10, totalBytes: 30 });
  expect(gpuUse(before ?? [], after ?? []).map(({ heldBytes }) => heldBytes)).toEqual([6, 0]);
});
