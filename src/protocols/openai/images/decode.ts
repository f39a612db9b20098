import type { ImageFacts, ImageRequest } from '../../../core/image.ts';
import type { OutputFormat, PictureEditor, Size } from '../../../core/pictures.ts';
import type { JsonObject } from '../../../http/body.ts';
import type { Call } from '../../../http/call.ts';
import { wrong } from '../../fields/readers.ts';
import { readFields } from '../../fields/table.ts';
import { fitted, fittedMask, maskOfChannel } from '../../pictures/pixels.ts';
import {
  defaultPreviewEvery,
  imageRequest,
  knownLoras,
  type PictureParts,
  withoutLoraTags,
} from '../../pictures/request.ts';
import { formPictures, type SentPicture } from '../../pictures/sent-picture.ts';
import { type AnswerFields, editFields, generationFields, type PictureFields, variationFields } from './fields.ts';

/** One request for pictures, and how its answer is to look. */
export interface Question {
  /** With the pictures as they were sent. */
  readonly request: ImageRequest;
  /** The request with its pictures decoded and brought to size: to be called when its turn has come. */
  readonly prepared: (editor: PictureEditor, signal: AbortSignal) => Promise<ImageRequest>;
  readonly fields: AnswerFields;
  readonly format: OutputFormat;
  readonly quality: number;
  readonly stream: boolean;
  /** How many pictures on the way are shown, of each. */
  readonly partials: number;
  readonly notes: readonly string[];
}

export type DecodeParts = Pick<PictureParts, 'sizes' | 'randomSeed'> & { readonly facts: ImageFacts };

export function decodeGeneration(body: JsonObject, parts: DecodeParts): Question {
  const fields = readFields(generationFields, body);
  return { ...question({ ...fields, prompt: fields.prompt }, undefined, parts), ...shapeOf(fields) };
}

export async function decodeEdit(call: Call, body: JsonObject, parts: DecodeParts): Promise<Question> {
  const fields = readFields(editFields, body);
  const pictures = [...(await formPictures(call, 'image')), ...fields.image, ...fields.images];
  const mask = (await formPictures(call, 'mask'))[0] ?? fields.mask;
  const [picture, ...others] = pictures;
  if (!picture) throw wrong('image', 'a picture');
  if (mask && (mask.width !== picture.width || mask.height !== picture.height)) {
    throw wrong(
      'mask',
      `as large as the picture, ${picture.width}x${picture.height}, and not ${mask.width}x${mask.height}`,
    );
  }
  const shape = shapeOf(fields);
  const asked = question(fields, picture, parts);
  const request: ImageRequest = {
    ...asked.request,
    previewEvery: previewEvery(asked.request, { ...shape, genkey: fields.genkey }),
    initial: picture.bytes,
  };
  return {
    ...asked,
    ...shape,
    request,
    prepared: async (editor, signal) => {
      const painted = await paintedMask({ picture, mask, size: request }, editor, signal);
      // A hole in a picture is filled whole; a picture without one keeps something of itself.
      const strength = painted && fields.denoising_strength === undefined ? 1 : request.strength;
      const initial = await fitted(editor, picture, request, 'cover', signal);
      return { ...request, initial, strength, ...(painted ? { mask: painted } : {}) };
    },
    notes: [...asked.notes, ...onlyFirst(others)],
  };
}

export async function decodeVariation(call: Call, body: JsonObject, parts: DecodeParts): Promise<Question> {
  const fields = readFields(variationFields, body);
  const [picture, ...others] = [...(await formPictures(call, 'image')), ...fields.image];
  if (!picture) throw wrong('image', 'a picture');
  const asked = question({ ...fields, prompt: '' }, picture, parts);
  const request = { ...asked.request, initial: picture.bytes };
  return {
    ...asked,
    request,
    prepared: async (editor, signal) => ({
      ...request,
      initial: await fitted(editor, picture, request, 'cover', signal),
    }),
    notes: [...asked.notes, ...onlyFirst(others)],
  };
}

function question(
  fields: AnswerFields & { readonly prompt: string } & Partial<PictureFields>,
  picture: SentPicture | undefined,
  { facts, ...parts }: DecodeParts,
): Question {
  const tagged = withoutLoraTags(fields.prompt);
  const listed = fields.lora ?? [];
  const { loras, notes } = knownLoras(listed.length > 0 ? listed : tagged.loras, facts);
  const own: Size | undefined = fields.size ?? picture;
  const bounded = imageRequest(
    {
      prompt: tagged.prompt,
      loras,
      negativePrompt: fields.negative_prompt,
      width: own?.width ?? fields.width,
      height: own?.height ?? fields.height,
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
    parts,
  );
  const plain = { format: 'png', quality: 100, stream: false, partials: 0 } as const;
  const shown = { stream: fields.stream ?? false, partials: fields.partial_images ?? 0, genkey: fields.genkey };
  const request = { ...bounded, previewEvery: previewEvery(bounded, shown) };
  return {
    ...plain,
    request,
    prepared: async () => request,
    fields,
    notes,
  };
}

function shapeOf(fields: PictureFields): Pick<Question, 'format' | 'quality' | 'stream' | 'partials'> {
  const { output_format: format, output_compression: quality, stream, partial_images: partials } = fields;
  return { format, quality, stream, partials };
}

/** So that as many come as are wanted, evenly spread; without a stream, now and then for whoever looks by the key. */
function previewEvery(
  { steps }: ImageRequest,
  { stream, partials, genkey }: Pick<Question, 'stream' | 'partials'> & { readonly genkey: string },
): number {
  if (!stream) return genkey === '' ? 0 : defaultPreviewEvery;
  return partials > 0 ? Math.max(1, Math.floor(steps / (partials + 1))) : 0;
}

/** What is transparent in the mask, or without one in the picture itself. */
async function paintedMask(
  {
    picture,
    mask,
    size,
  }: { readonly picture: SentPicture; readonly mask: SentPicture | undefined; readonly size: Size },
  editor: PictureEditor,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const shape = { size, fit: 'cover', signal } as const;
  if (!mask) return maskOfChannel(editor, picture, 'alpha', shape);
  return (await maskOfChannel(editor, mask, 'alpha', shape)) ?? fittedMask(editor, mask, shape);
}

function onlyFirst(others: readonly SentPicture[]): readonly string[] {
  return others.length > 0 ? ['The model begins from one picture: only the first one counts'] : [];
}
