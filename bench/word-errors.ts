import { normalizedText } from '../src/engines/speech/normalization/normalize.ts';

/** Words that are written in two ways and sound alike. */
const sameWords: Readonly<Record<string, string>> = {
  mr: 'mister',
  mrs: 'missus',
  misses: 'missus',
  dr: 'doctor',
  okay: 'ok',
  grey: 'gray',
  colour: 'color',
  metre: 'meter',
  metres: 'meters',
  kilometre: 'kilometer',
  kilometres: 'kilometers',
  centre: 'center',
  favourite: 'favorite',
  neighbour: 'neighbor',
  // "one hundred and five" and "one hundred five" are the same number; "o" is how a zero is written that is read as a letter.
  o: 'oh',
  '0': 'oh',
};

/** Spellings of a hundred years ago, which some recognisers have learned. */
const oldSpellings = /\b(to)-(?=(?:day|night|morrow)\b)|\b(any|every|some) (?=(?:one|body|thing)\b)/g;

/** The words of a text: numbers and symbols as they are read, without case and punctuation. */
export function heardWords(text: string): readonly string[] {
  const words = normalizedText(text, 'en-us')
    .toLowerCase()
    .replace(/[\u2018\u2019]/g, "'")
    .replace(oldSpellings, '$1$2')
    .replace(/\b([a-z])\.(?=[a-z]\b)/g, '$1 ')
    // Letters that are spelled are one word, however they are written.
    .replace(/\b[a-z](?: [a-z]\b)+/g, (letters) => letters.replaceAll(' ', ''))
    .replace(/[^a-z0-9' ]+/g, ' ')
    .replace(/(^|\s)'+|'+(?=\s|$)/g, ' ')
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => sameWords[word] ?? word);
  return words.filter(
    (word, index) => !(word === 'and' && /^(hundred|thousand|million)$/.test(words[index - 1] ?? '')),
  );
}

/** Substitutions, insertions and deletions that lead from one list of words to the other: the edit distance. */
export function wordErrors(reference: readonly string[], hypothesis: readonly string[]): number {
  let row = Array.from({ length: hypothesis.length + 1 }, (_, index) => index);
  for (const [index, word] of reference.entries()) {
    const next = [index + 1];
    for (const [column, other] of hypothesis.entries()) {
      const changed = (row[column] as number) + (word === other ? 0 : 1);
      next.push(Math.min(changed, (row[column + 1] as number) + 1, (next[column] as number) + 1));
    }
    row = next;
  }
  return row[hypothesis.length] as number;
}
