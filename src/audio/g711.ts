/** Telephone speech (ITU-T G.711): one byte per sample, at 8000 Hz. */
export type G711Law = 'ulaw' | 'alaw';

export const g711Rate = 8000;

export function decodeG711(law: G711Law, bytes: Uint8Array): Int16Array {
  const table = law === 'ulaw' ? ulawSamples : alawSamples;
  return Int16Array.from(bytes, (byte) => table[byte] as number);
}

/** A function of one byte, with a result between -1 and 1. */
export function g711Reader(law: G711Law): (byte: number) => number {
  const table = law === 'ulaw' ? ulawSamples : alawSamples;
  return (byte) => (table[byte] as number) / 32_768;
}

export function encodeG711(law: G711Law, samples: Int16Array): Uint8Array {
  return Uint8Array.from(samples, law === 'ulaw' ? ulawByte : alawByte);
}

const ulawBias = 0x84;
const ulawMost = 32_635;

const ulawSamples = Int16Array.from({ length: 256 }, (_, byte) => {
  const bits = ~byte & 0xff;
  const magnitude = ((((bits & 0x0f) << 3) + ulawBias) << ((bits & 0x70) >> 4)) - ulawBias;
  return bits & 0x80 ? -magnitude : magnitude;
});

const alawSamples = Int16Array.from({ length: 256 }, (_, byte) => {
  const bits = byte ^ 0x55;
  const segment = (bits & 0x70) >> 4;
  const step = (bits & 0x0f) << 4;
  const magnitude = segment === 0 ? step + 8 : (step + 0x108) << (segment - 1);
  return bits & 0x80 ? magnitude : -magnitude;
});

function ulawByte(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(Math.abs(sample), ulawMost) + ulawBias;
  const segment = Math.max(0, 24 - Math.clz32(magnitude));
  return ~(sign | (segment << 4) | ((magnitude >> (segment + 3)) & 0x0f)) & 0xff;
}

function alawByte(sample: number): number {
  const sign = sample >= 0 ? 0x80 : 0;
  const magnitude = Math.min(sample >= 0 ? sample : -sample - 1, 32_767);
  const segment = Math.max(0, 24 - Math.clz32(magnitude));
  const step = segment === 0 ? magnitude >> 4 : magnitude >> (segment + 3);
  return (sign | (segment << 4) | (step & 0x0f)) ^ 0x55;
}
