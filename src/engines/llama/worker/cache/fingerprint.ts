import { createHash, type Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { type LoadedModel, type LoadOptions, partsOf } from '../../load-options.ts';

type ContextOptions = 'contextSize' | 'contextSizeGiven' | 'trainedContextOverride' | 'rope' | 'addBos';
type CacheOptions = 'cacheType' | 'flashAttention' | 'fullSlidingWindow';
export type ShapingOptions = Pick<LoadOptions, 'model' | 'lora' | 'metadataOverrides' | ContextOptions | CacheOptions>;
type RoundingOptions = Pick<LoadOptions, 'deterministic' | 'threads' | 'batchThreads' | 'microBatchSize'>;

/** A hash of library, weights and the settings that a state depends on. Sequences with media are not saved, so no projector. */
export async function fingerprint(options: ShapingOptions, library: string): Promise<string> {
  const { cacheType, flashAttention, rope, contextSize, contextSizeGiven, trainedContextOverride, lora } = options;
  const { metadataOverrides, fullSlidingWindow, addBos } = options;
  const scales = lora.map(({ scale }) => scale);
  const settings = { cacheType, flashAttention, rope, scales, metadataOverrides, fullSlidingWindow, addBos };
  const stretch = contextSizeGiven ? { contextSize, trainedContextOverride } : { trainedContextOverride };
  const hash = createHash('sha256').update(JSON.stringify([library, settings, stretch]));
  for (const path of [...partsOf(options.model), ...lora.map(({ path }) => path)]) await addFile(hash, path);
  return hash.digest('hex');
}

/** The library, and with `--deterministic` everything that the rounding of cached values depends on. */
export function computerName(
  library: string,
  { deterministic, threads, batchThreads, microBatchSize }: RoundingOptions,
  { cpuVariant, gpuLayers }: Pick<LoadedModel, 'cpuVariant' | 'gpuLayers'>,
): string {
  if (!deterministic) return library;
  return JSON.stringify([library, cpuVariant, gpuLayers, threads, batchThreads, microBatchSize]);
}

const pieceBytes = 64 * 2 ** 10;
const spreadPieces = 64;
/** The header of a model is at its beginning. */
const firstPieces = 16;

/** Reading a whole model takes too long: its beginning, spread pieces and its end identify it. */
export function sampleOffsets(size: number): readonly number[] {
  const last = Math.max(0, size - pieceBytes);
  const first = Array.from({ length: firstPieces }, (_, index) => index * pieceBytes);
  const spread = Array.from({ length: spreadPieces }, (_, index) => Math.floor((last * index) / (spreadPieces - 1)));
  return [...new Set([...first, ...spread])].filter((offset) => offset <= last);
}

async function addFile(hash: Hash, path: string): Promise<void> {
  // A whole model may be named like a part; files that the library needs were just loaded.
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return;
  try {
    const { size, mtimeMs } = await file.stat();
    hash.update(JSON.stringify([size, mtimeMs]));
    const piece = Buffer.alloc(pieceBytes);
    for (const offset of sampleOffsets(size)) {
      const { bytesRead } = await file.read(piece, 0, pieceBytes, offset);
      hash.update(piece.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
