/** The vector with length 1; one that is nothing but zeros stays what it is. */
export function unit(vector: Float32Array): Float32Array {
  return scaled(vector, Math.sqrt(vector.reduce((sum, entry) => sum + entry * entry, 0)));
}

/** Its first entries alone, with length 1 again: what is left of a vector that was made for it keeps its meaning. */
export function shortened(vector: Float32Array, dimensions: number): Float32Array {
  return unit(vector.subarray(0, dimensions));
}

/** -1 leaves the vector as it is, 0 brings its largest entry to 32760, and p makes its p-norm 1. */
export function normalised(vector: Float32Array, norm: number): Float32Array {
  if (norm < 0) return vector;
  if (norm === 2) return unit(vector);
  const largest = vector.reduce((most, entry) => Math.max(most, Math.abs(entry)), 0);
  if (norm === 0) return scaled(vector, largest / 32_760);
  if (largest === 0) return vector;
  // By the largest first: a high power of anything else is infinite or nothing.
  const sum = vector.reduce((before, entry) => before + (Math.abs(entry) / largest) ** norm, 0);
  return scaled(vector, largest * sum ** (1 / norm));
}

/** How near two vectors are: 1 for the same direction, 0 for none in common. */
export function cosine(left: Float32Array, right: Float32Array): number {
  const [one, other] = [unit(left), unit(right)];
  return one.reduce((sum, entry, index) => sum + entry * (other[index] ?? 0), 0);
}

function scaled(vector: Float32Array, length: number): Float32Array {
  return length > 0 && Number.isFinite(length) ? vector.map((entry) => entry / length) : vector;
}
