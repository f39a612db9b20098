import { resolve } from 'node:path';
import type { Settings } from '../../../config/flags.ts';
import type { ImageFacts } from '../../../core/image.ts';
import { beginningOf, type Family, familyOf, isT5 } from './checkpoint.ts';
import { diffusionFacts } from './facts.ts';
import { findLoras, type Loras } from './loras.ts';
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
