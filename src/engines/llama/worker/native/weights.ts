import { type GpuMemory, type GpuUse, namedGpus } from '../../../../core/gpu-memory.ts';
import type { LoadOptions, MetadataOverride } from '../../load-options.ts';
import { placementProblem } from '../../memory-fit.ts';
import type { Native } from './native.ts';
import type { ModelParams, Pointer } from './structs.ts';

/** The library refused the file; its reason is on standard error. */
export class NativeLoadError extends Error {}

type Overrides = Pick<LoadOptions, 'metadataOverrides' | 'tensorOverrides'>;
type Placement = Pick<LoadOptions, 'mainGpu' | 'tensorSplit' | 'splitMode' | 'loadMode'>;

export const loadModes = { auto: -1, mmap: 1, mlock: 2, 'mmap+mlock': 3, 'direct-io': 4 } as const;
export const splitModes = { layer: 1, row: 2 } as const;
/** GPUs, and those that share the memory of the processor. */
export const gpuTypes: Readonly<Record<string, number>> = { gpu: 1, igpu: 2 };

export async function loadWeights(
  native: Native,
  options: Pick<LoadOptions, 'model'> & Placement & Overrides & { readonly prediction?: boolean },
  gpus: readonly Pointer[],
  gpuLayers: number,
  progress: (fraction: number) => void,
): Promise<Pointer> {
  const deviceList = new BigUint64Array([...gpus, 0n]);
  const split = new Float32Array(16);
  split.set(options.tensorSplit.slice(0, split.length));
  let reported = -1;
  const callback = native.progressCallback((fraction) => {
    const percent = Math.floor(fraction * 100);
    if (percent > reported) progress(fraction);
    reported = percent;
    return true;
  });
  const overrides = tensorOverrides(native, options);
  const params: ModelParams = {
    ...native.modelDefaults(),
    devices: new Uint8Array(deviceList.buffer),
    n_gpu_layers: gpuLayers,
    split_mode: splitModes[options.splitMode],
    load_mode: loadModes[options.loadMode],
    main_gpu: Math.max(0, options.mainGpu),
    tensor_split: options.tensorSplit.length > 0 ? split : null,
    progress_callback: callback.pointer,
    kv_overrides: kvOverrides(options.metadataOverrides),
    tensor_buft_overrides: overrides.list,
    load_mtp: options.prediction ?? false,
  };
  try {
    const model = await native.modelLoad(options.model, params);
    if (!model) throw new NativeLoadError();
    return model;
  } finally {
    callback.release();
    overrides.release();
  }
}

type GpuOptions = Pick<LoadOptions, 'devices' | 'tensorSplit' | 'mainGpu'>;

/** The devices for the model: those named by the user, or every GPU. Throws if flags name GPUs that are not here. */
export function gpuDevices(
  native: Native,
  options: Pick<LoadOptions, 'backend' | 'gpuLayers'> & GpuOptions,
): readonly Pointer[] {
  if (options.backend === 'cpu' || options.gpuLayers === 0) return [];
  const gpus = allGpus(native);
  if (gpus.length === 0) return [];
  // Without their memory: reading it allocates some on every GPU.
  const all = gpus.map((device) => ({ ...gpuNames(native, device), device }));
  const problem = placementProblem(options, all);
  if (problem !== undefined) throw new Error(problem);
  return namedGpus(all, options.devices).map(({ device }) => device);
}

/** Every GPU of the loaded backends. */
export function allGpus(native: Native): readonly Pointer[] {
  const all = Array.from({ length: native.deviceCount() }, (_, index) => native.device(index));
  return all.filter((device) => Object.values(gpuTypes).includes(native.deviceType(device)));
}

/** The present free and total memory of these GPUs. */
export function readGpus(native: Native, gpus: readonly Pointer[]): readonly GpuMemory[] {
  return gpus.map((device) => {
    const [free, total]: [[number | null], [number | null]] = [[null], [null]];
    native.deviceMemory(device, free, total);
    return { ...gpuNames(native, device), freeBytes: Number(free[0] ?? 0), totalBytes: Number(total[0] ?? 0) };
  });
}

function gpuNames(native: Native, device: Pointer) {
  return { name: native.deviceName(device), description: native.deviceDescription(device) };
}

/** The memory that a load has taken on each GPU. The driver's own memory for this process was allocated before. */
export function gpuUse(before: readonly GpuMemory[], after: readonly GpuMemory[]): readonly GpuUse[] {
  return after.map((gpu, index) => ({
    ...gpu,
    heldBytes: Math.max(0, (before[index]?.freeBytes ?? gpu.freeBytes) - gpu.freeBytes),
  }));
}

/** Where the fields of `struct { int tag; char key[128]; union of 128 bytes }` begin, and its length. */
export const overrideLayout = { tag: 0, key: 4, value: 136, bytes: 264 } as const;
export const overrideTags = { int: 0, float: 1, bool: 2, str: 3 } as const;

/** A list that is ended by an entry with an empty key. */
export function kvOverrides(list: readonly MetadataOverride[]): Uint8Array | null {
  if (list.length === 0) return null;
  const memory = Buffer.alloc(overrideLayout.bytes * (list.length + 1));
  list.forEach(({ key, type, value }, index) => {
    const start = index * overrideLayout.bytes;
    memory.writeInt32LE(overrideTags[type], start + overrideLayout.tag);
    memory.write(key, start + overrideLayout.key, 127);
    const valueOffset = start + overrideLayout.value;
    if (type === 'int') memory.writeBigInt64LE(BigInt(value), valueOffset);
    if (type === 'float') memory.writeDoubleLE(Number(value), valueOffset);
    if (type === 'bool') memory.writeUInt8(value === 'true' || value === '1' ? 1 : 0, valueOffset);
    if (type === 'str') memory.write(value, valueOffset, 127);
  });
  return memory;
}

/** Pairs of a pattern and a buffer type, ended by a pair of nulls. The patterns must live until the weights are read. */
export function tensorOverrides(native: Native, { tensorOverrides: list }: Pick<LoadOptions, 'tensorOverrides'>) {
  if (list.length === 0) return { list: null, release: () => {} };
  const patterns = list.map(({ pattern }) => nativeString(native, pattern));
  const pairs = new BigUint64Array(2 * (list.length + 1));
  list.forEach(({ buffer }, index) => {
    pairs[2 * index] = BigInt(patterns[index] as Pointer);
    pairs[2 * index + 1] = BigInt(bufferType(native, buffer));
  });
  return { list: new Uint8Array(pairs.buffer), release: () => patterns.forEach(native.free) };
}

function bufferType(native: Native, name: string): Pointer {
  if (name.toUpperCase() === 'CPU') return native.cpuBufferType();
  for (let index = 0; index < native.deviceCount(); index += 1) {
    const device = native.device(index);
    if (native.deviceName(device).toLowerCase() === name.toLowerCase()) return native.deviceBufferType(device);
  }
  throw new Error(`--overridetensors names the device ${name}, which is not here`);
}

function nativeString(native: Native, text: string): Pointer {
  const bytes = Buffer.from(`${text}\0`);
  const pointer = native.alloc(bytes.length);
  new Uint8Array(native.view(pointer, bytes.length)).set(bytes);
  return pointer;
}
