import type { ImageFacts } from '../../core/image.ts';
import { networksOf } from '../images/request.ts';
import { comfySampler } from '../images/sampler-names.ts';

type Input = readonly [type: string | readonly string[], options?: object];
type Inputs = Readonly<Record<string, Input>>;
type Row = readonly [category: string, outputs: string, inputs: Inputs];

/** The classes of nodes with their inputs and outputs, and the names of models and files as choices. */
export function objectInfo(facts: ImageFacts | undefined, sent: readonly string[]): Readonly<Record<string, object>> {
  const classes = Object.entries(classesOf(facts, sent));
  return Object.fromEntries(classes.map(([name, row]) => [name, described(name, row)]));
}

/** Clients check that every one of these is there. */
function described(name: string, [category, outputs, required]: Row): object {
  const output = outputs === '' ? [] : outputs.split(' ');
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
    output_node: output.length === 0,
  };
}

function number(type: 'INT' | 'FLOAT', initial: number, min: number, max: number, step = 1): Input {
  return [type, { default: initial, min, max, step }];
}

const text: Input = ['STRING', { multiline: true }];
const side = number('INT', 512, 16, 16_384, 8);
const steps = number('INT', 20, 1, 10_000);
const cfg = number('FLOAT', 8, 0, 100, 0.1);
const denoise = number('FLOAT', 1, 0, 1, 0.01);
const strength = number('FLOAT', 1, -100, 100, 0.01);
const seed = number('INT', 0, 0, 2 ** 53 - 1);
const [model, clip, vae] = [['MODEL'], ['CLIP'], ['VAE']] as const;
const [latent, picture, mask] = [['LATENT'], ['IMAGE'], ['MASK']] as const;
const conditioning: Input = ['CONDITIONING'];
const prompts = { positive: conditioning, negative: conditioning, latent_image: latent };
const upscale_method: Input = [['lanczos', 'bicubic', 'bilinear', 'area', 'nearest-exact']];
const none: Input = [[]];
const emptyLatent: Row = ['latent', 'LATENT', { width: side, height: side, batch_size: number('INT', 1, 1, 4096) }];

function classesOf(facts: ImageFacts | undefined, sent: readonly string[]): Readonly<Record<string, Row>> {
  const lora_name: Input = [facts?.loras?.map(({ file }) => file) ?? []];
  const files: Input = [sent, { image_upload: true }];
  const sampling: Inputs = {
    sampler_name: [(facts?.samplers ?? []).map(comfySampler)],
    scheduler: [(facts?.schedulers ?? []).map(scheduleName)],
  };
  const advanced: Inputs = {
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
  };
  const resized: Inputs = { width: side, height: side, crop: [['disabled', 'center']] };
  return {
    KSampler: ['sampling', 'LATENT', { model, seed, steps, cfg, ...sampling, ...prompts, denoise }],
    KSamplerAdvanced: ['sampling', 'LATENT', advanced],
    CheckpointLoaderSimple: ['loaders', 'MODEL CLIP VAE', { ckpt_name: [facts ? [facts.name] : []] }],
    UNETLoader: ['loaders', 'MODEL', { unet_name: none, weight_dtype: [['default']] }],
    UnetLoaderGGUF: ['loaders', 'MODEL', { unet_name: none }],
    VAELoader: ['loaders', 'VAE', { vae_name: none }],
    CLIPLoader: ['loaders', 'CLIP', { clip_name: none, type: [['stable_diffusion']] }],
    DualCLIPLoader: ['loaders', 'CLIP', { clip_name1: none, clip_name2: none, type: [['sdxl', 'flux']] }],
    LoraLoader: [
      'loaders',
      'MODEL CLIP',
      { model, clip, lora_name, strength_model: strength, strength_clip: strength },
    ],
    LoraLoaderModelOnly: ['loaders', 'MODEL', { model, lora_name, strength_model: strength }],
    UpscaleModelLoader: [
      'loaders',
      'UPSCALE_MODEL',
      { model_name: [facts ? networksOf(facts).map(({ name }) => name) : []] },
    ],
    CLIPTextEncode: ['conditioning', 'CONDITIONING', { text, clip }],
    CLIPSetLastLayer: ['conditioning', 'CLIP', { clip, stop_at_clip_layer: number('INT', -1, -24, -1) }],
    ConditioningZeroOut: ['conditioning', 'CONDITIONING', { conditioning }],
    ConditioningCombine: [
      'conditioning',
      'CONDITIONING',
      { conditioning_1: conditioning, conditioning_2: conditioning },
    ],
    FluxGuidance: ['conditioning', 'CONDITIONING', { conditioning, guidance: number('FLOAT', 3.5, 0, 100, 0.1) }],
    EmptyLatentImage: emptyLatent,
    EmptySD3LatentImage: emptyLatent,
    VAEDecode: ['latent', 'IMAGE', { samples: latent, vae }],
    VAEEncode: ['latent', 'LATENT', { pixels: picture, vae }],
    VAEEncodeForInpaint: ['latent', 'LATENT', { pixels: picture, vae, mask, grow_mask_by: number('INT', 6, 0, 64) }],
    SetLatentNoiseMask: ['latent', 'LATENT', { samples: latent, mask }],
    LatentUpscaleBy: ['latent', 'LATENT', { samples: latent, upscale_method, scale_by: scaleBy(1.5) }],
    LoadImage: ['image', 'IMAGE MASK', { image: files }],
    LoadImageMask: ['mask', 'MASK', { image: files, channel: [['alpha', 'red', 'green', 'blue']] }],
    InvertMask: ['mask', 'MASK', { mask }],
    ImageScale: ['image/upscaling', 'IMAGE', { image: picture, upscale_method, ...resized }],
    ImageScaleBy: ['image/upscaling', 'IMAGE', { image: picture, upscale_method, scale_by: scaleBy(1) }],
    ImageUpscaleWithModel: ['image/upscaling', 'IMAGE', { upscale_model: ['UPSCALE_MODEL'], image: picture }],
    ETN_LoadImageBase64: ['external_tooling', 'IMAGE', { image: text }],
    ETN_LoadMaskBase64: ['external_tooling', 'MASK', { mask: text }],
    SaveImage: ['image', '', { images: picture, filename_prefix: ['STRING', { default: 'ComfyUI' }] }],
    PreviewImage: ['image', '', { images: picture }],
    SaveImageWebsocket: ['api/image', '', { images: picture }],
  };
}

function scaleBy(initial: number): Input {
  return number('FLOAT', initial, 0.01, 8, 0.01);
}

function scheduleName(scheduler: string): string {
  const name = scheduler.toLowerCase();
  return name === 'discrete' ? 'normal' : name;
}
