import type { ImageFacts, ImageRequest } from '../../../core/image.ts';
import type { ImageEditor, Size } from '../../../core/image-editing.ts';
import type { JsonObject } from '../../../http/body.ts';
import type { Call } from '../../../http/call.ts';
import { readFields, wrong } from '../../fields.ts';
import {
  defaultPreviewEvery,
  type ImageContext,
  imageRequest,
  knownLoras,
  withoutLoraTags,
} from '../../images/request.ts';
import { fitted, fittedMask, formImages, maskOfChannel, type SentImage } from '../../images/sent-image.ts';
import type { ImageFields, ImageKind } from './fields.ts';

const absentFields = {
  prompt: '',
  image: [],
  images: [],
  mask: undefined,
  output_format: 'png',
  output_compression: 100,
  stream: false,
  partial_images: 0,
} as const;

export type DecodedImages = Awaited<ReturnType<typeof decodeImages>>;

type DecodeContext = Pick<ImageContext, 'settings' | 'randomSeed'> & { readonly facts: ImageFacts };

export async function decodeImages(
  call: Call,
  body: JsonObject,
  kind: ImageKind,
  { facts, ...context }: DecodeContext,
) {
  const { fields: table, input } = kind;
  const masked = input === 'image and mask';
  const fields: ImageFields = { ...absentFields, ...readFields(table, body) };
  const [image, ...rest] = [...(await formImages(call, 'image')), ...fields.image, ...fields.images];
  if (input !== 'none' && !image) throw wrong('image', 'a picture');
  const mask = masked ? ((await formImages(call, 'mask'))[0] ?? fields.mask) : undefined;
  if (image && mask && (mask.width !== image.width || mask.height !== image.height)) {
    const sizes = `${image.width}x${image.height}, and not ${mask.width}x${mask.height}`;
    throw wrong('mask', `as large as the picture, ${sizes}`);
  }
  const tagged = withoutLoraTags(fields.prompt);
  const { loras, notes } = knownLoras(fields.lora.length > 0 ? fields.lora : tagged.loras, facts);
  const size: Size | undefined = fields.size ?? image;
  const bounded = imageRequest(
    {
      prompt: tagged.prompt,
      loras,
      negativePrompt: fields.negative_prompt,
      width: size?.width ?? fields.width,
      height: size?.height ?? fields.height,
      steps: fields.steps,
      guidance: fields.cfg_scale,
      sampler: fields.sampler_name,
      scheduler: fields.scheduler,
      seed: fields.seed,
      count: fields.n,
      clipSkip: fields.clip_skip,
      strength: fields.denoising_strength,
    },
    facts,
    context,
  );
  const request: ImageRequest = {
    ...bounded,
    previewEvery: previewEvery(bounded, fields),
    ...(image && { initial: image.bytes }),
  };
  /** The request with its images decoded and resized. Called when it is its turn in the queue. */
  const prepared = async (editor: ImageEditor, signal: AbortSignal): Promise<ImageRequest> => {
    if (!image) return request;
    const painted = masked ? await paintedMask(image, mask, request, editor, signal) : undefined;
    // A hole in an image is filled completely; an image without one keeps something of itself.
    const strength = painted && fields.denoising_strength === undefined ? 1 : request.strength;
    const initial = await fitted(editor, image, request, 'cover', signal);
    return { ...request, initial, strength, ...(painted && { mask: painted }) };
  };
  const onlyFirst = rest.length > 0 ? ['The model starts from one picture: only the first one is used'] : [];
  return { request, prepared, fields, notes: [...notes, ...onlyFirst] };
}

/** Evenly spread previews in a stream; otherwise some for clients that poll by the key. */
function previewEvery({ steps }: ImageRequest, { stream, partial_images: partials, genkey }: ImageFields): number {
  if (!stream) return genkey === '' ? 0 : defaultPreviewEvery;
  return partials > 0 ? Math.max(1, Math.floor(steps / (partials + 1))) : 0;
}

/** What is transparent in the mask, or without a mask in the image itself. */
async function paintedMask(
  image: SentImage,
  mask: SentImage | undefined,
  size: Size,
  editor: ImageEditor,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const shape = { size, fit: 'cover', signal } as const;
  if (!mask) return maskOfChannel(editor, image, 'alpha', shape);
  return (await maskOfChannel(editor, mask, 'alpha', shape)) ?? fittedMask(editor, mask, shape);
}
