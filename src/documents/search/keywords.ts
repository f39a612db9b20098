/** Text as it is indexed: FTS5 takes a whole sentence of a language without spaces for one word, so their characters are words here. */
export function indexedText(text: string): string {
  return unspaced.test(text) ? text.replace(eachUnspaced, ' $& ') : text;
}

/** Han, kana, Thai, Lao, Khmer and Burmese; Hangul has spaces. */
const scripts =
  '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}]';
const unspaced = new RegExp(scripts, 'u');
const eachUnspaced = new RegExp(scripts, 'gu');
const unspacedRuns = new RegExp(`${scripts}+`, 'gu');

/** Longer questions are mostly pasted text. */
const maxTerms = 32;
const maxTermLength = 64;

/** The different words of a question. Of text without spaces, pairs of characters, which are a word more often than single ones. */
export function termsOf(query: string): readonly string[] {
  const terms = new Set<string>();
  const spaced = query
    .slice(0, 8192)
    .toLowerCase()
    .replace(unspacedRuns, (run) => ` ${pairs(run).join(' ')} `);
  for (const [word] of spaced.matchAll(/[\p{L}\p{N}\p{M}]+(?:[_.'’-][\p{L}\p{N}\p{M}]+)*/gu)) {
    if (terms.size >= maxTerms) break;
    terms.add(word.slice(0, maxTermLength));
  }
  return [...terms];
}

function pairs(run: string): readonly string[] {
  const characters = [...run];
  return characters.length === 1
    ? characters
    : characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** A term in the syntax of FTS5: quoted, so that nothing in it is an operator. Its parts must follow each other. */
export function quoted(term: string): string {
  return `"${indexedText(term).replaceAll('"', '""')}"`;
}

/** A term, and in how many passages it is. */
interface CountedTerm {
  readonly term: string;
  readonly count: number;
}

/** Words in more passages than this say little, and reading all of them takes longer than everything else. */
export function commonFrom(passages: number): number {
  return Math.max(2000, passages / 10);
}

/** Matches of all words together whose scores are computed. A thousand take 2 ms. */
const maxMatches = 5000;

/** The words to search, the rarest first, as far as their matches can be ranked; of none but common ones the rarest. Words in no passage are left out. */
export function searchedTerms(counted: readonly CountedTerm[], passages: number): readonly CountedTerm[] {
  const rarest = counted.filter(({ count }) => count > 0).toSorted((one, other) => one.count - other.count);
  let matches = 0;
  return rarest.filter(({ count }, index) => {
    matches += count;
    return index === 0 || (count <= commonFrom(passages) && matches <= Math.max(maxMatches, passages / 20));
  });
}

/** The parameter of BM25 by which repeated words count less and less; that of FTS5. */
const saturation = 1.2;

/**
 * The score of a passage that has every word of the question, each very often: the scores of FTS5 divided by it are between 0 and 1, in
 * every collection and for every question. Words in no passage count as rare ones: what was asked for is not there.
 */
export function highestScore(counted: readonly CountedTerm[], passages: number): number {
  const weight = ({ count }: CountedTerm) => Math.max(1e-6, Math.log((passages - count + 0.5) / (count + 0.5)));
  return (saturation + 1) * counted.reduce((sum, one) => sum + weight(one), 0);
}
