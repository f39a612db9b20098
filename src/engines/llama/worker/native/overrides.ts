import type { LoadOptions, MetadataOverride } from '../../load-options.ts';
import type { Native } from './native.ts';
import type { Pointer } from './structs.ts';

const overrideBytes = 264;
const overrideTags = { int: 0, float: 1, bool: 2, str: 3 } as const;

/** `struct { int tag; char key[128]; union of 128 bytes }`, ended by an entry with an empty key. */
export function kvOverrides(list: readonly MetadataOverride[]): Uint8Array | null {
  if (list.length === 0) return null;
  const memory = Buffer.alloc(overrideBytes * (list.length + 1));
  list.forEach(({ key, type, value }, index) => {
    const start = index * overrideBytes;
    memory.writeInt32LE(overrideTags[type], start);
    memory.write(key, start + 4, 127);
    const place = start + 136;
    if (type === 'int') memory.writeBigInt64LE(BigInt(value), place);
    if (type === 'float') memory.writeDoubleLE(Number(value), place);
    if (type === 'bool') memory.writeUInt8(value === 'true' || value === '1' ? 1 : 0, place);
    if (type === 'str') memory.write(value, place, 127);
  });
  return memory;
}

/** Pairs of a pattern and a buffer type, ended by a pair of nulls. The patterns must live until the weights are read. */
export function tensorOverrides(
  native: Native,
  { tensorOverrides: list }: Pick<LoadOptions, 'tensorOverrides'>,
): { list: Uint8Array | null; release: () => void } {
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
