import type { ImageFacts } from '../../core/image.ts';
import { plainSampler } from '../pictures/sampler-names.ts';
import { networksOf } from '../pictures/upscaling.ts';

type Input = readonly [type: string | readonly string[], options?: object];

interface ClassInfo {
  readonly required: Readonly<Record<string, Input>>;
  readonly output: readonly string[];
  readonly category: string;
  readonly outputNode?: true;
}

/** What the classes of nodes take and give, with the names that there are here. */
export function objectInfo(facts: ImageFacts | undefined, sent: readonly string[]): Readonly<Record<string, object>> {
  const classes = Object.entries(classesOf(facts, sent));
  return Object.fromEntries(classes.map(([name, info]) => [name, described(name, info)]));
}

/** Clients check that every one of these is there. */
function described(name: string, { required, output, category, outputNode = undefined }: ClassInfo): object {
  return {
    input: { required },
    input_order: { required: Object.keys(required) },
    output,
    output_is_list: output.map(() => false),
    output_name: output,
    name,
    display_name: name,
    description: '',
    python_module: 'nodes',
    category,
    output_node: outputNode ?? false,
  };
}

const number = (type: 'INT' | 'FLOAT', initial: number, min: number, max: number, step = 1): Input => [
  type,
  { default: initial, min, max, step },
];
const text: Input = ['STRING', { multiline: true }];
const side = number('INT', 512, 16, 16_384, 8);
const strength = number('FLOAT', 1, -100, 100, 0.01);
const seed = number('INT', 0, 0, 2 ** 53 - 1);
const [model, clip, vae] = [['MODEL'], ['CLIP'], ['VAE']] as const;
const [latent, picture, mask] = [['LATENT'], ['IMAGE'], ['MASK']] as const;
const conditioning: Input = ['CONDITIONING'];

function classesOf(facts: ImageFacts | undefined, sent: readonly string[]): Readonly<Record<string, ClassInfo>> {
  const names: Input = [facts ? [facts.name] : []];
  const none: Input = [[]];
  const loras: Input = [facts?.loras?.map(({ file }) => file) ?? []];
  const files: Input = [sent, { image_upload: true }];
  const sampling = {
    sampler_name: [(facts?.samplers ?? []).map(nodeName)] as Input,
    scheduler: [(facts?.schedulers ?? []).map(scheduleName)] as Input,
  };
  const prompts = { positive: conditioning, negative: conditioning, latent_image: latent };
  const steps = number('INT', 20, 1, 10_000);
  const cfg = number('FLOAT', 8, 0, 100, 0.1);
  const empty: ClassInfo = {
    required: { width: side, height: side, batch_size: number('INT', 1, 1, 4096) },
    output: ['LATENT'],
    category: 'latent',
  };
  const loader = (required: ClassInfo['required'], ...output: string[]): ClassInfo => ({
    required,
    output,
    category: 'loaders',
  });
  return {
    KSampler: {
      required: { model, seed, steps, cfg, ...sampling, ...prompts, denoise: number('FLOAT', 1, 0, 1, 0.01) },
      output: ['LATENT'],
      category: 'sampling',
    },
    KSamplerAdvanced: {
      required: {
        model,
        add_noise: [['enable', 'disable']],
        noise_seed: seed,
        steps,
        cfg,
        ...sampling,
        ...prompts,
        start_at_step: number('INT', 0, 0, 10_000),
        end_at_step: number('INT', 10_000, 0, 10_000),
        return_with_leftover_noise: [['disable', 'enable']],
      },
      output: ['LATENT'],
      category: 'sampling',
    },
    CheckpointLoaderSimple: loader({ ckpt_name: names }, 'MODEL', 'CLIP', 'VAE'),
    UNETLoader: loader({ unet_name: none, weight_dtype: [['default']] }, 'MODEL'),
    UnetLoaderGGUF: loader({ unet_name: none }, 'MODEL'),
    VAELoader: loader({ vae_name: none }, 'VAE'),
    CLIPLoader: loader({ clip_name: none, type: [['stable_diffusion']] }, 'CLIP'),
    DualCLIPLoader: loader({ clip_name1: none, clip_name2: none, type: [['sdxl', 'flux']] }, 'CLIP'),
    LoraLoader: loader(
      { model, clip, lora_name: loras, strength_model: strength, strength_clip: strength },
      'MODEL',
      'CLIP',
    ),
    LoraLoaderModelOnly: loader({ model, lora_name: loras, strength_model: strength }, 'MODEL'),
    UpscaleModelLoader: loader(
      { model_name: [facts ? networksOf(facts).map(({ name }) => name) : []] },
      'UPSCALE_MODEL',
    ),
    CLIPTextEncode: { required: { text, clip }, output: ['CONDITIONING'], category: 'conditioning' },
    CLIPSetLastLayer: {
      required: { clip, stop_at_clip_layer: number('INT', -1, -24, -1) },
      output: ['CLIP'],
      category: 'conditioning',
    },
    ConditioningZeroOut: { required: { conditioning }, output: ['CONDITIONING'], category: 'conditioning' },
    ConditioningCombine: {
      required: { conditioning_1: conditioning, conditioning_2: conditioning },
      output: ['CONDITIONING'],
      category: 'conditioning',
    },
    FluxGuidance: {
      required: { conditioning, guidance: number('FLOAT', 3.5, 0, 100, 0.1) },
      output: ['CONDITIONING'],
      category: 'conditioning',
    },
    EmptyLatentImage: empty,
    EmptySD3LatentImage: empty,
    VAEDecode: { required: { samples: latent, vae }, output: ['IMAGE'], category: 'latent' },
    VAEEncode: { required: { pixels: picture, vae }, output: ['LATENT'], category: 'latent' },
    VAEEncodeForInpaint: {
      required: { pixels: picture, vae, mask, grow_mask_by: number('INT', 6, 0, 64) },
      output: ['LATENT'],
      category: 'latent',
    },
    SetLatentNoiseMask: { required: { samples: latent, mask }, output: ['LATENT'], category: 'latent' },
    LatentUpscaleBy: {
      required: { samples: latent, upscale_method: methods, scale_by: number('FLOAT', 1.5, 0.01, 8, 0.01) },
      output: ['LATENT'],
      category: 'latent',
    },
    LoadImage: { required: { image: files }, output: ['IMAGE', 'MASK'], category: 'image' },
    LoadImageMask: {
      required: { image: files, channel: [['alpha', 'red', 'green', 'blue']] },
      output: ['MASK'],
      category: 'mask',
    },
    InvertMask: { required: { mask }, output: ['MASK'], category: 'mask' },
    ImageScale: {
      required: { image: picture, upscale_method: methods, width: side, height: side, crop: [['disabled', 'center']] },
      output: ['IMAGE'],
      category: 'image/upscaling',
    },
    ImageScaleBy: {
      required: { image: picture, upscale_method: methods, scale_by: number('FLOAT', 1, 0.01, 8, 0.01) },
      output: ['IMAGE'],
      category: 'image/upscaling',
    },
    ImageUpscaleWithModel: {
      required: { upscale_model: ['UPSCALE_MODEL'], image: picture },
      output: ['IMAGE'],
      category: 'image/upscaling',
    },
    ETN_LoadImageBase64: { required: { image: text }, output: ['IMAGE'], category: 'external_tooling' },
    ETN_LoadMaskBase64: { required: { mask: text }, output: ['MASK'], category: 'external_tooling' },
    SaveImage: {
      required: { images: picture, filename_prefix: ['STRING', { default: 'ComfyUI' }] },
      output: [],
      category: 'image',
      outputNode: true,
    },
    PreviewImage: { required: { images: picture }, output: [], category: 'image', outputNode: true },
    SaveImageWebsocket: { required: { images: picture }, output: [], category: 'api/image', outputNode: true },
  };
}

const methods: Input = [['lanczos', 'bicubic', 'bilinear', 'area', 'nearest-exact']];

/** The names that this tool has for some of the engines' samplers. */
const nodeNames: Readonly<Record<string, string>> = {
  euler_a: 'euler_ancestral',
  dpm2: 'dpm_2',
  'dpm++2s_a': 'dpmpp_2s_ancestral',
  'dpm++2m': 'dpmpp_2m',
  ddim_trailing: 'ddim',
  euler_a_cfg_pp: 'euler_ancestral_cfg_pp',
  euler_ge: 'gradient_estimation',
};

function nodeName(sampler: string): string {
  const name = plainSampler(sampler);
  return Object.hasOwn(nodeNames, name) ? (nodeNames[name] ?? name) : name;
}

function scheduleName(scheduler: string): string {
  const name = scheduler.toLowerCase();
  return name === 'discrete' ? 'normal' : name;
}
