import type { ImageFacts, ImageRequest } from '../../core/image.ts';
import type { PictureEditor } from '../../core/pictures.ts';
import { clamp, wrong } from '../fields/readers.ts';
import { knownLoras, withoutLoraTags } from '../pictures/lora-tags.ts';
import { fitted, fittedMask } from '../pictures/pixels.ts';
import { imageRequest, type PictureParts, usualPreviewEvery } from '../pictures/request.ts';
import type { SentPicture } from '../pictures/sent-picture.ts';
import { type Enlarging, enlargedSize, usualUpscaler } from '../pictures/upscaling.ts';
import type { DrawFields } from './fields.ts';

/** One request as it is to be carried out. */
export interface Plan {
  readonly request: ImageRequest;
  /** The picture to begin from, and where it is to change; brought to the size of the request when its time comes. */
  readonly initial: SentPicture | undefined;
  readonly mask: SentPicture | undefined;
  /** Nothing is drawn: the initial picture comes back in the size that was asked for. */
  readonly passThrough: boolean;
  readonly enlarging: Enlarging | undefined;
  readonly notes: readonly string[];
}

export function decodeDrawing(
  fields: DrawFields,
  { facts, needsInitial }: { readonly facts: ImageFacts; readonly needsInitial: boolean },
  parts: Pick<PictureParts, 'sizes' | 'randomSeed'>,
): Plan {
  const { adapter, extra_images: extras } = fields;
  const initial = fields.init_images[0] ?? (extras.length === 1 && !fields.mask ? extras[0] : undefined);
  if (needsInitial && !initial) throw wrong('init_images', 'a list with a picture in it');
  const tagged = withoutLoraTags(joined(fields.prompt, adapter.add_sd_prompt));
  const { loras, notes: unknown } = knownLoras(fields.lora.length > 0 ? fields.lora : tagged.loras, facts);
  const request = imageRequest(
    {
      prompt: tagged.prompt,
      loras,
      negativePrompt: joined(fields.negative_prompt ?? '', adapter.add_sd_negative_prompt),
      width: fields.width,
      height: fields.height,
      steps: fields.steps,
      guidance: fields.cfg_scale,
      sampler: fields.sampler_name || fields.sampler_index,
      scheduler: fields.scheduler,
      seed: fields.seed,
      count: clamp(fields.batch_size ?? 1, 1) * clamp(fields.n_iter ?? 1, 1),
      clipSkip: fields.clip_skip ?? fields.override_settings.CLIP_stop_at_last_layers,
      strength: fields.denoising_strength,
      previewEvery: fields.genkey === '' ? 0 : usualPreviewEvery,
      mostSteps: fields.add_sd_step_limit ?? adapter.add_sd_step_limit,
      mostGuidance: fields.add_sd_cfg_limit ?? adapter.add_sd_cfg_limit,
    },
    facts,
    parts,
  );
  const enlarging = fields.enable_hr ? enlargingOf(fields, request, facts) : undefined;
  return {
    request,
    initial,
    mask: initial ? fields.mask : undefined,
    passThrough: isPassThrough(fields) && initial !== undefined,
    enlarging,
    notes: [
      ...unknown,
      ...(fields.enable_hr && !enlarging ? ['There is no upscaler for enable_hr'] : []),
      ...(fields.mask && !initial ? ['The mask has no effect without init_images'] : []),
      ...(extras.length > 0 && initial !== extras[0] ? ['The model takes no extra_images'] : []),
    ],
  };
}

/** With the pictures in the size of the request: to be called when its turn has come. */
export async function withPictures(
  { request, initial, mask }: Plan,
  fields: DrawFields,
  editor: PictureEditor,
  signal: AbortSignal,
): Promise<ImageRequest> {
  const size = { width: request.width, height: request.height };
  const fit = fields.resize_mode;
  const inverted = fields.inpainting_mask_invert;
  return {
    ...request,
    ...(initial ? { initial: await fitted(editor, initial, size, fit, signal) } : {}),
    ...(mask ? { mask: await fittedMask(editor, mask, { size, fit, inverted, signal }) } : {}),
  };
}

/** Clients that only want a picture enlarged ask for this. */
function isPassThrough({ steps, denoising_strength: strength }: DrawFields): boolean {
  return steps !== undefined && steps <= 1 && strength !== undefined && strength <= 0;
}

function enlargingOf(fields: DrawFields, request: ImageRequest, facts: ImageFacts): Enlarging | undefined {
  const { hr_resize_x: width, hr_resize_y: height } = fields;
  const scale = clamp(fields.hr_scale ?? 2, 1, 4);
  const size = enlargedSize({ width: width || request.width * scale, height: height || request.height * scale });
  const factor = Math.max(size.width / request.width, size.height / request.height);
  const upscaler = usualUpscaler(fields.hr_upscaler, facts, factor);
  return upscaler && { upscaler: upscaler.name, size };
}

function joined(text: string, more: string | undefined): string {
  return [text, more].filter((each) => each).join(', ');
}
