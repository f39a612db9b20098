/** Text to image, image to image, inpainting, upscaling. The values are stored in the browser. */
export type ImageMode = 'words' | 'picture' | 'paint' | 'upscale';

export interface ImageSettings {
  readonly manner: ImageMode;
  readonly prompt: string;
  readonly negativePrompt: string;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly guidance: number;
  readonly sampler: string;
  /** -1 is random. */
  readonly seed: number;
  readonly count: number;
  /** Denoising strength, from 0 to 1. */
  readonly strength: number;
  readonly upscaler: string;
  readonly factor: number;
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
  seed: -1,
  count: 1,
  strength: 0.6,
  upscaler: '',
  factor: 2,
};

/** base64, without the prefix of a data URL. */
export interface SourceImages {
  readonly picture?: string;
  /** White where the image may change. */
  readonly mask?: string;
}

export interface ImageRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What is missing for a request, for people; undefined if nothing is. */
export function missing({ manner, prompt }: ImageSettings, { picture, mask }: SourceImages): string | undefined {
  if (manner !== 'words' && picture === undefined) return 'Choose a source image.';
  if (manner === 'paint' && mask === undefined) return 'Paint over the part to change.';
  if (manner !== 'upscale' && prompt.trim() === '') return 'Enter a prompt.';
  return undefined;
}

export function imageRequest(settings: ImageSettings, { picture, mask }: SourceImages, genkey: string): ImageRequest {
  if (settings.manner === 'upscale') {
    const body = { image: picture, upscaler_1: settings.upscaler, upscaling_resize: settings.factor, genkey };
    return { path: 'sdapi/v1/extra-single-image', body };
  }
  const common = {
    prompt: settings.prompt,
    negative_prompt: settings.negativePrompt,
    width: settings.width,
    height: settings.height,
    steps: settings.steps,
    cfg_scale: settings.guidance,
    seed: settings.seed,
    batch_size: settings.count,
    genkey,
    ...(settings.sampler === '' ? {} : { sampler_name: settings.sampler }),
  };
  if (settings.manner === 'words') return { path: 'sdapi/v1/txt2img', body: common };
  const begin = { init_images: [picture], denoising_strength: settings.strength };
  const painted = settings.manner === 'paint' ? { mask, mask_blur: 2 } : {};
  return { path: 'sdapi/v1/img2img', body: { ...common, ...begin, ...painted } };
}

export interface GeneratedImage {
  /** base64 */
  readonly image: string;
  readonly seed: number | undefined;
  /** Generation parameters in the format of A1111. */
  readonly parameters: string;
}

/** The images of a response. `info` is JSON as a string. */
export function imagesOf(answer: unknown): GeneratedImage[] {
  const { images, image, info, html_info } = (answer ?? {}) as Record<string, unknown>;
  if (typeof image === 'string') return [{ image, seed: undefined, parameters: textOf(html_info) }];
  if (!Array.isArray(images)) return [];
  const told = infoOf(info);
  return images
    .filter((one): one is string => typeof one === 'string')
    .map((one, index) => ({
      image: one,
      seed: told.all_seeds?.[index] ?? told.seed,
      parameters: told.infotexts?.[index] ?? '',
    }));
}

interface Info {
  readonly seed?: number;
  readonly all_seeds?: readonly number[];
  readonly infotexts?: readonly string[];
}

function infoOf(info: unknown): Info {
  if (typeof info !== 'string') return {};
  try {
    const told: unknown = JSON.parse(info);
    return typeof told === 'object' && told !== null ? (told as Info) : {};
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The base64 part of a data URL. */
export function base64Of(address: string): string {
  return address.replace(/^data:[^,]*,/, '');
}

/** For the `src` of an image. */
export function imageUrl(image: string): string {
  return `data:image/png;base64,${image}`;
}

export function titleOf({ wish }: { readonly wish: Pick<ImageSettings, 'prompt' | 'manner'> }): string {
  return wish.manner === 'upscale' ? 'Upscaled image' : wish.prompt;
}
