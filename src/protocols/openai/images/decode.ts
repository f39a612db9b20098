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
} from '../../pictures/request.ts';
import { fitted, fittedMask, formPictures, maskOfChannel, type SentPicture } from '../../pictures/sent-picture.ts';
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
  const masked = input === 'picture and mask';
  const fields: ImageFields = { ...absentFields, ...readFields(table, body) };
  const [picture, ...rest] = [...(await formPictures(call, 'image')), ...fields.image, ...fields.images];
  if (input !== 'none' && !picture) throw wrong('image', 'a picture');
  const mask = masked ? ((await formPictures(call, 'mask'))[0] ?? fields.mask) : undefined;
  if (picture && mask && (mask.width !== picture.width || mask.height !== picture.height)) {
    const sizes = `${picture.width}x${picture.height}, and not ${mask.width}x${mask.height}`;
    throw wrong('mask', `as large as the picture, ${sizes}`);
  }
  const tagged = withoutLoraTags(fields.prompt);
  const { loras, notes } = knownLoras(fields.lora.length > 0 ? fields.lora : tagged.loras, facts);
  const size: Size | undefined = fields.size ?? picture;
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
    ...(picture && { initial: picture.bytes }),
  };
  /** The request with its pictures decoded and resized, when it is its turn. */
  const prepared = async (editor: ImageEditor, signal: AbortSignal): Promise<ImageRequest> => {
    if (!picture) return request;
    const painted = masked ? await paintedMask(picture, mask, request, editor, signal) : undefined;
    // A hole in a picture is filled completely; a picture without one keeps something of itself.
    const strength = painted && fields.denoising_strength === undefined ? 1 : request.strength;
    const initial = await fitted(editor, picture, request, 'cover', signal);
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

/** What is transparent in the mask, or without a mask in the picture itself. */
async function paintedMask(
  picture: SentPicture,
  mask: SentPicture | undefined,
  size: Size,
  editor: ImageEditor,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const shape = { size, fit: 'cover', signal } as const;
  if (!mask) return maskOfChannel(editor, picture, 'alpha', shape);
  return (await maskOfChannel(editor, mask, 'alpha', shape)) ?? fittedMask(editor, mask, shape);
}
