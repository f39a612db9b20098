import { Unreadable } from './unreadable.ts';

const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

export function isPng(bytes: Uint8Array): boolean {
  return signature.every((byte, at) => bytes[at] === byte);
}

/** The text chunks of a PNG file by lower-case keyword. */
export function pngTexts(bytes: Uint8Array): Map<string, string> {
  if (!isPng(bytes)) throw new Unreadable('Not a PNG file.');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const texts = new Map<string, string>();
  let at = signature.length;
  while (at + 12 <= bytes.length) {
    const length = view.getUint32(at);
    const kind = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (data.length < length) break;
    if (kind === 'IEND') return texts;
    const found = kind === 'tEXt' ? plainText(data) : kind === 'iTXt' ? internationalText(data) : undefined;
    if (found && !texts.has(found[0])) texts.set(...found);
    at += 12 + length;
  }
  throw new Unreadable('The PNG file is truncated.');
}

function plainText(data: Uint8Array): [string, string] | undefined {
  const zero = data.indexOf(0);
  if (zero < 1) return undefined;
  const latin = new TextDecoder('latin1');
  return [latin.decode(data.subarray(0, zero)).toLowerCase(), latin.decode(data.subarray(zero + 1))];
}

/** Keyword, compression flag, method, language, translated keyword, text. Compressed chunks are skipped: cards do not use them. */
function internationalText(data: Uint8Array): [string, string] | undefined {
  const zero = data.indexOf(0);
  if (zero < 1 || data[zero + 1] !== 0) return undefined;
  const language = data.indexOf(0, zero + 3);
  const translated = language === -1 ? -1 : data.indexOf(0, language + 1);
  if (translated === -1) return undefined;
  const keyword = new TextDecoder('latin1').decode(data.subarray(0, zero)).toLowerCase();
  return [keyword, new TextDecoder().decode(data.subarray(translated + 1))];
}
