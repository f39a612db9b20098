import type { FillMarks } from '../../core/text-service.ts';

/** What a package of the engine computes with beside the processor. */
export type GpuBuild = 'cuda' | 'cuda-ext' | 'vulkan' | 'metal' | 'none';

/** How a text model is to be loaded, in words that survive the way into the worker process as JSON. */
export interface LoadOptions {
  readonly model: string;
  /** The name shown to people and clients. */
  readonly name: string;
  readonly contextSize: number;
  /** A context that the user asked for is kept beyond the model's training (with RoPE stretched); a default is not. */
  readonly contextSizeGiven: boolean;
  readonly trainedContextOverride: number;
  readonly sequences: number;
  readonly batchSize: number;
  readonly microBatchSize: number;
  readonly threads: number;
  readonly batchThreads: number;
  readonly backend: 'auto' | 'cpu' | 'vulkan' | 'cuda';
  readonly gpuLayers: number | 'auto';
  readonly memoryMarginMegabytes: number;
  /** What the file's header says, for an estimate of what fits where. */
  readonly shape: ModelShape;
  readonly mainGpu: number;
  readonly devices: readonly string[];
  readonly tensorSplit: readonly number[];
  readonly splitMode: 'layer' | 'row' | 'none';
  readonly offloadCache: boolean;
  readonly flashAttention: boolean;
  readonly cacheType: CacheType;
  readonly fullSlidingWindow: boolean;
  /** `scale` 0 leaves both to the model. */
  readonly rope: { readonly scale: number; readonly base: number };
  readonly metadataOverrides: readonly MetadataOverride[];
  readonly tensorOverrides: readonly { readonly pattern: string; readonly buffer: string }[];
  readonly loadMode: 'auto' | 'read' | 'mmap' | 'mmap+mlock' | 'mlock' | 'direct-io';
  readonly lora: readonly { readonly path: string; readonly scale: number }[];
  /** What lets the model take in pictures or sound. */
  readonly projector: ProjectorOptions | undefined;
  readonly guidance: boolean;
  readonly contextShift: boolean;
  readonly reusePrompt: boolean;
  readonly addBos: boolean;
  /** A text depends on its request alone: neither on who else is served nor on what the cache holds. */
  readonly deterministic: boolean;
  readonly draft: DraftOptions | undefined;
  /** How many snapshots of lost chats are kept in memory. */
  readonly smartCache: number;
  /** How many places there are for states that somebody wants to put aside. */
  readonly statePlaces: number;
  readonly diskCache: { readonly folder: string; readonly bytes: number } | undefined;
  /** Which CPU builds may be used: all, those without AVX2, or those without AVX. */
  readonly cpuLevel: 'best' | 'no-avx2' | 'no-avx';
  /** The CPU build that somebody wants; undefined leaves the choice to us. */
  readonly cpuBuild: string | undefined;
  /** How many of the best CPU builds to pass over, because they died of an illegal instruction. */
  readonly skipCpuVariants: number;
  /** GPU builds that were tried and cannot be used on this machine. */
  readonly failedGpuBuilds: readonly GpuBuild[];
}

export interface ProjectorOptions {
  readonly path: string;
  readonly useGpu: boolean;
  /** A larger picture is scaled down until its longer side has this many pixels. */
  readonly longestSide: number;
  /** How many tokens a picture takes; -1 leaves it to the projector. */
  readonly minimumTokens: number;
  readonly maximumTokens: number;
}

/** How the next tokens are guessed, to be confirmed all at once: from the text itself, by a small model, or both. */
export interface DraftOptions {
  readonly amount: number;
  /** Guess what followed the last so many tokens before; 0 looks nothing up. */
  readonly pattern: number;
  readonly model: { readonly path: string; readonly gpuLayers: number } | undefined;
}

export interface ModelShape {
  readonly architecture: string;
  readonly layers: number;
  /** 0 where the file does not say it. */
  readonly trainedContext: number;
  readonly sizeBytes: number;
  /** Keys and values of one token over all layers, at 16 bits. */
  readonly cacheBytesPerToken: number;
}

export const cacheTypes = { f16: 1, bf16: 30, q8_0: 8, q5_1: 7, q4_0: 2 } as const;
export type CacheType = keyof typeof cacheTypes;

export interface MetadataOverride {
  readonly key: string;
  readonly type: 'int' | 'float' | 'bool' | 'str';
  readonly value: string;
}

/** What the worker found out while loading. */
export interface LoadedModel {
  readonly contextSize: number;
  readonly trainedContext: number;
  readonly vocabularySize: number;
  /** By llama.cpp's numbers. */
  readonly vocabularyType: number;
  readonly embeddingLength: number;
  readonly parameters: number;
  readonly sizeBytes: number;
  readonly description: string;
  readonly chatTemplate: string | null;
  readonly specialTokens: { readonly bos: string; readonly eos: string };
  readonly layers: number;
  readonly gpuLayers: number;
  readonly devices: readonly string[];
  readonly cpuVariant: string;
  readonly fillMarks?: FillMarks | undefined;
  readonly inputs: { readonly image: boolean; readonly audio: boolean };
  readonly notes: readonly string[];
}

type Wish = Pick<LoadOptions, 'contextSize' | 'contextSizeGiven'>;

/** The context of a sequence: what somebody asked for, or the default as far as the model was trained for it. */
export function contextSizeFor({ contextSize, contextSizeGiven }: Wish, trainedContext: number): number {
  return contextSizeGiven ? contextSize : Math.min(contextSize, trainedContext);
}

/** The same before the model is loaded, from what its file says; a file that says nothing leaves the default. */
export function expectedContextSize(
  options: Wish & Pick<LoadOptions, 'trainedContextOverride' | 'shape' | 'metadataOverrides'>,
): number {
  const key = `${options.shape.architecture}.context_length`;
  const overridden = options.metadataOverrides.find((one) => one.key === key)?.value;
  const trained = options.trainedContextOverride || Number(overridden ?? options.shape.trainedContext);
  return trained > 0 ? contextSizeFor(options, trained) : options.contextSize;
}

/** What the library and our own process take beside weights and cache, roughly. */
const overheadBytes = 200 * 2 ** 20;

/**
 * About how much memory a model will take: its weights, the keys and values of all its sequences, and some more for
 * computing. What it really took the last time is better, where that is known.
 */
export function memoryNeed(
  { sizeBytes, cacheBytesPerToken }: Pick<ModelShape, 'sizeBytes' | 'cacheBytesPerToken'>,
  contextSize: number,
  sequences: number,
): number {
  const cache = cacheBytesPerToken * contextSize * Math.max(1, sequences);
  return Math.ceil(sizeBytes * 1.05 + cache + overheadBytes);
}
