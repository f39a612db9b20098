/** A tensor of a safetensors file: its bytes as they stand there. */
export interface StoredTensor {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

interface HeaderEntry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

const lengthBytes = 8;

/** A JSON header behind its length, and then the bytes that it speaks of. Throws one sentence for anything else. */
export function readSafetensors(file: Uint8Array): readonly StoredTensor[] {
  if (file.byteLength < lengthBytes) throw new Error('the safetensors file is too short');
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const start = lengthBytes + Number(view.getBigUint64(0, true));
  if (start > file.byteLength) throw new Error('the header of the safetensors file is cut off');
  return entriesOf(file.subarray(lengthBytes, start)).map(
    ([
      name,
      {
        dtype,
        shape,
        data_offsets: [from, to],
      },
    ]) => {
      if (!(from <= to && start + to <= file.byteLength))
        throw new Error(`${name} lies outside of the safetensors file`);
      return { name, type: dtype, shape, bytes: file.subarray(start + from, start + to) };
    },
  );
}

function entriesOf(bytes: Uint8Array): readonly [string, HeaderEntry][] {
  let header: Readonly<Record<string, HeaderEntry>>;
  try {
    header = JSON.parse(Buffer.from(bytes).toString());
  } catch (error) {
    throw new Error('the header of the safetensors file is no JSON', { cause: error });
  }
  return Object.entries(header).filter(([name]) => name !== '__metadata__');
}

/** 16-bit floats as 32-bit ones, exactly. */
export function widened(halves: Uint8Array): Float32Array {
  const view = new DataView(halves.buffer, halves.byteOffset, halves.byteLength);
  return Float32Array.from({ length: halves.byteLength / 2 }, (_, index) => fromHalf(view.getUint16(index * 2, true)));
}

function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
