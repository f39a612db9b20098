import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Settings } from '../../config/flags.ts';
import { readDiskCache } from '../../config/paths.ts';
import { AppError } from '../../core/errors.ts';
import type { GpuUse } from '../../core/gpu-memory.ts';
import { loraFiles } from '../../core/lora.ts';
import type { TextModel } from '../../core/text-service.ts';
import { readGguf, textOf } from '../../gguf/gguf.ts';
import { type ModelShape, modelShape } from './model-shape.ts';

/** The backend of an engine package, besides the CPU. `cuda-built` was compiled here, `cuda-system` came with the system. */
export type GpuBuild = 'cuda-built' | 'cuda' | 'cuda-ext' | 'cuda-system' | 'vulkan' | 'metal' | 'none';

export interface MetadataOverride {
  readonly key: string;
  readonly type: 'int' | 'float' | 'bool' | 'str';
  readonly value: string;
}

interface ModelFacts {
  /** Path of the model file. */
  readonly model: string;
  readonly name: string;
  readonly shape: ModelShape;
  readonly threads: number;
  readonly contextSizeGiven: boolean;
}

const defaultStates = 5;

/** How to load a text model, as JSON for the worker process. */
export type LoadOptions = Readonly<ReturnType<typeof loadOptions>>;
export type ProjectorOptions = NonNullable<LoadOptions['projector']>;

export function loadOptions(settings: Settings, facts: ModelFacts) {
  const batchSize = Math.max(1, settings.batchsize);
  return {
    ...facts,
    /** May exceed the trained context (with RoPE stretched) only if `contextSizeGiven`. */
    contextSize: settings.contextsize,
    trainedContextOverride: settings.overridenativecontext,
    sequences: Math.max(1, settings.parallelrequests),
    batchSize,
    microBatchSize: settings.ubatchsize > 0 ? settings.ubatchsize : batchSize,
    batchThreads: settings.blasthreads > 0 ? settings.blasthreads : facts.threads,
    // The rounding of attention depends on the number of threads.
    fixedThreads: settings.fixedthreads || settings.deterministic,
    backend: backend(settings),
    gpuLayers: settings.autofit || settings.gpulayers < 0 ? ('auto' as const) : settings.gpulayers,
    memoryMarginMegabytes: settings.autofitpadding,
    mainGpu: settings.maingpu,
    devices: devices(settings),
    tensorSplit: settings.tensor_split ?? [],
    splitMode: settings.splitmode === 'layer' ? ('layer' as const) : ('row' as const),
    offloadCache: !settings.lowvram,
    flashAttention: !settings.noflashattention,
    cacheType: settings.quantkv,
    // A sliding window reuses few cells, in an order that depends on their earlier content.
    fullSlidingWindow: settings.noswa || settings.deterministic,
    /** A scale of 0 leaves both to the model. */
    rope: { scale: settings.ropeconfig[0] ?? 0, base: settings.ropeconfig[1] ?? 10_000 },
    metadataOverrides: metadataOverrides(settings, facts.shape),
    tensorOverrides: tensorOverrides(settings, facts.shape),
    loadMode: loadMode(settings),
    lora: loraFiles(settings),
    projector: projector(settings),
    guidance: settings.enableguidance,
    // Shifted keys are rounded once more.
    contextShift: !settings.noshift && !settings.deterministic,
    reusePrompt: !settings.nofastforward,
    /** Whether other models are loaded beside this one, so that it takes no memory that it can do without. */
    sharesGpus: settings.routermode,
    /** Cells that all sequences share; 0 for none, -1 for the default. */
    cellPool:
      settings.parallelrequests > 1 && !settings.deterministic && !settings.enableguidance ? settings.kvpool : 0,
    addBos: !settings.nobostoken,
    /** The text depends on its request only, not on other requests or on the cache. */
    deterministic: settings.deterministic,
    draft: draft(settings),
    /** Number of snapshots of evicted chats in memory; -1 for as many as fit into what is free. */
    smartCache: settings.smartcache === 1 ? defaultStates : settings.smartcache,
    /** Number of saved states. */
    savedStates: settings.smartcache > 1 ? settings.smartcache : defaultStates,
    diskCache: diskCache(settings.diskcache),
    cpuLevel: cpuLevel(settings),
    cpuBuild: settings.cpubuild || undefined,
    /** How many of the best CPU builds to skip, because they crashed with an illegal instruction. */
    skipCpuVariants: 0,
    /** GPU builds that have failed on this machine. */
    failedGpuBuilds: [] as readonly GpuBuild[],
    /** Layers of the first load, if the GPU had too little memory for them; `gpuLayers` is lower then. */
    layersBefore: undefined as number | undefined,
  };
}

/** A draft model is small: -1 offloads all its layers. */
const allLayers = 999;

/**
 * Speculative decoding: by lookup of the last `pattern` tokens (0: none), by a small model, or both. With `prediction`, by the layers for
 * multi-token prediction of the model or of the draft model.
 */
function draft({ draftngram, draftmodel, draftamount, draftgpulayers, usemtp }: Settings) {
  if (draftamount <= 0 || (draftngram <= 0 && draftmodel === '' && !usemtp)) return undefined;
  const gpuLayers = draftgpulayers < 0 ? allLayers : draftgpulayers;
  const model = draftmodel === '' ? undefined : { path: draftmodel, gpuLayers };
  return { amount: draftamount, pattern: draftngram, model, prediction: usemtp };
}

/** Images are scaled down to `maxSide` pixels; a number of tokens of -1 is up to the projector. */
function projector(settings: Settings) {
  if (settings.mmproj === '') return undefined;
  return {
    path: settings.mmproj,
    useGpu: !settings.mmprojcpu && !settings.usecpu,
    maxSide: settings.visionmaxres,
    minTokens: settings.visionmintokens,
    maxTokens: settings.visionmaxtokens,
  };
}

function backend({ usecpu, usecuda, usevulkan }: Settings): 'auto' | 'cpu' | 'vulkan' | 'cuda' {
  if (usecpu) return 'cpu';
  if (usecuda) return 'cuda';
  return usevulkan ? 'vulkan' : 'auto';
}

function cpuLevel({ failsafe, noavx2 }: Settings): 'best' | 'no-avx2' | 'no-avx' {
  if (failsafe) return 'no-avx';
  return noavx2 ? 'no-avx2' : 'best';
}

/** Numbers after --usecuda and --usevulkan choose devices as well as --device does. */
function devices({ device, usecuda, usevulkan }: Settings): readonly string[] {
  const named = device.split(',').map((name) => name.trim());
  const numbered = [...(usecuda ?? []), ...(usevulkan ?? [])].map(String).filter((value) => /^\d+$/.test(value));
  return [...named, ...numbered].filter((name) => name !== '');
}

function loadMode({
  usemmap,
  usemlock,
  usedirectio,
}: Settings): 'auto' | 'mmap' | 'mmap+mlock' | 'mlock' | 'direct-io' {
  if (usedirectio) return 'direct-io';
  if (usemlock) return usemmap ? 'mmap+mlock' : 'mlock';
  return usemmap ? 'mmap' : 'auto';
}

function metadataOverrides({ overridekv, moeexperts }: Settings, { architecture }: ModelShape): MetadataOverride[] {
  const experts: MetadataOverride[] =
    moeexperts > 0 ? [{ key: `${architecture}.expert_used_count`, type: 'int', value: String(moeexperts) }] : [];
  return [...experts, ...splitList(overridekv).map(parseOverride)];
}

/** `name=type:value`, the type one of int, float, bool, str. */
function parseOverride(text: string): MetadataOverride {
  const match = /^(?<key>[^=]+)=(?<type>int|float|bool|str):(?<value>.*)$/s.exec(text)?.groups;
  const { key, type, value } = match ?? {};
  const numeric = type === 'int' ? /^-?\d+$/ : /^-?\d*\.?\d+(e[+-]?\d+)?$/i;
  const valid = type === 'str' || (type === 'bool' ? /^(true|false|0|1)$/ : numeric).test(value ?? '');
  if (!key || value === undefined || !valid || Buffer.byteLength(key) > 127 || Buffer.byteLength(value) > 127) {
    throw new AppError('invalid-field', { field: '--overridekv', expected: `name=type:value, and "${text}" is not` });
  }
  return { key, type: type as MetadataOverride['type'], value };
}

function tensorOverrides({ overridetensors, moecpu, ffncpu }: Settings, { layers }: ModelShape) {
  const explicit = splitList(overridetensors).map((text) => {
    const equals = text.lastIndexOf('=');
    if (equals < 1) {
      const expected = `pattern=device, and "${text}" is not`;
      throw new AppError('invalid-field', { field: '--overridetensors', expected });
    }
    return { pattern: text.slice(0, equals), buffer: text.slice(equals + 1) };
  });
  const onCpu = (count: number, tensors: string) =>
    Array.from({ length: Math.min(count, layers) }, (_, layer) => ({
      pattern: `blk\\.${layer}\\.${tensors}`,
      buffer: 'CPU',
    }));
  return [
    ...explicit,
    ...onCpu(moecpu, 'ffn_(up|down|gate|gate_up)_(ch|)exps'),
    ...onCpu(ffncpu, 'ffn_(up|down|gate)\\.weight'),
  ];
}

function diskCache(text: string) {
  if (text === '') return undefined;
  const reading = readDiskCache(text);
  if (!reading.ok) throw new AppError('invalid-field', { field: '--diskcache', expected: reading.expected });
  return { folder: resolve(reading.folder), bytes: reading.bytes };
}

const splitList = (text: string): string[] => text.split(',').filter((entry) => entry.trim() !== '');

/** The facts about a loaded model that the worker reports. */
export interface LoadedModel extends Omit<TextModel, 'name' | 'path' | 'layers'> {
  readonly layers: number;
  readonly gpuLayers: number;
  readonly devices: readonly string[];
  /** The GPUs that it uses, with their memory right after the load. */
  readonly gpus: readonly GpuUse[];
  readonly cpuVariant: string;
  /** The most that snapshots of replaced chats may take of the main memory; 0 for none. */
  readonly snapshotBytes: number;
  /** The cells that all sequences share; undefined if each has its own. */
  readonly pool: number | undefined;
  readonly notes: readonly string[];
}

type ContextSize = Pick<LoadOptions, 'contextSize' | 'contextSizeGiven'>;

/** The context size of a sequence: the given one, or the default up to the trained context. */
export function contextSizeFor({ contextSize, contextSizeGiven }: ContextSize, trainedContext: number): number {
  return contextSizeGiven ? contextSize : Math.min(contextSize, trainedContext);
}

/** The context size before the model is loaded, by its file; the default if the file does not say it. */
export function expectedContextSize(
  options: ContextSize & Pick<LoadOptions, 'trainedContextOverride' | 'shape' | 'metadataOverrides'>,
): number {
  const key = `${options.shape.architecture}.context_length`;
  const overridden = options.metadataOverrides.find((one) => one.key === key)?.value;
  const trained = options.trainedContextOverride || Number(overridden ?? options.shape.trainedContext);
  return trained > 0 ? contextSizeFor(options, trained) : options.contextSize;
}

/** Whether the sequences of a context share their cells: by default where cells take memory before they are written. */
export function sharesCells(
  { cellPool, loadMode }: Pick<LoadOptions, 'cellPool' | 'loadMode'>,
  onGpu: boolean,
  platform = process.platform,
): boolean {
  return cellPool > 0 || (cellPool < 0 && (onGpu || platform !== 'linux' || loadMode.includes('mlock')));
}

/** The facts of a model file that are known before its weights are read. */
export type ModelFile = Awaited<ReturnType<typeof readModelFile>>;

/** Throws a one-sentence error for a file that is not a model. Of a split model the first part has all facts but the size. */
export async function readModelFile(path: string) {
  const header = await readGguf(path, { arrayEntries: layerEntries });
  const shape = modelShape(header, await sizeOfParts(path));
  return { path, shape, chatTemplate: textOf(header, 'tokenizer.chat_template') };
}

/** Lists with an entry for each layer are read in full. */
const layerEntries = 512;

/** The names of all parts of a model; its own name if it has one part. */
export function partsOf(path: string): readonly string[] {
  const [, stem, count] = /^(.+)-\d{5}-of-(\d{5})\.gguf$/is.exec(path) ?? [];
  if (stem === undefined || Number(count) < 2) return [path];
  return Array.from(
    { length: Number(count) },
    (_, part) => `${stem}-${String(part + 1).padStart(5, '0')}-of-${count}.gguf`,
  );
}

/** Undefined for a file that has all of a model. */
async function sizeOfParts(path: string): Promise<number | undefined> {
  const parts = partsOf(path);
  if (parts.length === 1) return undefined;
  // A missing part is reported when the model is loaded.
  const sizes = await Promise.all(
    parts.map((part) =>
      stat(part).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Whether one of the parts of a model has a tensor of this name. */
export async function hasTensor(path: string, name: string): Promise<boolean> {
  for (const part of partsOf(path)) {
    const { tensors } = await readGguf(part);
    if (tensors.some((tensor) => tensor.name === name)) return true;
  }
  return false;
}
