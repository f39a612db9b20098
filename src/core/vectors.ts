/** The vector scaled to length 1; a zero vector is unchanged. */
export function unit(vector: Float32Array): Float32Array {
  return scaled(vector, Math.sqrt(vector.reduce((sum, entry) => sum + entry * entry, 0)));
}

/** The first entries, scaled to length 1 again (Matryoshka embeddings). */
export function shortened(vector: Float32Array, dimensions: number): Float32Array {
  return unit(vector.subarray(0, dimensions));
}

/** -1: unchanged; 0: the largest entry becomes 32760; p: the p-norm becomes 1. */
export function normalised(vector: Float32Array, norm: number): Float32Array {
  if (norm < 0) return vector;
  if (norm === 2) return unit(vector);
  const largest = vector.reduce((most, entry) => Math.max(most, Math.abs(entry)), 0);
  if (norm === 0) return scaled(vector, largest / 32_760);
  if (largest === 0) return vector;
  // Divided by the largest first, because high powers overflow.
  const sum = vector.reduce((before, entry) => before + (Math.abs(entry) / largest) ** norm, 0);
  return scaled(vector, largest * sum ** (1 / norm));
}

export function cosine(left: Float32Array, right: Float32Array): number {
  const [one, other] = [unit(left), unit(right)];
  return one.reduce((sum, entry, index) => sum + entry * (other[index] ?? 0), 0);
}

function scaled(vector: Float32Array, length: number): Float32Array {
  return length > 0 && Number.isFinite(length) ? vector.map((entry) => entry / length) : vector;
}
