import type { TensorSource } from '../../scripts/conversion/gguf-file.ts';
import { Random } from '../../src/sampling/random.ts';

/** Tensors of random weights; the shapes are written as rows × columns, the other way round than in the file. */
export function weights(seed: number) {
  const random = new Random(seed);
  const tensors: TensorSource[] = [];
  const put = (name: string, shape: readonly number[], value: () => number) => {
    const data = Float32Array.from({ length: shape.reduce((size, side) => size * side, 1) }, value);
    tensors.push({ name, shape: shape.toReversed(), type: 'F32', data });
  };
  return {
    tensors,
    /** The kernels of convolutions must be 16-bit floats. */
    kernel: (name: string, shape: readonly number[], spread: number) => {
      const data = Uint16Array.from({ length: shape.reduce((size, side) => size * side, 1) }, () =>
        halfBits((random.next() - 0.5) * 2 * spread),
      );
      tensors.push({ name, shape: shape.toReversed(), type: 'F16', data });
    },
    random: (name: string, shape: readonly number[], spread: number) =>
      put(name, shape, () => (random.next() - 0.5) * 2 * spread),
    constant: (name: string, shape: readonly number[], value: number) => put(name, shape, () => value),
    matrix: (name: string, rows: number, columns: number, { bias = true } = {}) => {
      const spread = Math.sqrt(3 / columns);
      put(`${name}.weight`, [rows, columns], () => (random.next() - 0.5) * 2 * spread);
      if (bias) put(`${name}.bias`, [rows], () => (random.next() - 0.5) * 0.2);
    },
    norm: (name: string, width: number, { bias = true } = {}) => {
      put(`${name}.weight`, [width], () => 1);
      if (bias) put(`${name}.bias`, [width], () => 0);
    },
  };
}

/** Values that a 16-bit float cannot hold in its usual form become 0. */
export function halfBits(value: number): number {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0] as number;
  const exponent = ((bits >>> 23) & 0xff) - 112;
  return exponent <= 0 ? 0 : ((bits >>> 16) & 0x8000) | (exponent << 10) | ((bits >>> 13) & 0x3ff);
}
