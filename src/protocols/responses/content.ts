import { isUtf8 } from 'node:buffer';
import { type Content, text } from '../../chat/messages.ts';
import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject, optionalText, readAt, readText, wrong } from '../fields/readers.ts';
import { type Attachments, dataUrlKind } from '../media.ts';

type PartReader = (part: JsonObject, at: string, attachments: Attachments) => Content;

const textPart: PartReader = (part, at) => text(readAt(part, 'text', at, readText));

/** What each kind of part says to the model. Clients use the kinds of text for one another, so none is refused. */
const partReaders = new Map<unknown, PartReader>([
  ['input_text', textPart],
  ['output_text', textPart],
  ['text', textPart],
  ['summary_text', textPart],
  ['reasoning_text', textPart],
  ['refusal', (part, at) => text(readAt(part, 'refusal', at, readText))],
  ['input_file', filePart],
  ['input_image', imagePart],
  ['input_audio', audioPart],
]);

/** A text, or a list of parts; `at` is where it stands in the body. */
export function readContent(value: unknown, at: string, attachments: Attachments): Content {
  if (isAbsent(value)) return [];
  if (typeof value === 'string') return text(value);
  if (!Array.isArray(value)) throw wrong(at, 'a string or an array of content parts');
  return value.flatMap((part, index): Content => {
    const place = `${at}[${index}]`;
    if (!isObject(part)) throw wrong(place, 'an object');
    const read = partReaders.get(part.type);
    if (!read) throw wrong(`${place}.type`, `one of ${[...partReaders.keys()].join(', ')}`);
    return read(part, place, attachments);
  });
}

/** The address is a text here; the object around it of a neighbouring API is understood too. */
function imagePart(part: JsonObject, at: string, attachments: Attachments): Content {
  if (isAbsent(part.image_url) && !isAbsent(part.file_id)) {
    throw refuseFile('Image', at, 'this server keeps no files; send the picture itself in image_url');
  }
  const inner = isObject(part.image_url)
    ? { holder: part.image_url, name: 'url' }
    : { holder: part, name: 'image_url' };
  const place = isObject(part.image_url) ? `${at}.image_url` : at;
  const data = readAt(inner.holder, inner.name, place, readText);
  return [attachments.add({ kind: 'image', data, field: `${place}.${inner.name}` })];
}

function audioPart(part: JsonObject, at: string, attachments: Attachments): Content {
  const place = `${at}.input_audio`;
  if (!isObject(part.input_audio)) throw wrong(place, 'an object with data and format');
  const format = readAt(part.input_audio, 'format', place, optionalText);
  const data = readAt(part.input_audio, 'data', place, readText);
  return [attachments.add({ kind: 'audio', data, field: `${place}.data`, format })];
}

/** A file whose text came along is read to the model, and a picture shown; anything else would have to be guessed at. */
function filePart(part: JsonObject, at: string, attachments: Attachments): Content {
  const data = readAt(part, 'file_data', at, optionalText);
  const name = readAt(part, 'filename', at, optionalText);
  if (data === undefined) throw refuseFile('File', at, 'only files that are sent along in file_data can be read');
  const kind = dataUrlKind(data);
  if (kind) return [attachments.add({ kind, data, field: `${at}.file_data` })];
  const bytes = Buffer.from(data.replace(/^data:[^,]*,/, ''), 'base64');
  if (bytes.length === 0 || !isUtf8(bytes) || bytes.includes(0)) {
    throw refuseFile('File', at, 'only text files and pictures can be read');
  }
  return text(`${name === undefined ? '' : `${name}:\n`}${bytes.toString('utf8')}\n`);
}

function refuseFile(what: 'File' | 'Image', at: string, instead: string): AppError {
  return new AppError('unsupported', { feature: `${what} input (${at})`, instead });
}
