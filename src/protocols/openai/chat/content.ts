import { isUtf8 } from 'node:buffer';
import { type Content, type ContentPart, text } from '../../../chat/messages.ts';
import { isObject } from '../../controls/fields.ts';
import { refuseMedia } from '../../dialect.ts';
import { unsupportedField } from '../errors.ts';
import { optionalObject, optionalText, requiredText, wrong } from '../fields.ts';

/** A text, or a list of parts whose texts are joined with nothing between. */
export function decodeContent(value: unknown, path: string): Content {
  if (typeof value === 'string') return text(value);
  if (!Array.isArray(value)) throw wrong(path, 'a string or an array of content parts');
  return value.flatMap((part, index) => decodePart(part, `${path}[${index}]`));
}

type PartReader = (part: Readonly<Record<string, unknown>>, path: string) => Content;

const readers: Readonly<Record<string, PartReader>> = {
  text: (part, path) => text(optionalText(part, 'text', `${path}.text`) ?? ''),
  refusal: (part, path) => text(optionalText(part, 'refusal', `${path}.refusal`) ?? ''),
  image_url: (_, path) => {
    throw refuseMedia('image', path);
  },
  image: (_, path) => {
    throw refuseMedia('image', path);
  },
  input_audio: (_, path) => {
    throw refuseMedia('audio', path);
  },
  file: fileText,
};

function decodePart(part: unknown, path: string): readonly ContentPart[] {
  if (typeof part === 'string') return text(part);
  if (!isObject(part)) throw wrong(path, 'a content part');
  const type = requiredText(part, 'type', `${path}.type`);
  const read = Object.hasOwn(readers, type) ? readers[type] : undefined;
  if (!read) throw unsupportedField(`${path}.type`, 'text is what this server can read', 'unsupported_value');
  return read(part, path);
}

const dataUrl = /^data:([^;,]*)(?:;[^;,=]+=[^;,]*)*;base64,/;

/** A text file is as good as its text; every other kind would have to be understood first. */
function fileText(part: Readonly<Record<string, unknown>>, path: string): Content {
  const file = optionalObject(part, 'file', `${path}.file`) ?? {};
  const data = optionalText(file, 'file_data', `${path}.file.file_data`) ?? '';
  const header = dataUrl.exec(data);
  const bytes = Buffer.from(header ? data.slice(header[0].length) : '', 'base64');
  if (!header || !isText(header[1] ?? '') || !isUtf8(bytes)) {
    throw unsupportedField(`${path}.file`, 'send a text file as a data URL in file_data', 'unsupported_value');
  }
  return text(bytes.toString('utf8'));
}

function isText(mime: string): boolean {
  return mime === '' || mime.startsWith('text/') || /^application\/(json|xml|yaml|x-yaml|toml|javascript)$/.test(mime);
}
