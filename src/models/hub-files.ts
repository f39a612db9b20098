import type { HubFiles } from '../core/models-view.ts';
import { type FreeMemory, type ModelFit, modelFit } from '../engines/llama/memory-fit.ts';
import { type MemoryOptions, type ModelShape, modelShape } from '../engines/llama/model-shape.ts';
import { isSupportedArchitecture } from '../gguf/architectures.ts';
import { readHubHeader } from '../library/hub/header.ts';
import type { HubFile, HubRepository } from '../library/hub/repository.ts';
import type { HubDeps } from '../library/hub/request.ts';
import {
  chosenVariant,
  isQuantization,
  projectorFor,
  quantizationRank,
  type Variant,
  variantsOf,
} from '../library/variants.ts';

/** What the choice of a file depends on besides the files. */
export interface HubMachine {
  /** Free memory now. */
  readonly memory: () => Promise<FreeMemory>;
  readonly options: Omit<MemoryOptions, 'contextSize'> & { readonly marginBytes: number };
  /** The context if no other is asked for. It is shortened to that of the training. */
  readonly contextSize: number;
}

type HubVariant = Variant<HubFile>;

interface Candidate {
  readonly variant: HubVariant;
  /** Undefined if the header cannot be read. */
  readonly fit: ModelFit | undefined;
}

/** What the hub says about a model. */
export interface HubModelFiles {
  readonly repository: HubRepository;
  readonly variants: readonly HubVariant[];
  /** The variant of the tag, or the usual one. */
  readonly usual: HubVariant;
  readonly projector: HubFile | undefined;
  /** Undefined where the header cannot be read: the repository has terms, or the host sends no parts of files. */
  readonly shape: ModelShape | undefined;
}

/** Reads the header of one of the files; the others differ in the size of their weights only. Undefined without such a file. */
export async function readHubModel(
  repository: HubRepository,
  parts: HubDeps,
  tag?: string,
): Promise<HubModelFiles | undefined> {
  const { files } = repository;
  const variants = variantsOf(files).filter(({ whole }) => whole);
  const usual = chosenVariant(variants, tag);
  const [first] = usual?.parts ?? [];
  if (!usual || !first) return undefined;
  let shape: ModelShape | undefined;
  try {
    shape = modelShape(await readHubHeader(repository, first, parts), usual.bytes);
  } catch {
    parts.signal?.throwIfAborted();
  }
  return { repository, variants, usual, projector: projectorFor(files, usual), shape };
}

/** All files of a model, how they fit, and the one that is downloaded without a tag. */
export async function hubFiles(
  { repository, variants, projector, shape }: HubModelFiles,
  context: number | undefined,
  machine: HubMachine,
): Promise<HubFiles & { readonly variant: HubVariant }> {
  const trained = shape?.trainedContext || Number.POSITIVE_INFINITY;
  const contextSize = Math.min(context ?? machine.contextSize, trained);
  const options = { ...machine.options, contextSize, projectorBytes: projector?.bytes ?? 0 };
  const free = shape && (await machine.memory());
  const candidates = variants.map((variant) => {
    const fit = shape && free && modelFit(resized(shape, variant.bytes), options, free);
    return { variant, fit };
  });
  const { variant, reason } = choose(candidates, contextSize);
  return {
    model: repository.id,
    commit: repository.commit,
    architecture: shape?.architecture ?? null,
    supported: shape ? isSupportedArchitecture(shape.architecture) : null,
    context: shape ? contextSize : null,
    trainedContext: shape?.trainedContext || null,
    files: candidates.map((candidate) => fileEntry(candidate, variant)),
    reason,
    projector: projector ? { bytes: projector.bytes } : null,
    draft: null,
    variant,
  };
}

function fileEntry({ variant, fit }: Candidate, chosen: HubVariant) {
  return {
    name: variant.label,
    bytes: variant.bytes,
    parts: variant.parts.length,
    fit: fit?.fit ?? null,
    memoryBytes: fit?.memoryBytes ?? null,
    cardLayers: fit?.gpuLayers ?? null,
    layers: fit?.layers ?? null,
    speed: fit?.speed ?? null,
    chosen: variant === chosen,
  };
}

/** The variants of a model differ in the size of their weights. */
function resized(shape: ModelShape, sizeBytes: number): ModelShape {
  const scale = shape.sizeBytes > 0 ? sizeBytes / shape.sizeBytes : 0;
  return {
    ...shape,
    sizeBytes,
    hostBytes: (shape.hostBytes ?? 0) * scale,
    activeBytes: (shape.activeBytes ?? shape.sizeBytes) * scale,
  };
}

/** More bits than those of Q8_0 are no better; fewer than four are worse, and fewer than three much worse. */
const [maxBits, fourBits, threeBits] = ['Q8_0', 'NVFP4', 'IQ3_XXS'].map(quantizationRank) as [number, number, number];

/** The best quantization that fits wholly on GPUs, or else in memory at a good speed; then one of three bits on GPUs; then the usual one that fits. */
export function choose(candidates: readonly Candidate[], contextSize: number) {
  const sensible = candidates.filter(({ variant }) => quantizationRank(variant.label) >= maxBits);
  const all = sensible.length > 0 ? sensible : candidates;
  if (all.every(({ fit }) => fit === undefined))
    return chosen(
      usual(all),
      'It is small and nearly as good as the original. Whether it fits is not known before the download.',
    );
  const onGpus = all.filter(({ fit }) => fit?.fit === 'card');
  const inMemory = all.filter(({ fit }) => fit && fit.fit !== 'no');
  const quick = inMemory.filter(({ fit }) => fit?.speed === 'fast' || fit?.speed === 'good');
  const context = `a context of ${contextSize.toLocaleString('en-US')}`;
  const what = all.length === 1 ? 'It' : 'The largest useful one that';
  const onGpu = largest(onGpus, fourBits) ?? (largest(quick, fourBits) ? undefined : largest(onGpus, threeBits));
  if (onGpu) return chosen(onGpu, `${what} fits wholly on the graphics card with ${context}.`);
  const inMain = largest(quick, fourBits);
  if (inMain) return chosen(inMain, `${what} fits in memory at a good speed with ${context}.`);
  const [smallest] = all.toSorted((a, b) => a.variant.bytes - b.variant.bytes);
  if (inMemory.length === 0 && smallest)
    return chosen(smallest, `It is the smallest, but it does not fit in the memory that is free now with ${context}.`);
  const enough = inMemory.filter(({ variant }) => bitsRank(variant.label) <= threeBits);
  const slow = 'but its replies are slow on this computer; a smaller model is faster';
  return chosen(usual(enough.length > 0 ? enough : inMemory), `It fits in memory with ${context}, ${slow}.`);
}

const chosen = ({ variant }: Candidate, reason: string) => ({ variant, reason });

/** A name that says nothing is as good as any. */
function bitsRank(label: string): number {
  return isQuantization(label) ? quantizationRank(label) : fourBits;
}

function largest(candidates: readonly Candidate[], lastRank: number): Candidate | undefined {
  const enough = candidates.filter(({ variant }) => bitsRank(variant.label) <= lastRank);
  return enough.toSorted((a, b) => b.variant.bytes - a.variant.bytes)[0];
}

function usual(candidates: readonly Candidate[]): Candidate {
  const variants = candidates.map(({ variant }) => variant);
  const variant = chosenVariant(variants, undefined);
  return candidates.find((candidate) => candidate.variant === variant) as Candidate;
}
