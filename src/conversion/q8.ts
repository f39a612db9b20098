/** Weights of a block, which share one scale. */
const blockLength = 32;
const blockBytes = 2 + blockLength;

/** Weights as Q8_0: for each block of 32 a 16-bit scale, then 32 signed bytes. The same weights give the same bytes. */
export function quantisedToQ8(values: Float32Array): Uint8Array {
  if (values.length % blockLength !== 0) throw new RangeError(`${values.length} weights are no whole blocks of Q8_0`);
  const bytes = new Uint8Array((values.length / blockLength) * blockBytes);
  const view = new DataView(bytes.buffer);
  for (let block = 0; block * blockLength < values.length; block += 1) {
    const own = values.subarray(block * blockLength, (block + 1) * blockLength);
    const largest = own.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const inverse = largest === 0 ? 0 : 127 / largest;
    view.setUint16(block * blockBytes, halfOf(largest / 127), true);
    for (const [index, value] of own.entries()) {
      view.setInt8(block * blockBytes + 2 + index, Math.round(value * inverse));
    }
  }
  return bytes;
}

const scratch = new DataView(new ArrayBuffer(4));

/** The bits of the nearest 16-bit float, to even where two are equally near. For values of 0 and above. */
function halfOf(value: number): number {
  scratch.setFloat32(0, value);
  const bits = scratch.getUint32(0);
  const exponent = (bits >>> 23) - 112;
  if (exponent >= 31) throw new RangeError(`${value} is too large for a 16-bit float`);
  if (exponent < -10) return 0;
  // Below the smallest exponent the leading one is written out, and the fraction is shorter by so much.
  const dropped = exponent > 0 ? 13 : 14 - exponent;
  const fraction = exponent > 0 ? bits & 0x7fffff : (bits & 0x7fffff) | 0x800000;
  const kept = (exponent > 0 ? exponent << 10 : 0) + (fraction >>> dropped);
  const rest = fraction & ((1 << dropped) - 1);
  const middle = 1 << (dropped - 1);
  return kept + (rest > middle || (rest === middle && (kept & 1) === 1) ? 1 : 0);
}
