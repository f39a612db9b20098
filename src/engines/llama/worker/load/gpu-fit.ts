export interface GpuFit {
  readonly modelBytes: number;
  readonly layers: number;
  readonly cacheBytes: number;
  readonly freeBytes: number;
  readonly marginBytes: number;
}

/**
 * How many layers fit beside their share of the cache. The output layer counts as one more (a full offload is
 * `layers + 1`), and the margin stays free for the compute buffers and for everybody else's windows.
 */
export function layersThatFit({ modelBytes, layers, cacheBytes, freeBytes, marginBytes }: GpuFit): number {
  const perLayer = (modelBytes + cacheBytes) / (layers + 1);
  const fitting = Math.floor((freeBytes - marginBytes) / perLayer);
  return Math.max(0, Math.min(layers + 1, fitting));
}
