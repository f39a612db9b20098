import { AppError } from '../../../core/errors.ts';
import { readableText } from '../reading/readable.ts';
import type { SpokenLanguage } from './phonemes.ts';

/** Letters that eSpeak reads in these languages; of others it only tells the name of the script. Greek ones occur in formulas. */
const latin = /[\p{Script=Latin}\p{Script=Greek}\p{M}]/u;
const devanagari = /[\p{Script=Devanagari}\p{Script=Latin}\p{Script=Greek}\p{M}]/u;

/** A text as a voice of this language reads it. Letters of other scripts are left out, with a note; a text of nothing else is refused. */
export function readableBy(
  language: SpokenLanguage,
  sent: string,
): { readonly text: string; readonly notes: readonly string[] } {
  const known = language === 'hi' ? devanagari : latin;
  let lost = 0;
  const kept = sent.replace(/\p{L}/gu, (letter) => {
    if (known.test(letter)) return letter;
    lost += 1;
    return ' ';
  });
  if (lost > 0 && !/[\p{L}\p{N}]/u.test(kept)) {
    const instead = 'this voice does not know its script; name a voice for its language with --ttsmodel';
    const details = { feature: 'Speaking this text', instead, field: 'input' };
    throw new AppError('unsupported', details);
  }
  const text = readableText(kept, language === 'en-us' || language === 'en-gb' ? language : 'other');
  return {
    text,
    notes: lost === 0 ? [] : [`${lost} characters are not spoken: the voice does not know their script.`],
  };
}
