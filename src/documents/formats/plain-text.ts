import { attempt } from '../../core/attempt.ts';
import { decodeAs, legacyEncoding } from './encoding.ts';

/** The text of a file in any common encoding, with `\n` at the end of its lines; undefined for one that is no text. */
export function decodeText(bytes: Uint8Array): string | undefined {
  const text = decoded(bytes);
  if (text === undefined) return undefined;
  return text.replace(/\r\n?/g, '\n').replace(/[\0\u{feff}]/gu, '');
}

function decoded(bytes: Uint8Array): string | undefined {
  const marked = encodingOfMark(bytes);
  if (marked !== undefined) return new TextDecoder(marked).decode(bytes);
  const wide = wideEncoding(bytes);
  if (wide !== undefined) return new TextDecoder(wide).decode(bytes);
  if (isBinary(bytes)) return undefined;
  const strictly = () => new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  return attempt(strictly, undefined) ?? decodeAs(legacyEncoding(bytes), bytes);
}

function encodingOfMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined;
}

const sample = 4096;

/** UTF-16 without a mark: nearly every other byte is zero in Latin text. */
function wideEncoding(bytes: Uint8Array): string | undefined {
  const length = Math.min(bytes.length, sample) & ~1;
  if (length < 8 || bytes.length % 2 === 1) return undefined;
  const zeros = [0, 0];
  for (let at = 0; at < length; at += 1) if (bytes[at] === 0) zeros[at & 1] = (zeros[at & 1] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros.map((count) => count / (length / 2));
  if (odd > 0.7 && even < 0.05) return 'utf-16le';
  return even > 0.7 && odd < 0.05 ? 'utf-16be' : undefined;
}

/** Zeros, or many characters for control. */
function isBinary(bytes: Uint8Array): boolean {
  let controls = 0;
  for (const byte of bytes) {
    if (byte === 0) return true;
    if (byte < 32 && (byte < 9 || byte > 13) && byte !== 27) controls += 1;
  }
  return controls > bytes.length / 50;
}
