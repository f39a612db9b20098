import { isUtf8 } from 'node:buffer';
import { type Content, text } from '../../chat/messages.ts';
import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject } from '../controls/fields.ts';
import { refuseMedia } from '../dialect.ts';
import { invalid, optionalText, requiredText } from './fields.ts';

type PartReader = (part: JsonObject, at: string) => string;

const textPart: PartReader = (part, at) => requiredText(part, 'text', at);

/** What each kind of part says to the model. Clients use the kinds of text for one another, so none is refused. */
const partReaders = new Map<unknown, PartReader>([
  ['input_text', textPart],
  ['output_text', textPart],
  ['text', textPart],
  ['summary_text', textPart],
  ['reasoning_text', textPart],
  ['refusal', (part, at) => requiredText(part, 'refusal', at)],
  ['input_file', filePart],
  [
    'input_image',
    (_, at) => {
      throw refuseMedia('image', at);
    },
  ],
  [
    'input_audio',
    (_, at) => {
      throw refuseMedia('audio', at);
    },
  ],
]);

/** A text, or a list of parts; `at` is where it stands in the body. */
export function readContent(value: unknown, at: string): Content {
  if (isAbsent(value)) return [];
  if (typeof value === 'string') return text(value);
  if (!Array.isArray(value)) throw invalid(at, 'a string or an array of content parts');
  return value.flatMap((part, index): Content => {
    const place = `${at}[${index}]`;
    if (!isObject(part)) throw invalid(place, 'an object');
    const read = partReaders.get(part.type);
    if (!read) throw invalid(`${place}.type`, `one of ${[...partReaders.keys()].join(', ')}`);
    return text(read(part, place));
  });
}

/** A file whose text came along is read to the model; anything else would have to be guessed at. */
function filePart(part: JsonObject, at: string): string {
  const data = optionalText(part, 'file_data', at);
  const name = optionalText(part, 'filename', at);
  if (data === undefined) throw refuseFile(at, 'only files that are sent along in file_data can be read');
  const bytes = Buffer.from(data.replace(/^data:[^,]*,/, ''), 'base64');
  if (bytes.length === 0 || !isUtf8(bytes) || bytes.includes(0)) throw refuseFile(at, 'only text files can be read');
  return `${name === undefined ? '' : `${name}:\n`}${bytes.toString('utf8')}\n`;
}

function refuseFile(at: string, instead: string): AppError {
  return new AppError('unsupported', { feature: `File input (${at})`, instead });
}
