/** How a picture is to be made. */
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
  /** -1 draws one. */
  readonly seed: number;
  readonly count: number;
  /** How much of the picture it begins with is made anew, from 0 to 1. */
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
  guidance: 4,
  sampler: '',
  seed: -1,
  count: 1,
  strength: 0.6,
  upscaler: '',
  factor: 2,
};

/** As base64, without the address that browsers put in front. */
export interface SourceImages {
  readonly picture?: string;
  /** White where it may be changed. */
  readonly mask?: string;
}

export interface ImageRequest {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What is missing, in words; undefined when it can be asked for. */
export function missing({ manner, prompt }: ImageSettings, { picture, mask }: SourceImages): string | undefined {
  if (manner !== 'words' && picture === undefined) return 'Choose a source image.';
  if (manner === 'paint' && mask === undefined) return 'Paint over the part to change.';
  if (manner !== 'upscale' && prompt.trim() === '') return 'Enter a prompt.';
  return undefined;
}

export function imageRequest(wish: ImageSettings, { picture, mask }: SourceImages, genkey: string): ImageRequest {
  if (wish.manner === 'upscale') {
    const body = { image: picture, upscaler_1: wish.upscaler, upscaling_resize: wish.factor, genkey };
    return { path: 'sdapi/v1/extra-single-image', body };
  }
  const common = {
    prompt: wish.prompt,
    negative_prompt: wish.negativePrompt,
    width: wish.width,
    height: wish.height,
    steps: wish.steps,
    cfg_scale: wish.guidance,
    seed: wish.seed,
    batch_size: wish.count,
    genkey,
    ...(wish.sampler === '' ? {} : { sampler_name: wish.sampler }),
  };
  if (wish.manner === 'words') return { path: 'sdapi/v1/txt2img', body: common };
  const begin = { init_images: [picture], denoising_strength: wish.strength };
  const painted = wish.manner === 'paint' ? { mask, mask_blur: 2 } : {};
  return { path: 'sdapi/v1/img2img', body: { ...common, ...begin, ...painted } };
}

export interface GeneratedImage {
  /** base64 */
  readonly image: string;
  readonly seed: number | undefined;
  /** As A1111 writes it into a picture. */
  readonly parameters: string;
}

/** The pictures of an answer with what each was made from; the server tells that as JSON in a text. */
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

/** What base64 stands for, whatever address stands in front of it. */
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
