import { AppError } from '../core/errors.ts';
import type { Medium } from '../core/request.ts';

/** A picture or a sound as a client sends it. */
export interface SentMedium {
  /** Undefined where the client does not say it; then the bytes do. */
  readonly kind: Medium['kind'] | undefined;
  readonly data: string;
  /** Where it stands in the request. */
  readonly field: string;
  readonly format?: string | undefined;
}

const largestBytes = 32 * 1024 * 1024;
const words: Readonly<Record<Medium['kind'], string>> = { image: 'a picture', audio: 'a sound' };

/** What came along in the request itself: a data URL, or bare base64. */
export function inlineMedium({ kind: told, data, field, format }: SentMedium): Medium {
  const what = told === undefined ? 'a picture or a sound' : words[told];
  const wrong = (expected: string): AppError => new AppError('invalid-field', { field, expected });
  const { type, base64 } = inlineBase64(data, field, what);
  if (base64.length * 0.75 > largestBytes) throw wrong(`${what} of at most ${largestBytes / 1024 / 1024} MB`);
  const kind = told ?? kindOf(base64);
  const known = type || format;
  if (known && contradicts(known, kind)) throw wrong(`${words[kind]}, and ${known.slice(0, 100)} is none`);
  return { kind, base64, ...(known ? { format: known } : {}) };
}

/** The base64 of a data URL or as it is, with the type that a data URL tells. */
export function inlineBase64(data: string, field: string, what: string) {
  const { type, content, encoded } = splitDataUrl(data);
  const base64 = plainBase64(content);
  if (encoded && base64 !== undefined) return { type, base64 };
  throw new AppError('invalid-field', { field, expected: `${what} in base64` });
}

/** Whether a media type says that this is surely something else. Types that say nothing are left to the decoder. */
export function contradicts(type: string, kind: Medium['kind']): boolean {
  const [main = '', sub = ''] = type.toLowerCase().split(/[/;]/);
  // Clients name formats without a slash too (`wav`).
  if (!type.includes('/') || main === kind || main === 'binary') return false;
  return main !== 'application' || /json|xml|html|pdf|javascript/.test(sub);
}

/** For files, which may hold anything: whether a data URL says that it is a picture or a sound. */
export function dataUrlKind(data: string): Medium['kind'] | undefined {
  const main = /^data:(image|audio)\//i.exec(data.slice(0, 20))?.[1]?.toLowerCase();
  return main === 'image' || main === 'audio' ? main : undefined;
}

/** Longer than any honest beginning of a data URL. */
const longestHeader = 200;

function splitDataUrl(data: string): { readonly type: string; readonly content: string; readonly encoded: boolean } {
  if (data.slice(0, 5).toLowerCase() !== 'data:') return { type: '', content: data, encoded: true };
  const comma = data.slice(0, longestHeader).indexOf(',');
  const [type = '', ...more] = data.slice('data:'.length, Math.max(0, comma)).split(';');
  return { type, content: data.slice(comma + 1), encoded: more.at(-1)?.trim().toLowerCase() === 'base64' };
}

/** Without the line breaks that some encoders put in; undefined where it is not base64, of either alphabet. */
function plainBase64(text: string): string | undefined {
  const joined = /\s/.test(text) ? text.replace(/\s+/g, '') : text;
  const end = joined.endsWith('==') ? -2 : joined.endsWith('=') ? -1 : joined.length;
  const digits = joined.slice(0, end);
  // Looked for rather than matched as a whole, which would cost memory for each of millions of characters.
  if (digits === '' || digits.length % 4 === 1 || /[^A-Za-z0-9+/_-]/.test(digits)) return undefined;
  return joined;
}

/** The first bytes of the sounds that engines can read; everything else is taken for a picture. */
function kindOf(base64: string): Medium['kind'] {
  const head = Buffer.from(base64.slice(0, 16), 'base64').toString('latin1');
  const sound =
    (head.startsWith('RIFF') && head.slice(8, 12) === 'WAVE') ||
    /^(ID3|fLaC|OggS)/.test(head) ||
    /^\xff[\xe2-\xff]/.test(head.slice(0, 2));
  return sound ? 'audio' : 'image';
}
