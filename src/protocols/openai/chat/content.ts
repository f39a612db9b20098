import { isUtf8 } from 'node:buffer';
import { type Content, text } from '../../../chat/messages.ts';
import { isObject, optionalObject, optionalText, readAt, readName, wrong } from '../../fields/readers.ts';
import type { Said } from '../../fields/table.ts';
import { type Attachments, dataUrlKind } from '../../media.ts';
import { unsupportedField } from '../errors.ts';
import { projector } from '../fields.ts';

/** A text, or a list of parts whose texts are joined with nothing between. */
export function decodeContent(value: unknown, path: string, attachments: Attachments): Content {
  if (typeof value === 'string') return text(value);
  if (!Array.isArray(value)) throw wrong(path, 'a string or an array of content parts');
  return value.flatMap((part, index) => decodePart(part, `${path}[${index}]`, attachments));
}

type Part = Readonly<Record<string, unknown>>;
type PartReader = (part: Part, path: string, attachments: Attachments) => Content;

/** What a message may be made of. */
export const partKinds: Readonly<Record<string, Said & { readonly read: PartReader }>> = {
  text: { handling: 'honoured', read: (part, path) => text(readAt(part, 'text', path, optionalText) ?? '') },
  refusal: { handling: 'honoured', read: (part, path) => text(readAt(part, 'refusal', path, optionalText) ?? '') },
  image_url: {
    handling: 'approximated',
    read: imageUrl,
    note: `A data URL, bare base64, or an address on the public internet (10 MB, 10 seconds, at most 16); detail has no effect. ${projector}`,
  },
  // A form of the native family, which holds the picture itself.
  image: { handling: 'honoured', read: image, note: `Base64 in data. ${projector}` },
  input_audio: { handling: 'honoured', read: inputAudio, note: `Base64 or a data URL. ${projector}` },
  file: {
    handling: 'approximated',
    read: readFile,
    note: 'Text files and pictures as data URLs in file_data; all others are refused.',
  },
};

function decodePart(part: unknown, path: string, attachments: Attachments): Content {
  if (typeof part === 'string') return text(part);
  if (!isObject(part)) throw wrong(path, 'a content part');
  const type = readAt(part, 'type', path, readName);
  const kind = Object.hasOwn(partKinds, type) ? partKinds[type] : undefined;
  if (!kind)
    throw unsupportedField(
      `${path}.type`,
      'text, pictures and sounds are what this server can read',
      'unsupported_value',
    );
  return kind.read(part, path, attachments);
}

const dataUrl = /^data:([^;,]*)(?:;[^;,=]+=[^;,]*)*;base64,/;

function image(part: Part, path: string, attachments: Attachments): Content {
  const format = readAt(part, 'mime_type', path, optionalText);
  const data = readAt(part, 'data', path, readName);
  return [attachments.add({ kind: 'image', data, field: `${path}.data`, format })];
}

/** An object with the address, or the address alone: some clients leave the object out. */
function imageUrl(part: Part, path: string, attachments: Attachments): Content {
  const field = `${path}.image_url`;
  if (typeof part.image_url === 'string') {
    return [attachments.add({ kind: 'image', data: readName(part.image_url, field), field })];
  }
  const data = readAt(optionalObject(part.image_url, field) ?? {}, 'url', field, readName);
  return [attachments.add({ kind: 'image', data, field: `${field}.url` })];
}

function inputAudio(part: Part, path: string, attachments: Attachments): Content {
  const place = `${path}.input_audio`;
  const audio = optionalObject(part.input_audio, place) ?? {};
  const format = readAt(audio, 'format', place, optionalText);
  const data = readAt(audio, 'data', place, readName);
  return [attachments.add({ kind: 'audio', data, field: `${place}.data`, format })];
}

/** A text file is as good as its text, and a picture is one in a file too; others would have to be understood first. */
function readFile(part: Part, path: string, attachments: Attachments): Content {
  const file = readAt(part, 'file', path, optionalObject) ?? {};
  const field = `${path}.file.file_data`;
  const data = optionalText(file.file_data, field) ?? '';
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
