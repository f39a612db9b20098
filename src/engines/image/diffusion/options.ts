import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import type { Settings } from '../../../config/flags.ts';
import { AppError } from '../../../core/errors.ts';
import type { ImageFacts, RequestedLora } from '../../../core/image.ts';
import { builtInUpscalers } from '../facts.ts';

/** Load options, as JSON. */
export interface DiffusionOptions {
  readonly facts: ImageFacts;
  readonly family: Family;
  /** By their names in the driver. Absolute paths. */
  readonly files: { readonly model: string } & Partial<Record<'clipL' | 'clipG' | 't5Xxl' | 'llm' | 'vae', string>>;
  readonly config: DriverConfig;
  /** An ESRGAN file, opened on first use. */
  readonly upscaler?: string | undefined;
  readonly loras: Loras;
  readonly tiledFrom: number;
  readonly threads: number;
}

type DriverConfig = Readonly<Record<string, string | number | boolean>>;

/** What the driver is loaded with. */
export interface DriverLoad extends Pick<DiffusionOptions, 'files' | 'config' | 'upscaler'> {
  /** URL of the driver's module. */
  readonly module: string;
  readonly upscalerConfig: DriverConfig;
}

/** Options from the flags. `beginning` returns the tensor names of a file. */
export function diffusionOptions(
  settings: Settings,
  threads: number,
  beginning: (path: string) => string = beginningOf,
): DiffusionOptions {
  const path = resolve(settings.sdmodel);
  const family = familyOf(beginning(path));
  const loras = findLoras(settings.sdlora ?? [], settings.sdloramult);
  const [upscaler, clipL, clipG, llm, vae] = (['sdupscaler', 'sdclip1', 'sdclip2', 'sdllm', 'sdvae'] as const).map(
    (flag) => (settings[flag] === '' ? undefined : resolve(settings[flag])),
  );
  return {
    facts: diffusionFacts({ path, family, upscaler, vae, loras: loras.offered }),
    family,
    files: {
      model: path,
      ...(clipL && { clipL }),
      ...(clipG && { clipG }),
      // One flag for both, as in KoboldCpp.
      ...(llm && { [isT5(beginning(llm)) ? 't5Xxl' : 'llm']: llm }),
      ...(vae && { vae }),
    },
    config: configOf(settings, family, threads),
    upscaler,
    loras,
    tiledFrom: settings.sdtiledvae,
    threads,
  };
}

const weightTypes = ['', 'q8_0', 'q4_0'];

function configOf(settings: Settings, family: Family, threads: number): DriverConfig {
  const { sdconvdirect: direct, sdvramlimit, sdmaingpu } = settings;
  const weights = weightTypes[settings.sdquant];
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
    // Merging into the weights crashes if a LoRA has no tensors for the text encoder.
    lora_apply_mode: 'at_runtime',
    // The driver does not detect it.
    ...(family === 'flux2' ? { prediction: 'flux2_flow' } : {}),
  };
}

/** Devices of the parts of a model, for parts with their own device. */
function backendOf({ usecpu, sdclipdevice, sdvaedevice, sdmaingpu }: Settings): string | undefined {
  if (usecpu) return undefined;
  const devices = [
    ['te', sdclipdevice],
    ['vae', sdvaedevice],
  ].flatMap(([part, device = '']) => (/^cpu$/i.test(device) ? [`${part}=cpu`] : gpuDevice(part ?? '', device)));
  if (devices.length === 0) return undefined;
  return [...(sdmaingpu >= 0 ? gpuDevice('diffusion', String(sdmaingpu)) : []), ...devices].join(',');
}

/** `main` and `-1` mean the device of the model. */
function gpuDevice(part: string, device: string): readonly string[] {
  if (!/^\d+$/.test(device)) return [];
  return [`${part}=${process.platform === 'darwin' ? 'metal' : `vulkan${device}`}`];
}

/** Of the driver, without the names that it maps to another sampler. */
const samplers =
  'euler_a euler heun dpm2 dpm++2s_a dpm++2m dpm++2mv2 ipndm ipndm_v lcm ddim_trailing tcd res_multistep res_2s'.split(
    ' ',
  );
const schedulers =
  'discrete karras exponential ays gits sgm_uniform simple smoothstep kl_optimal lcm bong_tangent'.split(' ');

/** Families of models, with their defaults. Flow-matching models do not work with ancestral samplers. */
const families = {
  sd1: { size: 512, guidance: 7, flow: false },
  sd2: { size: 768, guidance: 7, flow: false },
  sdxl: { size: 1024, guidance: 7, flow: false },
  sd3: { size: 1024, guidance: 5, flow: true },
  flux: { size: 1024, guidance: 3.5, flow: true },
  flux2: { size: 1024, guidance: 3.5, flow: true },
  other: { size: 1024, guidance: 5, flow: true },
};
export type Family = keyof typeof families;

/** Scale of most ESRGAN files. */
export const upscalerScale = 4;

interface DiffusionModel extends Pick<DiffusionOptions, 'family' | 'upscaler'> {
  readonly path: string;
  readonly vae?: string | undefined;
  readonly loras: Loras['offered'];
}

/** Known without loading the model. */
export function diffusionFacts({ path, family, upscaler, vae, loras }: DiffusionModel): ImageFacts {
  const { size, guidance, flow } = families[family];
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
    // Its driver sends no images on the way.
    previews: false,
    defaults: { steps: 20, guidance, size },
    loras: loras.map(({ name: lora, path: file }) => ({ name: lora, file: basename(file) })),
    ...(vae === undefined ? {} : { vae: basename(vae) }),
  };
}

/** More than the tensor names take in any of the formats, all of which have them at the start. */
const beginningBytes = 4 * 2 ** 20;

/** Tensor names of each family; the first match counts. */
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

/** Whether a text encoder is a T5 and not a language model. */
export function isT5(beginning: string): boolean {
  return /enc\.blk\.\d|encoder\.block\.\d/.test(beginning);
}

/** The start of a file, which has its tensor names; empty if it cannot be read. */
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

interface Loras {
  /** Applied to every image. */
  readonly fixed: readonly (LoraFile & { readonly weight: number })[];
  /** Applied on request. */
  readonly offered: readonly LoraFile[];
}

/** `--sdlora`: files with a weight are always applied; files with weight 0 and all files in folders only on request. */
export function findLoras(paths: readonly string[], weights: readonly number[]): Loras {
  const fixed: (LoraFile & { weight: number })[] = [];
  const offered: string[] = [];
  for (const [index, entry] of paths.entries()) {
    const path = resolve(entry);
    const weight = weights[index] ?? weights[0] ?? 1;
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) offered.push(...filesIn(path));
    else if (weight === 0) offered.push(path);
    else fixed.push({ name: nameOfFile(path), path, weight });
  }
  return { fixed, offered: named(offered) };
}

/** The file for the driver, which applies only one, at weight 1. Anything else is rejected rather than ignored. */
export function chosenLora(requested: readonly RequestedLora[], { fixed, offered }: Loras): string | undefined {
  const weightsByPath = new Map(fixed.map(({ path, weight }) => [path, weight]));
  for (const { name, weight } of requested) {
    const plain = name.toLowerCase();
    const lora = offered.find((one) => one.name.toLowerCase() === plain || basename(one.path).toLowerCase() === plain);
    if (!lora) {
      const names = offered.map((each) => each.name).join(', ') || 'none: no LoRA is there';
      throw new AppError('invalid-field', { field: 'lora', expected: `one of ${names}` });
    }
    weightsByPath.set(lora.path, (weightsByPath.get(lora.path) ?? 0) + weight);
  }
  const used = [...weightsByPath].filter(([, weight]) => weight !== 0);
  const [first] = used;
  if (used.length > 1) throw refused('More than one LoRA at a time');
  if (first && first[1] !== 1) throw refused(`A LoRA with the weight ${first[1]}`);
  return first?.[0];
}

function refused(feature: string): AppError {
  const instead = 'the image engine applies one LoRA at a time, and only with the weight 1';
  return new AppError('unsupported', { feature, instead });
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:safetensors|gguf)$/i.test(entry.name))
    .map(({ name }) => join(folder, name))
    .sort();
}

/** Files with the same name get numbers. */
function named(paths: readonly string[]): readonly LoraFile[] {
  const seen = new Map<string, number>();
  return [...new Set(paths)].map((path) => {
    const name = nameOfFile(path);
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return { name: count === 1 ? name : `${name}_${count}`, path };
  });
}

export function nameOfFile(path: string): string {
  return basename(path).replace(/\.(?:safetensors|gguf|ckpt|pth|pt|bin)$/i, '');
}
