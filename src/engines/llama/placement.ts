import { resolve } from 'node:path';
import type { Settings } from '../../config/flags.ts';
import { readDiskCache } from '../../config/paths.ts';
import { AppError } from '../../core/errors.ts';
import type { DraftOptions, LoadOptions, MetadataOverride, ModelShape, ProjectorOptions } from './load-options.ts';

export interface PlacementFacts {
  readonly model: string;
  readonly name: string;
  readonly shape: ModelShape;
  readonly threads: number;
  readonly contextSizeGiven: boolean;
}

const usualPlaces = 5;

/** The flags about loading and placing a text model, as the engine wants to hear them. */
export function loadOptions(settings: Settings, facts: PlacementFacts): LoadOptions {
  const batchSize = Math.max(1, settings.batchsize);
  return {
    model: facts.model,
    name: facts.name,
    shape: facts.shape,
    contextSize: settings.contextsize,
    contextSizeGiven: facts.contextSizeGiven,
    trainedContextOverride: settings.overridenativecontext,
    sequences: Math.max(1, settings.parallelrequests),
    batchSize,
    microBatchSize: settings.ubatchsize > 0 ? settings.ubatchsize : batchSize,
    threads: facts.threads,
    batchThreads: settings.blasthreads > 0 ? settings.blasthreads : facts.threads,
    backend: backend(settings),
    gpuLayers: settings.autofit || settings.gpulayers < 0 ? 'auto' : settings.gpulayers,
    memoryMarginMegabytes: settings.autofitpadding,
    mainGpu: settings.maingpu,
    devices: devices(settings),
    tensorSplit: settings.tensor_split ?? [],
    splitMode: settings.splitmode === 'layer' ? 'layer' : 'row',
    offloadCache: !settings.lowvram,
    flashAttention: !settings.noflashattention,
    cacheType: settings.quantkv,
    // A window moves through few cells, in an order that depends on what was there before.
    fullSlidingWindow: settings.noswa || settings.deterministic,
    rope: { scale: settings.ropeconfig[0] ?? 0, base: settings.ropeconfig[1] ?? 10_000 },
    metadataOverrides: metadataOverrides(settings, facts.shape),
    tensorOverrides: tensorOverrides(settings, facts.shape),
    loadMode: loadMode(settings),
    lora: (settings.lora ?? []).map((path) => ({ path, scale: settings.loramult })),
    projector: projector(settings),
    guidance: settings.enableguidance,
    // Keys that were moved are rounded once more.
    contextShift: !settings.noshift && !settings.deterministic,
    reusePrompt: !settings.nofastforward,
    addBos: !settings.nobostoken,
    deterministic: settings.deterministic,
    draft: draft(settings),
    smartCache: settings.smartcache === 1 ? usualPlaces : settings.smartcache,
    statePlaces: settings.smartcache > 1 ? settings.smartcache : usualPlaces,
    diskCache: diskCache(settings.diskcache),
    cpuLevel: settings.failsafe ? 'no-avx' : settings.noavx2 ? 'no-avx2' : 'best',
    cpuBuild: settings.cpubuild || undefined,
    skipCpuVariants: 0,
    failedGpuBuilds: [],
  };
}

function projector(settings: Settings): ProjectorOptions | undefined {
  if (settings.mmproj === '') return undefined;
  return {
    path: settings.mmproj,
    useGpu: !settings.mmprojcpu && !settings.usecpu,
    longestSide: settings.visionmaxres,
    minimumTokens: settings.visionmintokens,
    maximumTokens: settings.visionmaxtokens,
  };
}

/** As many layers as any model has stand for all of them, which is also what -1 means here: a draft model is small. */
const allLayers = 999;

function draft({ draftngram, draftmodel, draftamount, draftgpulayers }: Settings): DraftOptions | undefined {
  if (draftamount <= 0 || (draftngram <= 0 && draftmodel === '')) return undefined;
  const gpuLayers = draftgpulayers < 0 ? allLayers : draftgpulayers;
  return {
    amount: draftamount,
    pattern: draftngram,
    model: draftmodel === '' ? undefined : { path: draftmodel, gpuLayers },
  };
}

function backend({ usecpu, usecuda, usevulkan }: Settings): LoadOptions['backend'] {
  if (usecpu) return 'cpu';
  if (usecuda) return 'cuda';
  return usevulkan ? 'vulkan' : 'auto';
}

/** Numbers after --usecuda and --usevulkan choose devices as well as --device does. */
function devices({ device, usecuda, usevulkan }: Settings): string[] {
  const named = device.split(',').map((name) => name.trim());
  const numbered = [...(usecuda ?? []), ...(usevulkan ?? [])].map(String).filter((value) => /^\d+$/.test(value));
  return [...named, ...numbered].filter((name) => name !== '');
}

function loadMode({ usemmap, usemlock, usedirectio }: Settings): LoadOptions['loadMode'] {
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

function tensorOverrides(
  { overridetensors, moecpu, ffncpu }: Settings,
  { layers }: ModelShape,
): LoadOptions['tensorOverrides'] {
  const asked = splitList(overridetensors).map((text) => {
    const equals = text.lastIndexOf('=');
    if (equals < 1) {
      throw new AppError('invalid-field', {
        field: '--overridetensors',
        expected: `pattern=device, and "${text}" is not`,
      });
    }
    return { pattern: text.slice(0, equals), buffer: text.slice(equals + 1) };
  });
  const onCpu = (count: number, tensors: string) =>
    Array.from({ length: Math.min(count, layers) }, (_, layer) => ({
      pattern: `blk\\.${layer}\\.${tensors}`,
      buffer: 'CPU',
    }));
  return [
    ...asked,
    ...onCpu(moecpu, 'ffn_(up|down|gate|gate_up)_(ch|)exps'),
    ...onCpu(ffncpu, 'ffn_(up|down|gate)\\.weight'),
  ];
}

function diskCache(text: string): LoadOptions['diskCache'] {
  if (text === '') return undefined;
  const reading = readDiskCache(text);
  if (!reading.ok) throw new AppError('invalid-field', { field: '--diskcache', expected: reading.expected });
  return { folder: resolve(reading.folder), bytes: reading.bytes };
}

const splitList = (text: string): string[] => text.split(',').filter((entry) => entry.trim() !== '');
