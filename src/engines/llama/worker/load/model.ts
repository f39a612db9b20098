import type { Watch } from '../../../host/heartbeat.ts';
import { cacheTypes, contextSizeFor, type LoadedModel, type LoadOptions } from '../../load-options.ts';
import { type DraftModel, draftBytes, openDraft } from '../draft.ts';
import { openProjector, type Projector, projectorBytes } from '../media/projector.ts';
import { steadyNotes } from '../memory/batch-size.ts';
import { Context } from '../memory/context.ts';
import { makeThreadpools, metadata, type Native } from '../native/native.ts';
import {
  openProcessMemory,
  type ProcessMemory,
  withCopiedLetGo,
  withUntouchedGivenBack,
} from '../native/process-memory.ts';
import type { ContextParams, Pointer } from '../native/structs.ts';
import { gpuDevices, loadWeights, NativeLoadError } from '../native/weights.ts';
import { fillMarks, Vocabulary } from '../text/vocabulary.ts';
import { type Engine, openEngine, watchedEngine } from './library.ts';

export interface Loaded {
  readonly native: Native;
  readonly vocabulary: Vocabulary;
  readonly context: Context;
  readonly projector: Projector | undefined;
  /** The small model that guesses for this one. */
  readonly draft: DraftModel | undefined;
  readonly options: LoadOptions;
  /** What one sequence may hold. */
  readonly contextSize: number;
  readonly info: LoadedModel;
}

export async function loadModel(
  options: LoadOptions,
  progress: (fraction: number) => void,
  watch?: Watch,
): Promise<Loaded> {
  const opened = openEngine(options);
  const engine = watch ? watchedEngine(opened, watch, () => performance.now()) : opened;
  const { native } = engine;
  const notes: string[] = [];
  const gpus = gpuDevices(native, options);
  const gpuLayers = gpus.length === 0 ? 0 : chooseLayers(native, options, gpus);
  if (gpus.length === 0 && wantedGpu(options)) {
    notes.push(`No usable GPU was found: all layers stay on the CPU (${wantedGpu(options)} has no effect).`);
  }
  if (options.projector && options.backend === 'cuda') {
    notes.push('With --mmproj another library is used, which has no CUDA: --usecuda has no effect.');
  }
  const memory = sparedMemory(native, options);
  const model = await withCopiedLetGo(memory, () => loadWeights(native, options, gpus, gpuLayers, progress));
  if (!native.modelHasDecoder(model)) {
    throw new Error(
      'this is an embedding model (it has no decoder); it cannot generate text, and is used with --embeddingsmodel',
    );
  }
  const trainedContext = options.trainedContextOverride || native.modelTrainedContext(model);
  const contextSize = contextSizeFor(options, trainedContext);
  const vocabulary = new Vocabulary(native, native.modelVocabulary(model), options);
  const params = contextParams(native, model, options, contextSize, trainedContext, notes);
  const width = native.modelInputWidth(model);
  const projector = await openProjector(engine.media, { options, model, gpus, width, contextSize, params });
  if (projector === null) throw new NativeLoadError();
  const context = withUntouchedGivenBack(memory, () => new Context(native, model, params, vocabulary.size, projector));
  const threadpools = makeThreadpools(native, options.threads, options.batchThreads);
  threadpools.attach(context.pointer);
  addLoras(native, model, context, options);
  warmUp(context, vocabulary);
  const canRewind = context.memory !== 'state';
  notes.push(...steadyNotes(options, { gpuLayers, savesAll: context.savesAll }));
  const draft = await openDraft({ native, options, vocabulary, contextSize, threadpools, memory, canRewind, notes });
  const inputs = projector?.inputs ?? { image: false, audio: false };
  const info = describe(engine, model, { contextSize, trainedContext, gpuLayers, gpus, notes, vocabulary, inputs });
  return { native, vocabulary, context, projector, draft, options, contextSize, info };
}

/** The flag by which somebody asked for a GPU. */
function wantedGpu({ gpuLayers, backend }: LoadOptions): string | undefined {
  if (gpuLayers === 0) return undefined;
  if (backend === 'cuda' || backend === 'vulkan') return `--use${backend}`;
  return gpuLayers === 'auto' ? undefined : `--gpulayers ${gpuLayers}`;
}

/**
 * Where pages may be given back until they are needed. A graphics driver has threads and pinned pages of its
 * own, so not beside one; and who wants to have the model in memory for certain wants its cache there too.
 */
function sparedMemory(native: Native, { loadMode }: LoadOptions): ProcessMemory | undefined {
  const anyGpu = gpuDevices(native, { backend: 'auto', gpuLayers: 'auto', devices: [] }).length > 0;
  return anyGpu || loadMode.includes('mlock') ? undefined : openProcessMemory();
}

function chooseLayers(native: Native, options: LoadOptions, gpus: readonly Pointer[]): number {
  if (options.gpuLayers !== 'auto') return options.gpuLayers;
  const freeBytes = gpus.reduce((sum, device) => {
    const free: [number | null] = [null];
    native.deviceMemory(device, free, [null]);
    return sum + Number(free[0] ?? 0);
  }, 0);
  const { layers, sizeBytes, cacheBytesPerToken } = options.shape;
  return layersThatFit({
    modelBytes: sizeBytes,
    layers,
    cacheBytes: options.offloadCache ? cacheBytesPerToken * options.contextSize : 0,
    freeBytes,
    marginBytes: options.memoryMarginMegabytes * 2 ** 20 + projectorBytes(options) + draftBytes(options),
  });
}

function contextParams(
  native: Native,
  model: Pointer,
  options: LoadOptions,
  contextSize: number,
  trainedContext: number,
  notes: string[],
): ContextParams {
  const sequences = options.sequences + (options.guidance ? 1 : 0);
  const type = cacheTypes[options.cacheType];
  const quantised = !['f16', 'bf16'].includes(options.cacheType);
  if (quantised && !options.flashAttention) {
    notes.push('Without flash attention only the keys of the cache are quantised, not the values.');
  }
  // Each sequence must be able to add a token to a batch.
  const batchSize = Math.min(Math.max(options.batchSize, sequences), contextSize);
  return {
    ...native.contextDefaults(),
    n_ctx: contextSize * sequences,
    n_batch: batchSize,
    n_ubatch: Math.min(options.microBatchSize, batchSize),
    n_seq_max: sequences,
    // One output for each sequence, and one for each guess behind it.
    n_outputs_max_per_seq: 1 + (options.draft?.amount ?? 0),
    n_threads: options.threads,
    n_threads_batch: options.batchThreads,
    flash_attn_type: options.flashAttention ? -1 : 0,
    type_k: type,
    type_v: quantised && !options.flashAttention ? cacheTypes.f16 : type,
    offload_kqv: options.offloadCache,
    no_perf: true,
    swa_full: options.fullSlidingWindow,
    // Cells of its own for each sequence: attention then adds up in the same order as it would alone, so that a text does
    // not depend on who else is being served, and nobody pays for the length of others.
    kv_unified: false,
    ...rope(native, model, options, contextSize, trainedContext, notes),
  };
}

function rope(
  native: Native,
  model: Pointer,
  options: LoadOptions,
  contextSize: number,
  trainedContext: number,
  notes: string[],
): { rope_freq_base: number; rope_freq_scale: number } {
  if (options.rope.scale > 0) return { rope_freq_base: options.rope.base, rope_freq_scale: options.rope.scale };
  if (contextSize <= trainedContext) return { rope_freq_base: 0, rope_freq_scale: 0 };
  const architecture = metadata(native, model, 'general.architecture');
  const base = Number(metadata(native, model, `${architecture}.rope.freq_base`)) || 10_000;
  const stretched = stretchedRopeBase(base, trainedContext, contextSize);
  notes.push(
    `The context of ${contextSize} is beyond the ${trainedContext} of the training: RoPE base raised to ${Math.round(stretched)}.`,
  );
  return { rope_freq_base: stretched, rope_freq_scale: 0 };
}

function addLoras(native: Native, model: Pointer, context: Context, options: LoadOptions): void {
  if (options.lora.length === 0) return;
  const adapters = options.lora.map(({ path }) => {
    const adapter = native.loraNew(model, path);
    if (!adapter) throw new Error(`the LoRA ${path} could not be loaded (is it made for this model?)`);
    return adapter;
  });
  const scales = Float32Array.from(options.lora, ({ scale }) => scale);
  if (native.loraSet(context.pointer, adapters, adapters.length, scales) !== 0) {
    throw new Error('the LoRA could not be applied to this model');
  }
}

/** One decode touches every weight, so that the first request is not the one that waits, and a bad CPU build dies now. */
function warmUp(context: Context, vocabulary: Vocabulary): void {
  context.clearBatch();
  context.add(Math.max(0, vocabulary.bos), 0, 0, true);
  if (context.decodeNow() === 'failed') throw new Error('the first decode failed');
  context.forget(0, 0);
}

interface Found {
  readonly contextSize: number;
  readonly trainedContext: number;
  readonly gpuLayers: number;
  readonly gpus: readonly Pointer[];
  readonly notes: readonly string[];
  readonly vocabulary: Vocabulary;
  readonly inputs: LoadedModel['inputs'];
}

function describe({ native, cpuVariant }: Engine, model: Pointer, found: Found): LoadedModel {
  const buffer = new Uint8Array(256);
  const length = native.modelDescription(model, buffer, buffer.length);
  const said = Buffer.from(buffer.subarray(0, Math.max(0, length))).toString();
  const parameters = Number(native.modelParameters(model));
  const layers = native.modelLayers(model);
  return {
    contextSize: found.contextSize,
    trainedContext: found.trainedContext,
    vocabularySize: found.vocabulary.size,
    vocabularyType: native.vocabularyType(found.vocabulary.pointer),
    embeddingLength: native.modelWidth(model),
    parameters,
    sizeBytes: Number(native.modelSize(model)),
    description: withSize(said, parameters),
    chatTemplate: native.modelTemplate(model, null) ?? undefined,
    specialTokens: found.vocabulary.specialTokens,
    fillMarks: fillMarks(found.vocabulary),
    layers,
    gpuLayers: Math.min(found.gpuLayers, layers + 1),
    devices: found.gpus.map((device) => `${native.deviceName(device)}: ${native.deviceDescription(device)}`),
    cpuVariant,
    inputs: found.inputs,
    notes: found.notes,
  };
}

const units = [
  ['B', 1e9],
  ['M', 1e6],
  ['K', 1e3],
] as const;

/** The library knows the size of well-known models only and says `?B` of all others; the weights tell it of each. */
export function withSize(description: string, parameters: number): string {
  return parameters > 0 ? description.replace(/(?<= )\?B(?= |$)/, shortNumber(parameters)) : description;
}

function shortNumber(count: number): string {
  for (const [unit, size] of units) {
    // What would be rounded up to the next unit is said in that one.
    if (count >= size * 0.9995) return `${round(count / size)}${unit}`;
  }
  return String(count);
}

function round(value: number): string {
  return String(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));
}

interface GpuFit {
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

/**
 * The RoPE base that lets a model read further than it was trained: the base grows so that the longest wavelengths cover
 * the new context as they covered the old one.
 */
export function stretchedRopeBase(base: number, trainedContext: number, contextSize: number): number {
  if (contextSize <= trainedContext) return base;
  const turns = (size: number) => Math.log(Math.max(size, 7) / (2 * Math.PI));
  return base ** (turns(contextSize) / turns(trainedContext));
}
