import type { OutputFormat, Size } from '../../../core/pictures.ts';
import { looseNumber, looseWholeWithin } from '../../fields/loose.ts';
import {
  described,
  isAbsent,
  isObject,
  listOf,
  oneOf,
  orElse,
  type Read,
  readName,
  readText,
  wrong,
} from '../../fields/readers.ts';
import { base64Schema, objectSchema, textSchema } from '../../fields/schemas.ts';
import {
  approximated,
  aside,
  each,
  type Fields,
  fidelityOf,
  honoured,
  ignored,
  places,
  refused,
  withSchema,
} from '../../fields/table.ts';
import { drawingFields, looseSwitch, optionalLoose, unusedDrawingFields } from '../../pictures/fields.ts';
import { mostPictures } from '../../pictures/request.ts';
import { readOptionalPicture, type SentPicture } from '../../pictures/sent-picture.ts';
import { unsupportedField } from '../errors.ts';
import { dialect } from '../fields.ts';

/** Forms have only texts, so that numbers may be texts in JSON too. */
function countBetween(least: number, most: number, fallback: number): Read<number> {
  return described(
    { type: 'integer', minimum: least, maximum: most, default: fallback },
    orElse((value, path) => {
      const count = looseNumber(value, path);
      if (Number.isInteger(count) && count >= least && count <= most) return count;
      throw wrong(path, `a whole number from ${least} to ${most}`);
    }, fallback),
  );
}

/** Some clients write words in front of the numbers. */
const readSize: Read<Size | undefined> = described({ type: 'string', examples: ['512x512', 'auto'] }, (value, path) => {
  if (isAbsent(value) || value === '' || value === 'auto') return undefined;
  const [, width, height] = /(\d{1,9})\s*[x×*]\s*(\d{1,9})$/i.exec(readText(value, path).trim().slice(-40)) ?? [];
  if (!(Number(width) > 0 && Number(height) > 0)) throw wrong(path, 'auto, or a width and a height such as 512x512');
  return { width: Number(width), height: Number(height) };
});

const readFormat: Read<OutputFormat> = described(
  { enum: ['png', 'jpeg', 'webp'], default: 'png' },
  orElse((value, path) => {
    const name = readText(value, path).trim().toLowerCase();
    if (name === 'jpg') return 'jpeg';
    if (name === 'gif' || name === 'svg') {
      throw unsupportedField(path, `${name} cannot be made here; png, jpeg and webp are possible`, 'unsupported_value');
    }
    return oneOf('png', 'jpeg', 'webp')(name || 'png', path);
  }, 'png'),
);

/** Base64, a data URL, or an object that holds one. */
const pictureSchema = { anyOf: [base64Schema, objectSchema] };
const readOne: Read<SentPicture | undefined> = described(pictureSchema, (value, path) => {
  if (!isObject(value)) return readOptionalPicture(value, path);
  if (!isAbsent(value.file_id)) throw unsupportedField(`${path}.file_id`, 'the server keeps no files; send a data URL');
  const address = isObject(value.image_url) ? value.image_url.url : value.image_url;
  return readOptionalPicture(address ?? readName(undefined, `${path}.image_url`), `${path}.image_url`);
});

const readSeveral: Read<readonly SentPicture[]> = described(
  { anyOf: [pictureSchema, { type: 'array', items: pictureSchema }] },
  (value, path) => {
    if (isAbsent(value)) return [];
    const sent = Array.isArray(value) ? listOf(readOne)(value, path) : [readOne(value, path)];
    return sent.filter((picture) => picture !== undefined);
  },
);

const answerFields = {
  model: withSchema(textSchema, aside('approximated', 'Any name: the image model of the server is used.')),
  n: honoured(countBetween(1, mostPictures, 1), `1 to ${mostPictures}.`),
  size: honoured(readSize, 'Any; moved to what the model can draw. The reply has the true one.'),
  width: honoured(optionalLoose, 'size wins.'),
  height: honoured(optionalLoose, 'As width.'),
  response_format: honoured(orElse(oneOf('url', 'b64_json'), 'b64_json'), 'url adds a data URL to b64_json.'),
  user: ignored(),
  ...drawingFields,
  ...unusedDrawingFields,
};

const pictureFields = {
  output_format: honoured(readFormat, 'png, jpeg or webp; gif and svg are refused.'),
  output_compression: honoured(orElse(looseWholeWithin(0, 100), 100), 'For jpeg and webp.'),
  stream: honoured(orElse<boolean>(looseSwitch, false)),
  partial_images: approximated(countBetween(0, 3, 0), 'Up to 3, if the model has previews.'),
  quality: ignored('Use steps.'),
  background: ignored('Pictures are opaque.'),
  ...each(['style', 'moderation', 'safety_identifier'], ignored()),
};

const promptField = honoured(readName, 'Up to 3000 bytes.');

const generationFields = {
  prompt: promptField,
  ...answerFields,
  ...pictureFields,
  ...each(['complexity', 'frame_count', 'frame_duration_ms', 'svg'], ignored()),
};

const imageNote = 'Only the first is used: a file of the form, base64, or a data URL. Addresses are not followed.';

const editFields = {
  prompt: promptField,
  image: honoured(readSeveral, imageNote),
  images: honoured(readSeveral, 'The same as a list of objects with image_url.'),
  ...places({ 'images[].file_id': refused('The server stores no files.') }),
  mask: approximated(readOne, 'Repaints what is transparent, or white if nothing is. As large as the picture.'),
  ...answerFields,
  ...pictureFields,
  input_fidelity: ignored('Use denoising_strength.'),
};

const variationFields = {
  image: honoured(readSeveral, imageNote),
  ...answerFields,
};

/** An edit has all fields; the other endpoints have some of them. */
export type ImageFields = Fields<typeof editFields>;

/** The endpoints below `/v1/images`: `input` is what they take besides words, `events` the prefix of their events. */
export const imageKinds = {
  generations: {
    fields: generationFields,
    fidelity: fidelityOf(dialect, 'POST /v1/images/generations', generationFields),
    input: 'none',
    events: 'image_generation',
    summary: 'Pictures from words.',
  },
  edits: {
    fields: editFields,
    fidelity: fidelityOf(dialect, 'POST /v1/images/edits', editFields),
    input: 'picture and mask',
    events: 'image_edit',
    summary: 'Pictures from another one and words.',
  },
  variations: {
    fields: variationFields,
    fidelity: fidelityOf(dialect, 'POST /v1/images/variations', variationFields),
    input: 'picture',
    events: 'image_edit',
    summary: 'Pictures like another one.',
  },
} as const;

export type ImageKind = (typeof imageKinds)[keyof typeof imageKinds];

export const imagesFidelity = Object.values(imageKinds).map(({ fidelity }) => fidelity);
