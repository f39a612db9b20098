import type { GeneratedImage } from './generated-images.ts';
import type { MaskStep } from './mask.ts';
import { texts } from './texts.ts';

/** Text to image, image to image, inpainting, upscaling. The values are stored in the browser. */
export type ImageMode = 'words' | 'picture' | 'paint' | 'upscale';

export interface ImageSettings {
  readonly manner: ImageMode;
  readonly prompt: string;
  readonly negativePrompt: string;
  readonly width: number;
  readonly height: number;
  /** Null leaves it to the model. */
  readonly steps: number | null;
  readonly guidance: number | null;
  /** Empty leaves it to the model. */
  readonly sampler: string;
  readonly scheduler: string;
  readonly loras: readonly { readonly name: string; readonly weight: number }[];
  /** Factor by which the finished image is upscaled; 1 for none. */
  readonly enlarge: number;
  /** -1 is random. */
  readonly seed: number;
  readonly count: number;
  /** Denoising strength, from 0 to 1. */
  readonly strength: number;
  readonly upscaler: string;
  readonly factor: number;
  /** Of a saved inpainting, so that it can be edited again. */
  readonly mask?: readonly MaskStep[];
}

export const defaultSettings: ImageSettings = {
  manner: 'words',
  prompt: '',
  negativePrompt: '',
  width: 256,
  height: 256,
  steps: 12,
  guidance: 2.5,
  sampler: '',
  scheduler: '',
  loras: [],
  enlarge: 1,
  seed: -1,
  count: 1,
  strength: 0.6,
  upscaler: '',
  factor: 2,
};

/** What suits a model, by its name; the server knows the best number of steps. */
export function defaultsOf(
  model: string,
): Pick<ImageSettings, 'width' | 'height' | 'steps' | 'guidance' | 'sampler' | 'scheduler' | 'loras'> {
  const common = { sampler: '', scheduler: '', loras: [] };
  if (model === '' || model.includes('parley-sketch')) {
    const { width, height, steps, guidance } = defaultSettings;
    return { width, height, steps, guidance, ...common };
  }
  const side = /xl|flux|sd[-_ ]?3|qwen|z[-_ ]?image|chroma|hidream/i.test(model) ? 1024 : 512;
  return { width: side, height: side, steps: null, guidance: null, ...common };
}

/** base64, without the prefix of a data URL. */
export interface SourceImages {
  readonly image?: string;
  /** White where the image may change. */
  readonly mask?: string;
}

export interface ImageRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What is missing for a request, for people; undefined if nothing is. */
export function missing({ manner, prompt }: ImageSettings, { image, mask }: SourceImages): string | undefined {
  if (manner !== 'words' && image === undefined) return texts.missing.picture;
  if (manner === 'paint' && mask === undefined) return texts.missing.mask;
  if (manner !== 'upscale' && prompt.trim() === '') return texts.missing.prompt;
  return undefined;
}

export function imageRequest(settings: ImageSettings, { image, mask }: SourceImages, genkey: string): ImageRequest {
  if (settings.manner === 'upscale') {
    const body = { image, upscaler_1: settings.upscaler, upscaling_resize: settings.factor, genkey };
    return { path: 'sdapi/v1/extra-single-image', body };
  }
  const common = {
    prompt: settings.prompt,
    negative_prompt: settings.negativePrompt,
    width: settings.width,
    height: settings.height,
    ...(settings.steps === null ? {} : { steps: settings.steps }),
    ...(settings.guidance === null ? {} : { cfg_scale: settings.guidance }),
    seed: settings.seed,
    batch_size: settings.count,
    genkey,
    ...(settings.sampler === '' ? {} : { sampler_name: settings.sampler }),
    ...(settings.scheduler === '' ? {} : { scheduler: settings.scheduler }),
    ...(settings.loras.length === 0
      ? {}
      : { lora: settings.loras.map(({ name, weight }) => ({ name, multiplier: weight })) }),
    ...(settings.enlarge > 1 ? { enable_hr: true, hr_scale: settings.enlarge } : {}),
  };
  if (settings.manner === 'words') return { path: 'sdapi/v1/txt2img', body: common };
  const begin = { init_images: [image], denoising_strength: settings.strength };
  const painted = settings.manner === 'paint' ? { mask } : {};
  return { path: 'sdapi/v1/img2img', body: { ...common, ...begin, ...painted } };
}

export function titleOf({ wish }: { readonly wish: Pick<ImageSettings, 'prompt' | 'manner'> }): string {
  return wish.manner === 'upscale' ? texts.view.upscaled(wish.prompt) : wish.prompt;
}

/** An image of the history, with the settings that made it. */
type Origin = Omit<GeneratedImage, 'image'> & { readonly wish: ImageSettings };

/** What is kept with the results. An upscaled image keeps the prompt and the settings of the image that it was made of. */
export function keptSettings(settings: ImageSettings, origin: Origin | undefined): ImageSettings {
  const { manner, upscaler, factor } = settings;
  if (manner !== 'upscale') return settings;
  const before = origin ? { ...origin.wish, seed: origin.seed ?? origin.wish.seed } : defaultSettings;
  return { ...before, manner, upscaler, factor };
}

/** The server reports neither a seed nor parameters of an upscaled image. */
export function withOrigin(image: GeneratedImage, origin: Origin | undefined): GeneratedImage {
  return { ...image, seed: image.seed ?? origin?.seed, parameters: image.parameters || (origin?.parameters ?? '') };
}

/** A value of the generation parameters, such as `Seed` of `Steps: 20, Seed: 7`. */
export function parameterOf(parameters: string, name: string): string | undefined {
  const [, quoted, plain] =
    new RegExp(`(?:^|, )${name}: (?:"((?:[^"\\\\]|\\\\.)*)"|([^,\\n]+))`, 'm').exec(parameters) ?? [];
  return quoted ?? plain?.trim();
}

/** Settings from generation parameters by their names in image programs. */
export function settingsOf(parameters: Readonly<Record<string, string>>): Partial<ImageSettings> {
  const scheduler = parameters['Schedule type'] ?? parameters.Scheduler ?? '';
  return {
    prompt: parameters.Prompt ?? '',
    negativePrompt: parameters['Negative prompt'] ?? '',
    sampler: parameters.Sampler ?? '',
    scheduler: scheduler === 'Automatic' ? '' : scheduler,
    loras: [],
    steps: numberOf(parameters.Steps) ?? null,
    guidance: numberOf(parameters['CFG scale']) ?? null,
    seed: numberOf(parameters.Seed) ?? -1,
    width: numberOf(parameters['Size-1']) ?? defaultSettings.width,
    height: numberOf(parameters['Size-2']) ?? defaultSettings.height,
    ...optional('strength', numberOf(parameters['Denoising strength'])),
  };
}

function numberOf(text: string | undefined): number | undefined {
  const value = Number(text?.trim() || Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}

function optional(name: 'strength', value: number | undefined): Partial<ImageSettings> {
  return value === undefined ? {} : { [name]: value };
}

/** The upscaler for this factor: the smallest network that reaches it, or the last one, which is the largest. */
export function upscalerFor(upscalers: readonly string[], factor: number): string {
  const scaleOf = (name: string): number => Number(/(\d+)x$/i.exec(name)?.[1] ?? 0);
  const large = upscalers.filter((name) => scaleOf(name) >= factor).sort((a, b) => scaleOf(a) - scaleOf(b));
  return large[0] ?? upscalers.at(-1) ?? '';
}
