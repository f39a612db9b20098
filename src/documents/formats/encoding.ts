/** Which characters an encoding is recognised by: most of a text in it, and the most frequent ones of its language. */
interface Candidate {
  readonly encoding: string;
  readonly expected: RegExp;
  readonly frequent: RegExp;
}

const han = /[\u4e00-\u9fa5\u3000-\u303f\uff00-\uff60]/g;
const kana = /[\u3041-\u30ff\u4e00-\u9fa5\u3000-\u303f\uff00-\uff60]/g;
const hangul = /[\uac00-\ud7a3\u3000-\u303f\uff00-\uff60]/g;
const cyrillic = /[\u0430-\u044f\u0451\u0410-\u042f]/g;
const frequentCyrillic = /[оеаинтсрвлкмдпу]/g;

const candidates: readonly Candidate[] = [
  { encoding: 'shift_jis', expected: kana, frequent: /[\u3041-\u3093\u30a1-\u30f6]/g },
  { encoding: 'euc-jp', expected: kana, frequent: /[\u3041-\u3093\u30a1-\u30f6]/g },
  {
    encoding: 'gb18030',
    expected: han,
    frequent: /[的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能，。]/g,
  },
  {
    encoding: 'big5',
    expected: han,
    frequent: /[的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能，。]/g,
  },
  { encoding: 'euc-kr', expected: hangul, frequent: /[이다는의가을를에고하한지기도로사서은니해]/g },
  { encoding: 'windows-1251', expected: cyrillic, frequent: frequentCyrillic },
  { encoding: 'koi8-r', expected: cyrillic, frequent: frequentCyrillic },
];

const sampleBytes = 32_768;

/** The encoding of a text that is not UTF-8. Texts of Latin script have single letters above ASCII, others runs of them. */
export function legacyEncoding(bytes: Uint8Array): string {
  const sample = bytes.subarray(0, sampleBytes);
  let high = 0;
  let runs = 0;
  for (let at = 0; at < sample.length; at += 1) {
    if ((sample[at] ?? 0) < 0x80) continue;
    high += 1;
    if (at === 0 || (sample[at - 1] ?? 0) < 0x80) runs += 1;
  }
  if (high < runs * 1.6) return 'windows-1252';
  let best = { encoding: 'windows-1252', score: 0.9 };
  for (const { encoding, expected, frequent } of candidates) {
    const text = new TextDecoder(encoding).decode(sample);
    const foreign = text.replace(/[\0-\x7f]/g, '');
    const share = (pattern: RegExp): number => (foreign.match(pattern)?.length ?? 0) / Math.max(1, foreign.length);
    const score = share(expected) + share(frequent) - 2 * share(/\ufffd/g);
    if (score > best.score) best = { encoding, score };
  }
  return best.encoding;
}

/** The characters of Windows-1252 that Latin-1 has not, from 0x80 on. */
const windowsSigns = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** Decodes bytes; some versions of Node take Windows-1252 for Latin-1. Throws for an unknown encoding. */
export function decodeAs(encoding: string, bytes: Uint8Array): string {
  const decoder = new TextDecoder(encoding);
  const text = decoder.decode(bytes);
  if (decoder.encoding !== 'windows-1252') return text;
  return text.replace(/[\x80-\x9f]/g, (sign) => windowsSigns[sign.charCodeAt(0) - 0x80] ?? sign);
}
