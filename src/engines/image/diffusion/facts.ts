import { basename } from 'node:path';
import type { ImageFacts } from '../../../core/image.ts';
import { builtInUpscalers } from '../facts.ts';
import type { Family } from './checkpoint.ts';
import { nameOfFile } from './file-name.ts';
import type { LoraFile } from './loras.ts';

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

export interface DiffusionModel {
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
