import type { OutputFormat, Size } from '../../../core/image-editing.ts';
import * as f from '../../fields.ts';
import { ignoredImageFields, imageRequestFields, looseSwitch, optionalLoose } from '../../images/fields.ts';
import { maxImages } from '../../images/request.ts';
import { readOptionalImage, type SentImage } from '../../images/sent-image.ts';
import { unsupportedField } from '../errors.ts';

/** Forms have only texts, so that numbers may be texts in JSON too. */
function countBetween(min: number, max: number, fallback: number): f.Read<number> {
  return f.described(
    { type: 'integer', minimum: min, maximum: max, default: fallback },
    f.orElse((value, path) => {
      const count = f.looseNumber(value, path);
      if (Number.isInteger(count) && count >= min && count <= max) return count;
      throw f.wrong(path, `a whole number from ${min} to ${max}`);
    }, fallback),
  );
}

/** Some clients write words in front of the numbers. */
const readSize: f.Read<Size | undefined> = f.described(
  { type: 'string', examples: ['512x512', 'auto'] },
  (value, path) => {
    if (f.isAbsent(value) || value === '' || value === 'auto') return undefined;
    const [, width, height] = /(\d{1,9})\s*[x×*]\s*(\d{1,9})$/i.exec(f.readText(value, path).trim().slice(-40)) ?? [];
    if (!(Number(width) > 0 && Number(height) > 0))
      throw f.wrong(path, 'auto, or a width and a height such as 512x512');
    return { width: Number(width), height: Number(height) };
  },
);

const readFormat: f.Read<OutputFormat> = f.described(
  { enum: ['png', 'jpeg', 'webp'], default: 'png' },
  f.orElse((value, path) => {
    const name = f.readText(value, path).trim().toLowerCase();
    if (name === 'jpg') return 'jpeg';
    if (name === 'gif' || name === 'svg') {
      throw unsupportedField(path, `${name} cannot be made here; png, jpeg and webp are possible`, 'unsupported_value');
    }
    return f.oneOf('png', 'jpeg', 'webp')(name || 'png', path);
  }, 'png'),
);

/** Base64, a data URL, or an object that holds one. */
const imageSchema = { anyOf: [f.base64Schema, f.objectSchema] };
const readImage: f.Read<SentImage | undefined> = f.described(imageSchema, (value, path) => {
  if (!f.isObject(value)) return readOptionalImage(value, path);
  if (!f.isAbsent(value.file_id))
    throw unsupportedField(
      `${path}.file_id`,
      'pictures by the id of a file cannot be read here; send a data URL in image_url',
    );
  const address = f.isObject(value.image_url) ? value.image_url.url : value.image_url;
  return readOptionalImage(address ?? f.readName(undefined, `${path}.image_url`), `${path}.image_url`);
});

const readImages: f.Read<readonly SentImage[]> = f.described(
  { anyOf: [imageSchema, { type: 'array', items: imageSchema }] },
  (value, path) => {
    if (f.isAbsent(value)) return [];
    const sent = Array.isArray(value) ? f.listOf(readImage)(value, path) : [readImage(value, path)];
    return sent.filter((image) => image !== undefined);
  },
);

const requestFields = {
  model: f.withSchema(f.textSchema, f.aside('approximated', 'Any name: the image model of the server is used.')),
  n: f.honoured(countBetween(1, maxImages, 1), `1 to ${maxImages}.`),
  size: f.honoured(readSize, 'Any; moved to what the model can draw. The reply has the true one.'),
  width: f.honoured(optionalLoose, 'size wins.'),
  height: f.honoured(optionalLoose, 'As width.'),
  response_format: f.honoured(f.orElse(f.oneOf('url', 'b64_json'), 'b64_json'), 'url adds a data URL to b64_json.'),
  user: f.ignored(),
  ...imageRequestFields,
  ...ignoredImageFields,
};

const outputFields = {
  output_format: f.honoured(readFormat, 'png, jpeg or webp; gif and svg are refused.'),
  output_compression: f.honoured(f.orElse(f.looseWholeWithin(0, 100), 100), 'For jpeg and webp.'),
  stream: f.honoured(f.orElse<boolean>(looseSwitch, false)),
  partial_images: f.approximated(countBetween(0, 3, 0), 'Up to 3, if the model has previews.'),
  quality: f.ignored('Use steps.'),
  background: f.ignored('Pictures are opaque.'),
  ...f.each(['style', 'moderation', 'safety_identifier'], f.ignored()),
};

const promptField = f.honoured(f.readName, 'Up to 3000 bytes.');

const generationFields = {
  prompt: promptField,
  ...requestFields,
  ...outputFields,
  ...f.each(['complexity', 'frame_count', 'frame_duration_ms', 'svg'], f.ignored()),
};

const imageNote = 'Only the first is used: a file of the form, base64, or a data URL. Addresses are not followed.';

const editFields = {
  prompt: promptField,
  image: f.honoured(readImages, imageNote),
  images: f.honoured(readImages, 'The same as a list of objects with image_url.'),
  ...f.positions({ 'images[].file_id': f.refused('Pictures are sent as data URLs in image_url.') }),
  mask: f.approximated(readImage, 'Repaints what is transparent, or white if nothing is. As large as the picture.'),
  ...requestFields,
  ...outputFields,
  input_fidelity: f.ignored('Use denoising_strength.'),
};

const variationFields = { image: f.honoured(readImages, imageNote), ...requestFields };

/** An edit has all fields; the other endpoints have some of them. */
export type ImageFields = f.Fields<typeof editFields>;

type Input = 'none' | 'image' | 'image and mask';

/** An endpoint below `/v1/images`: `input` is what it takes besides words, `events` the prefix of its events. */
function imageKind<Own extends f.Table>(name: string, fields: Own, input: Input, events: string, summary: string) {
  return { path: `/v1/images/${name}`, fields, input, events, summary };
}

export const imageKinds = {
  generations: imageKind('generations', generationFields, 'none', 'image_generation', 'Pictures from words.'),
  edits: imageKind('edits', editFields, 'image and mask', 'image_edit', 'Pictures from another one and words.'),
  variations: imageKind('variations', variationFields, 'image', 'image_edit', 'Pictures like another one.'),
};

export type ImageKind = (typeof imageKinds)[keyof typeof imageKinds];
