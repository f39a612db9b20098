export interface WeightSource {
  readonly count: number;
  /** Standard deviation of the weights. */
  readonly spread: number;
  readonly seed: number;
}

const blockWeights = 32;
const blockBytes = 34;
const blocksPerChunk = 32_768;

/** Q8_0 blocks made directly: one scale for all, and evenly spread bytes. */
export function* q8Weights({ count, spread, seed }: WeightSource): Generator<Uint8Array> {
  const next = generator(seed);
  // Bytes from -127 to 127, all alike, have a standard deviation of 127 / √3.
  const scale = halfBits((spread * Math.sqrt(3)) / 127);
  const blocks = count / blockWeights;
  for (let done = 0; done < blocks; done += blocksPerChunk) {
    const bytes = new Uint8Array(Math.min(blocksPerChunk, blocks - done) * blockBytes);
    for (let start = 0; start < bytes.length; start += blockBytes) {
      bytes[start] = scale & 255;
      bytes[start + 1] = scale >>> 8;
      for (let at = start + 2; at < start + blockBytes; at += 4) {
        const word = next();
        bytes[at] = quant(word & 255);
        bytes[at + 1] = quant((word >>> 8) & 255);
        bytes[at + 2] = quant((word >>> 16) & 255);
        bytes[at + 3] = quant(word >>> 24);
      }
    }
    yield bytes;
  }
}

/** -128 is the one byte that quantisers never write. */
function quant(byte: number): number {
  return byte === 128 ? 0 : byte;
}

/** Half floats, drawn from a table of evenly spread values, since converting each would take most of the time. */
export function* f16Weights({ count, spread, seed }: WeightSource): Generator<Uint8Array> {
  const next = generator(seed);
  const reach = spread * Math.sqrt(3);
  const table = Uint16Array.from({ length: 4096 }, (_, index) => halfBits(((index - 2047.5) / 2047.5) * reach));
  const chunk = blockWeights * blocksPerChunk;
  for (let done = 0; done < count; done += chunk) {
    const weights = new Uint16Array(Math.min(chunk, count - done));
    for (let at = 0; at < weights.length; at += 1) weights[at] = table[next() >>> 20] as number;
    yield new Uint8Array(weights.buffer);
  }
}

/** Whole 32-bit numbers; quick, and good enough for weights that mean nothing. */
function generator(seed: number): () => number {
  // A seed mixed well, and never zero, in which this generator would stay.
  let state = Math.imul(seed ^ 0x85ebca6b, 0xc2b2ae35) >>> 0 || 1;
  state = (state ^ (state >>> 15)) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** The bits of the nearest half float for values of ordinary size; tiny ones become zero. */
export function halfBits(value: number): number {
  const bits = new Uint32Array(new Float32Array([value]).buffer)[0] as number;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 255) - 127 + 15;
  if (exponent <= 0) return exponent < -10 ? sign : sign | (((bits & 0x7fffff) | 0x800000) >>> (14 - exponent));
  if (exponent >= 31) return sign | 0x7c00;
  // Rounding may carry into the exponent, which is just what it should do.
  return sign | (((exponent << 10) | ((bits >>> 13) & 0x3ff)) + ((bits >>> 12) & 1));
}
