import { isUtf8 } from 'node:buffer';
import { type Content, text } from '../../../chat/messages.ts';
import { isObject } from '../../controls/fields.ts';
import { dataUrlKind } from '../../inline-medium.ts';
import type { Attachments } from '../../media.ts';
import { unsupportedField } from '../errors.ts';
import { optionalObject, optionalText, requiredText, wrong } from '../fields.ts';

/** A text, or a list of parts whose texts are joined with nothing between. */
export function decodeContent(value: unknown, path: string, attachments: Attachments): Content {
  if (typeof value === 'string') return text(value);
  if (!Array.isArray(value)) throw wrong(path, 'a string or an array of content parts');
  return value.flatMap((part, index) => decodePart(part, `${path}[${index}]`, attachments));
}

type Part = Readonly<Record<string, unknown>>;
type PartReader = (part: Part, path: string, attachments: Attachments) => Content;

const readers: Readonly<Record<string, PartReader>> = {
  text: (part, path) => text(optionalText(part, 'text', `${path}.text`) ?? ''),
  refusal: (part, path) => text(optionalText(part, 'refusal', `${path}.refusal`) ?? ''),
  image_url: imageUrl,
  // A form of the native family, which holds the picture itself.
  image: (part, path, attachments) => {
    const format = optionalText(part, 'mime_type', `${path}.mime_type`);
    const field = `${path}.data`;
    return [attachments.add({ kind: 'image', data: requiredText(part, 'data', field), field, format })];
  },
  input_audio: inputAudio,
  file: readFile,
};

function decodePart(part: unknown, path: string, attachments: Attachments): Content {
  if (typeof part === 'string') return text(part);
  if (!isObject(part)) throw wrong(path, 'a content part');
  const type = requiredText(part, 'type', `${path}.type`);
  const read = Object.hasOwn(readers, type) ? readers[type] : undefined;
  if (!read)
    throw unsupportedField(
      `${path}.type`,
      'text, pictures and sounds are what this server can read',
      'unsupported_value',
    );
  return read(part, path, attachments);
}

const dataUrl = /^data:([^;,]*)(?:;[^;,=]+=[^;,]*)*;base64,/;

/** An object with the address, or the address alone: some clients leave the object out. */
function imageUrl(part: Part, path: string, attachments: Attachments): Content {
  const short = typeof part.image_url === 'string';
  const field = short ? `${path}.image_url` : `${path}.image_url.url`;
  const holder = short ? { url: part.image_url } : (optionalObject(part, 'image_url', `${path}.image_url`) ?? {});
  return [attachments.add({ kind: 'image', data: requiredText(holder, 'url', field), field })];
}

function inputAudio(part: Part, path: string, attachments: Attachments): Content {
  const audio = optionalObject(part, 'input_audio', `${path}.input_audio`) ?? {};
  const format = optionalText(audio, 'format', `${path}.input_audio.format`);
  const field = `${path}.input_audio.data`;
  return [attachments.add({ kind: 'audio', data: requiredText(audio, 'data', field), field, format })];
}

/** A text file is as good as its text, and a picture is one in a file too; others would have to be understood first. */
function readFile(part: Part, path: string, attachments: Attachments): Content {
  const file = optionalObject(part, 'file', `${path}.file`) ?? {};
  const field = `${path}.file.file_data`;
  const data = optionalText(file, 'file_data', field) ?? '';
  const kind = dataUrlKind(data);
  if (kind) return [attachments.add({ kind, data, field })];
  const header = dataUrl.exec(data);
  const bytes = Buffer.from(header ? data.slice(header[0].length) : '', 'base64');
  if (!header || !isText(header[1] ?? '') || !isUtf8(bytes)) {
    throw unsupportedField(
      `${path}.file`,
      'send a text file or a picture as a data URL in file_data',
      'unsupported_value',
    );
  }
  return text(bytes.toString('utf8'));
}

function isText(mime: string): boolean {
  return mime === '' || mime.startsWith('text/') || /^application\/(json|xml|yaml|x-yaml|toml|javascript)$/.test(mime);
}
