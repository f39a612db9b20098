import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Settings } from '../../../config/flags.ts';
import { AppError } from '../../../core/errors.ts';
import type { AskedLora, ImageFacts } from '../../../core/image.ts';
import { builtInUpscalers } from '../facts.ts';
import type { PainterConfig, PainterFiles } from './messages.ts';

/** How the engine is to be loaded, in words that survive the way into its process as JSON. */
export interface DiffusionOptions {
  readonly facts: ImageFacts;
  readonly family: Family;
  readonly files: PainterFiles;
  readonly config: PainterConfig;
  readonly upscaler?: string | undefined;
  readonly loras: Loras;
  readonly tiledFrom: number;
  readonly threads: number;
}

/** All that the flags say about the image model; `beginning` gives the names of what is in a file. */
export function diffusionOptions(
  settings: Settings,
  threads: number,
  beginning: (path: string) => string = beginningOf,
): DiffusionOptions {
  const path = resolve(settings.sdmodel);
  const family = familyOf(beginning(path));
  const loras = findLoras(settings.sdlora ?? [], settings.sdloramult);
  const [upscaler, vae] = [settings.sdupscaler, settings.sdvae].map((file) =>
    file === '' ? undefined : resolve(file),
  );
  return {
    facts: diffusionFacts({ path, family, upscaler, vae, loras: loras.offered }),
    family,
    files: filesOf(settings, beginning),
    config: configOf(settings, family, threads),
    upscaler,
    loras,
    tiledFrom: settings.sdtiledvae,
    threads,
  };
}

function filesOf(
  { sdmodel, sdclip1, sdclip2, sdllm, sdvae }: Settings,
  beginning: (path: string) => string,
): PainterFiles {
  return {
    model: resolve(sdmodel),
    ...(sdclip1 === '' ? {} : { clipL: resolve(sdclip1) }),
    ...(sdclip2 === '' ? {} : { clipG: resolve(sdclip2) }),
    // One flag for both, as the original has it.
    ...(sdllm === '' ? {} : { [isT5(beginning(resolve(sdllm))) ? 't5Xxl' : 'llm']: resolve(sdllm) }),
    ...(sdvae === '' ? {} : { vae: resolve(sdvae) }),
  };
}

const weightTypes = ['', 'q8_0', 'q4_0'] as const;

function configOf(settings: Settings, family: Family, threads: number): PainterConfig {
  const { sdconvdirect: direct, sdvramlimit, sdmaingpu } = settings;
  const weights = weightTypes[settings.sdquant as 0 | 1 | 2];
  const backend = backendOf(settings);
  return {
    threads,
    device: settings.usecpu ? 'cpu' : 'gpu',
    ...(weights ? { type: weights } : {}),
    diffusion_fa: settings.sdflashattention,
    diffusion_conv_direct: direct === 'full',
    vae_conv_direct: direct !== 'off',
    ...(settings.sdoffloadcpu ? { offload_to_cpu: true } : {}),
    ...(sdvramlimit > 0 ? { max_vram: Math.max(0.1, Math.round((sdvramlimit / 1024) * 100) / 100) } : {}),
    ...(sdmaingpu >= 0 && backend === undefined ? { 'main-gpu': sdmaingpu } : {}),
    ...(backend === undefined ? {} : { backend }),
    // The other way, to put it into the weights, ends the process where a LoRA has nothing for the text encoder.
    lora_apply_mode: 'at_runtime',
    // Without it pictures of this family would not be taken for what they are.
    ...(family === 'flux2' ? { prediction: 'flux2_flow' } : {}),
  };
}

/** Which part of the model is computed where, for those that were given a place of their own. */
function backendOf({ usecpu, sdclipdevice, sdvaedevice, sdmaingpu }: Settings): string | undefined {
  if (usecpu) return undefined;
  const places = [
    ['te', sdclipdevice],
    ['vae', sdvaedevice],
  ].flatMap(([part, device = '']) => (/^cpu$/i.test(device) ? [`${part}=cpu`] : gpuPlace(part ?? '', device)));
  if (places.length === 0) return undefined;
  return [...(sdmaingpu >= 0 ? gpuPlace('diffusion', String(sdmaingpu)) : []), ...places].join(',');
}

/** `main` and `-1` are where the model is anyway. */
function gpuPlace(part: string, device: string): readonly string[] {
  if (!/^\d+$/.test(device)) return [];
  return [`${part}=${process.platform === 'darwin' ? 'metal' : `vulkan${device}`}`];
}

/** Those of the driver, and none that it would take for another. */
const samplers = [
  'euler_a',
  'euler',
  'heun',
  'dpm2',
  'dpm++2s_a',
  'dpm++2m',
  'dpm++2mv2',
  'ipndm',
  'ipndm_v',
  'lcm',
  'ddim_trailing',
  'tcd',
  'res_multistep',
  'res_2s',
] as const;

const schedulers = [
  'discrete',
  'karras',
  'exponential',
  'ays',
  'gits',
  'sgm_uniform',
  'simple',
  'smoothstep',
  'kl_optimal',
  'lcm',
  'bong_tangent',
] as const;

interface Manner {
  readonly size: number;
  readonly guidance: number;
  /** Learnt by following a line from noise to picture; ancestral samplers do not suit it. */
  readonly flow: boolean;
}

const manners: Readonly<Record<Family, Manner>> = {
  sd1: { size: 512, guidance: 7, flow: false },
  sd2: { size: 768, guidance: 7, flow: false },
  sdxl: { size: 1024, guidance: 7, flow: false },
  sd3: { size: 1024, guidance: 5, flow: true },
  flux: { size: 1024, guidance: 3.5, flow: true },
  flux2: { size: 1024, guidance: 3.5, flow: true },
  other: { size: 1024, guidance: 5, flow: true },
};

const usualSteps = 20;
/** What files of this kind mostly enlarge by; the result tells the truth. */
const upscalerScale = 4;

interface DiffusionModel {
  readonly path: string;
  readonly family: Family;
  readonly upscaler?: string | undefined;
  readonly vae?: string | undefined;
  readonly loras: readonly LoraFile[];
}

/** What is to be known of a model without loading it. */
export function diffusionFacts({ path, family, upscaler, vae, loras }: DiffusionModel): ImageFacts {
  const { size, guidance, flow } = manners[family];
  const name = nameOfFile(path);
  return {
    name,
    title: name,
    path,
    nativeSize: size,
    samplers: flow ? ['euler', ...samplers.filter((each) => each !== 'euler')] : samplers,
    schedulers,
    upscalers: [
      ...builtInUpscalers,
      ...(upscaler === undefined ? [] : [{ name: nameOfFile(upscaler), scale: upscalerScale }]),
    ],
    defaults: { steps: usualSteps, guidance, size },
    loras: loras.map(({ name: lora, path: file }) => ({ name: lora, file: basename(file) })),
    ...(vae === undefined ? {} : { vae: basename(vae) }),
  };
}

/** Families of models that differ in what suits them. */
export type Family = 'sd1' | 'sd2' | 'sdxl' | 'sd3' | 'flux' | 'flux2' | 'other';

/** More than the names of all tensors take in any of the formats, which have them in front. */
const beginningBytes = 4 * 2 ** 20;

/** The first that is found tells the family; the names are those of the checkpoints that people pass around. */
const marks: readonly (readonly [mark: RegExp, family: Family])[] = [
  [/double_stream_modulation_img/, 'flux2'],
  [/double_blocks\.\d/, 'flux'],
  [/joint_blocks\.\d/, 'sd3'],
  [/conditioner\.embedders\.1|cond_stage_model\.1\.|diffusion_model\.label_emb|add_embedding\.linear_1/, 'sdxl'],
  [/cond_stage_model\.model\.(?:transformer|token_embedding|positional_embedding)/, 'sd2'],
  [/cond_stage_model\.transformer|diffusion_model\.input_blocks|^unet\.|down_blocks\.0/, 'sd1'],
];

export function familyOf(beginning: string): Family {
  return marks.find(([mark]) => mark.test(beginning))?.[1] ?? 'other';
}

/** Whether a text encoder is a T5; all others that are not CLIP are language models. */
export function isT5(beginning: string): boolean {
  return /enc\.blk\.\d|encoder\.block\.\d/.test(beginning);
}

/** The names of what is in a file, among other bytes; empty where it cannot be read. */
export function beginningOf(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(beginningBytes);
      return bytes.toString('latin1', 0, readSync(file, bytes, 0, beginningBytes, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}

interface LoraFile {
  readonly name: string;
  readonly path: string;
}

export interface Loras {
  /** Part of every picture. */
  readonly fixed: readonly (LoraFile & { readonly weight: number })[];
  /** For requests that name them. */
  readonly offered: readonly LoraFile[];
}

/** `--sdlora`: files with a strength are always there, those without and all in folders wait until they are asked for. */
export function findLoras(paths: readonly string[], weights: readonly number[]): Loras {
  const fixed: (LoraFile & { weight: number })[] = [];
  const offered: string[] = [];
  for (const [index, given] of paths.entries()) {
    const path = resolve(given);
    const weight = weights[index] ?? weights[0] ?? 1;
    if (isFolder(path)) offered.push(...filesIn(path));
    else if (weight === 0) offered.push(path);
    else fixed.push({ name: nameOfFile(path), path, weight });
  }
  return { fixed, offered: named(offered) };
}

/**
 * The one file that the driver is to use. It takes one at a time and only in full strength: anything else is refused, because
 * a picture without what was asked for would pass for one with it.
 */
export function chosenLora(asked: readonly AskedLora[], { fixed, offered }: Loras): string | undefined {
  const wanted = new Map(fixed.map(({ path, weight }) => [path, weight]));
  for (const { name, weight } of asked) {
    const found = offered.find((each) => isNameOf(each, name));
    if (!found) throw new AppError('invalid-field', { field: 'lora', expected: `one of ${listed(offered)}` });
    wanted.set(found.path, (wanted.get(found.path) ?? 0) + weight);
  }
  const used = [...wanted].filter(([, weight]) => weight !== 0);
  const [first] = used;
  if (used.length > 1) throw refused('More than one LoRA at a time');
  if (first && first[1] !== 1) throw refused(`A LoRA with the weight ${first[1]}`);
  return first?.[0];
}

function refused(feature: string): AppError {
  return new AppError('unsupported', {
    feature,
    instead: 'the image engine applies one LoRA at a time, and only with the weight 1',
  });
}

function isNameOf({ name, path }: LoraFile, asked: string): boolean {
  const plain = asked.toLowerCase();
  return name.toLowerCase() === plain || (path.split(/[/\\]/).at(-1) ?? '').toLowerCase() === plain;
}

function listed(offered: readonly LoraFile[]): string {
  return offered.length === 0 ? 'none: no LoRA is there' : offered.map(({ name }) => name).join(', ');
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:safetensors|gguf)$/i.test(entry.name))
    .map(({ name }) => join(folder, name))
    .sort();
}

/** Two files of one name in different folders get numbers. */
function named(paths: readonly string[]): readonly LoraFile[] {
  const seen = new Map<string, number>();
  return [...new Set(paths)].map((path) => {
    const name = nameOfFile(path);
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return { name: count === 1 ? name : `${name}_${count}`, path };
  });
}

/** The name that a file of weights goes by. */
export function nameOfFile(path: string): string {
  return basename(path).replace(/\.(?:safetensors|gguf|ckpt|pth|pt|bin)$/i, '');
}
