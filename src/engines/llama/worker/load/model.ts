import type { GpuMemory } from '../../../../core/gpu-memory.ts';
import { isSupportedArchitecture } from '../../../../gguf/architectures.ts';
import { systemOf } from '../../../../packs/catalogue.ts';
import { hasCudaCompiler } from '../../../../packs/toolkit.ts';
import type { Watch } from '../../../host/heartbeat.ts';
import { installedBuilds } from '../../gpu-builds.ts';
import { contextSizeFor, type LoadedModel, type LoadOptions, sharesCells } from '../../load-options.ts';
import { auxiliaryFiles, hasRoomForOwnCells, layersThatFit, placedBytes } from '../../memory-fit.ts';
import { cacheTypes, poolCells } from '../../model-shape.ts';
import { howToGetCuda, nvidiaGpus, unusedGpu } from '../../present-gpus.ts';
import { openProjector } from '../media/projector.ts';
import { steadyNotes } from '../memory/batch-size.ts';
import { Context, contextParams } from '../memory/context.ts';
import { makeThreadpools, metadata, type Native } from '../native/native.ts';
import {
  openProcessMemory,
  type ProcessMemory,
  withCopiedLetGo,
  withUntouchedGivenBack,
} from '../native/process-memory.ts';
import type { Pointer } from '../native/structs.ts';
import { allGpus, gpuDevices, gpuUse, loadWeights, NativeLoadError, readGpus } from '../native/weights.ts';
import { openDraft, withUsablePrediction } from '../open-draft.ts';
import { PredictionLayers } from '../prediction-layers.ts';
import { fillMarks, Vocabulary } from '../text/vocabulary.ts';
import { openEngine, watchedEngine } from './library.ts';

/** Why the library refuses a model that is newer than it is; undefined if it knows its architecture. */
export function architectureProblem({ architecture }: LoadOptions['shape'], version: string): Error | undefined {
  if (architecture === '' || isSupportedArchitecture(architecture)) return undefined;
  return new Error(
    `its architecture (${architecture}) is not known to llama.cpp ${version}, which this version of Parley uses. Install a newer release of Parley, or let a program that knows it be the engine (--engine, docs/engines.md)`,
  );
}

/** The loaded model; `contextSize` is that of one sequence. */
export type Loaded = Awaited<ReturnType<typeof loadModel>>;

/** Calls `placed` with the number of layers on GPUs before the weights are read. */
export async function loadModel(
  requested: LoadOptions,
  progress: (fraction: number) => void,
  watch?: Watch,
  placed: (gpuLayers: number) => void = () => {},
) {
  const opened = openEngine(requested);
  const engine = watch ? watchedEngine(opened, watch, () => performance.now()) : opened;
  const { native } = engine;
  const notes: string[] = [];
  const gpus = gpuDevices(native, requested);
  const before = readGpus(native, gpus);
  const options = await withCells(await withUsablePrediction(requested, native.version(), notes), before);
  const gpuLayers = gpus.length === 0 ? 0 : existingLayers(await chooseLayers(options, before), options);
  placed(gpuLayers);
  if (gpus.length === 0 && gpuFlag(options)) {
    notes.push(`No usable GPU was found: all layers stay on the CPU (${gpuFlag(options)} has no effect).`);
  }
  if (gpus.length === 0 && mayUseGpu(options)) notes.push(...unusedGpuNotes());
  if (gpus.length > 1 && options.mainGpu >= 0) {
    notes.push('--maingpu has no effect on a model that is split; --usecuda N or --device NAME puts it on one card.');
  }
  if (options.projector && options.backend === 'cuda') {
    notes.push('With --mmproj another library is used, which has no CUDA: --usecuda has no effect.');
  }
  const memory = reclaimableMemory(native, options);
  const prediction = options.draft?.prediction === true && !options.draft.model;
  const weights = { ...options, prediction };
  const model = await withCopiedLetGo(memory, () => loadWeights(native, weights, gpus, gpuLayers, progress)).catch(
    (error: Error) => {
      throw error instanceof NativeLoadError ? (architectureProblem(options.shape, native.version()) ?? error) : error;
    },
  );
  if (!native.modelHasDecoder(model)) {
    throw new Error(
      'this is an embedding model (it has no decoder); it cannot generate text, and is used with --embeddingsmodel',
    );
  }
  const trainedContext = options.trainedContextOverride || native.modelTrainedContext(model);
  const contextSize = contextSizeFor(options, trainedContext);
  const vocabulary = new Vocabulary(native, native.modelVocabulary(model), options);
  const pool = poolFor(native, model, options, contextSize, memory !== undefined);
  const params = modelContextParams(native, model, options, { contextSize, trainedContext, pool }, notes);
  const width = native.modelInputWidth(model);
  const projector = await openProjector(engine.media, { options, model, gpus, width, contextSize, params });
  if (projector === null) throw new NativeLoadError();
  const context = withUntouchedGivenBack(
    memory,
    () => new Context(native, model, params, vocabulary.size, { projector }),
  );
  const threadpools = makeThreadpools(native, options.threads, options.batchThreads);
  threadpools.attach(context.pointer);
  const setAdapters = loadAdapters(native, model, context, options);
  setAdapters(options.lora.map(({ scale }) => scale));
  warmUp(context, vocabulary);
  notes.push(...steadyNotes(options, { gpuLayers, savesAll: context.savesAll }));
  const draft = await openDraft({
    native,
    options,
    vocabulary,
    model,
    context,
    contextSize,
    threadpools,
    memory,
    notes,
  });
  const layers = native.modelLayers(model);
  const parameters = Number(native.modelParameters(model));
  const info: LoadedModel = {
    contextSize,
    trainedContext,
    vocabularySize: vocabulary.size,
    vocabularyType: native.vocabularyType(vocabulary.pointer),
    embeddingLength: native.modelWidth(model),
    parameters,
    sizeBytes: Number(native.modelSize(model)),
    description: withSize(description(native, model), parameters),
    chatTemplate: native.modelTemplate(model, null) ?? undefined,
    specialTokens: vocabulary.specialTokens,
    fillMarks: fillMarks(vocabulary),
    layers,
    gpuLayers: Math.min(gpuLayers, layers + 1),
    devices: gpus.map((device) => `${native.deviceName(device)}: ${native.deviceDescription(device)}`),
    gpus: gpuUse(before, readGpus(native, gpus)),
    cpuVariant: engine.cpuVariant,
    snapshotBytes: 0,
    pool,
    inputs: projector?.inputs ?? { image: false, audio: false },
    notes,
  };
  return {
    native,
    vocabulary,
    context,
    projector,
    draft,
    layers: draft instanceof PredictionLayers ? draft : undefined,
    draftRecord: { rejectedInARow: 0 },
    options,
    contextSize,
    info,
    threadpools,
    gpus,
    setAdapters,
  };
}

/** The flag that requests a GPU. */
function gpuFlag({ gpuLayers, backend }: LoadOptions): string | undefined {
  if (gpuLayers === 0) return undefined;
  if (backend === 'cuda' || backend === 'vulkan') return `--use${backend}`;
  return gpuLayers === 'auto' ? undefined : `--gpulayers ${gpuLayers}`;
}

function mayUseGpu({ gpuLayers, backend }: LoadOptions): boolean {
  return gpuLayers !== 0 && backend !== 'cpu';
}

/** Looks for installed builds only on a machine with a GPU. */
function unusedGpuNotes(): readonly string[] {
  const gpus = nvidiaGpus();
  if (gpus.length === 0) return [];
  const how = howToGetCuda(hasCudaCompiler(), systemOf(process));
  const unused = unusedGpu(gpus, [...installedBuilds().keys()], how);
  return unused ? [`${unused.reason}. Parley computes on the processor. ${unused.advice}`] : [];
}

/** For returning unused pages to the system. Not with a graphics driver, which has threads and pinned pages, nor with mlock. */
function reclaimableMemory(native: Native, { loadMode }: LoadOptions): ProcessMemory | undefined {
  return allGpus(native).length > 0 || loadMode.includes('mlock') ? undefined : openProcessMemory();
}

async function chooseLayers(options: LoadOptions, gpus: readonly GpuMemory[]): Promise<number> {
  if (options.gpuLayers !== 'auto') return options.gpuLayers;
  const bytes = placedBytes(options, await auxiliaryFiles(options));
  return layersThatFit({ ...bytes, layers: options.shape.layers, ...roomOn(gpus, options) });
}

/** With cells of its own for each sequence if the GPUs have room for them and for all layers. */
async function withCells(options: LoadOptions, gpus: readonly GpuMemory[]): Promise<LoadOptions> {
  const { gpuLayers, shape } = options;
  if (gpus.length === 0 || (gpuLayers !== 'auto' && gpuLayers <= shape.layers)) return options;
  const own = hasRoomForOwnCells(options, roomOn(gpus, options), await auxiliaryFiles(options));
  return own ? { ...options, cellPool: 0 } : options;
}

function roomOn(gpus: readonly GpuMemory[], { memoryMarginMegabytes, tensorSplit }: LoadOptions) {
  return {
    freeBytes: gpus.map(({ freeBytes }) => freeBytes),
    marginBytes: memoryMarginMegabytes * 2 ** 20,
    split: tensorSplit,
  };
}

/** `--gpulayers 999` means all of them: a share of 999 would be all of them too. */
export function existingLayers(requested: number, { shape }: Pick<LoadOptions, 'shape'>): number {
  return shape.layers > 0 ? Math.min(requested, shape.layers + 1) : requested;
}

/** The cells that all sequences share; undefined if each has its own. Without unwritten cells in memory, its own cost nothing. */
function poolFor(
  native: Native,
  model: Pointer,
  options: LoadOptions,
  contextSize: number,
  unwrittenIsFree: boolean,
): number | undefined {
  if (!sharesCells(options, !unwrittenIsFree)) return undefined;
  const architecture = metadata(native, model, 'general.architecture');
  const original = Number(metadata(native, model, `${architecture}.rope.scaling.original_context_length`));
  const pool = poolCells({ ...options, contextSize });
  // Beyond its original length, the library takes other RoPE factors for the whole context.
  return original >= contextSize ? Math.min(pool, original) : pool;
}

interface Sizes extends Readonly<Record<'contextSize' | 'trainedContext', number>> {
  readonly pool: number | undefined;
}

function modelContextParams(native: Native, model: Pointer, options: LoadOptions, sizes: Sizes, notes: string[]) {
  const sequences = options.sequences + (options.guidance ? 1 : 0);
  const type = cacheTypes[options.cacheType].id;
  const quantised = !['f16', 'bf16'].includes(options.cacheType);
  if (quantised && !options.flashAttention) {
    notes.push('Without flash attention only the keys of the cache are quantised, not the values.');
  }
  return {
    ...contextParams(native, options, sizes.contextSize, sequences, sizes.pool),
    // One for the last token of each sequence, and one for each drafted token after it.
    n_outputs_max_per_seq: 1 + (options.draft?.amount ?? 0),
    type_k: type,
    type_v: quantised && !options.flashAttention ? cacheTypes.f16.id : type,
    swa_full: options.fullSlidingWindow,
    ...rope(native, model, options, sizes, notes),
  };
}

function rope(native: Native, model: Pointer, options: LoadOptions, sizes: Sizes, notes: string[]) {
  const { contextSize, trainedContext } = sizes;
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

/** Loads the adapters; returns what applies them with these scales from the next batch on. */
function loadAdapters(native: Native, model: Pointer, context: Context, options: LoadOptions) {
  const adapters = options.lora.map(({ path }) => {
    const adapter = native.loraNew(model, path);
    if (!adapter) throw new Error(`the LoRA ${path} could not be loaded (is it made for this model?)`);
    return adapter;
  });
  return (scales: readonly number[]): void => {
    if (adapters.length === 0) return;
    // One without effect would cost time.
    const applied = adapters.flatMap((adapter, index) => (scales[index] ? [{ adapter, scale: scales[index] }] : []));
    const pointers = applied.map(({ adapter }) => adapter);
    const factors = Float32Array.from(applied, ({ scale }) => scale);
    if (native.loraSet(context.pointer, pointers, pointers.length, factors) !== 0) {
      throw new Error('the LoRA could not be applied to this model');
    }
  };
}

/** One decode reads every weight, so that the first request does not wait for that, and an unsuitable CPU build dies now. */
function warmUp(context: Context, vocabulary: Vocabulary): void {
  context.clearBatch();
  context.add(Math.max(0, vocabulary.bos), 0, 0, true);
  if (context.decodeNow() === 'failed') throw new Error('the first decode failed');
  context.forget(0, 0);
}

function description(native: Native, model: Pointer): string {
  const buffer = new Uint8Array(256);
  const length = native.modelDescription(model, buffer, buffer.length);
  return Buffer.from(buffer.subarray(0, Math.max(0, length))).toString();
}

const units = { B: 1e9, M: 1e6, K: 1e3 };

/** Replaces `?B`, by which the library describes models of unknown size, by the number of parameters. */
export function withSize(description: string, parameters: number): string {
  return parameters > 0 ? description.replace(/(?<= )\?B(?= |$)/, shortNumber(parameters)) : description;
}

function shortNumber(count: number): string {
  for (const [unit, size] of Object.entries(units)) {
    // A number that would be rounded up to the next unit is written in that unit.
    if (count >= size * 0.9995) return `${Number((count / size).toFixed(count < 10 * size ? 1 : 0))}${unit}`;
  }
  return String(count);
}

/** The RoPE base for a context beyond the trained one: the longest wavelengths cover the new context as they did the old one. */
export function stretchedRopeBase(base: number, trainedContext: number, contextSize: number): number {
  if (contextSize <= trainedContext) return base;
  const turns = (size: number) => Math.log(Math.max(size, 7) / (2 * Math.PI));
  return base ** (turns(contextSize) / turns(trainedContext));
}
