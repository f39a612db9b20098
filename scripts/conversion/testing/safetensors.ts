/** Values that a 16-bit float holds exactly, as such. */
export function halves(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, index) => {
    bytes.writeUInt16LE(half(value), index * 2);
  });
  return bytes;
}

function half(value: number): number {
  if (value === 0) return 0;
  const exponent = Math.floor(Math.log2(Math.abs(value)));
  const fraction = Math.round((Math.abs(value) / 2 ** exponent - 1) * 1024);
  return (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | fraction;
}

export interface TensorToStore {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: readonly number[];
  readonly type?: string;
}

/** A file of 16-bit floats. */
export function safetensors(tensors: readonly TensorToStore[]): Buffer {
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  const chunks: Buffer[] = [];
  let offset = 0;
  for (const { name, shape, values, type = 'F16' } of tensors) {
    const bytes = halves(values);
    header[name] = { dtype: type, shape, data_offsets: [offset, offset + bytes.length] };
    offset += bytes.length;
    chunks.push(bytes);
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, ...chunks]);
}
