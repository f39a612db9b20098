/** Languages for which eSpeak has phonemes that Kokoro was trained with. */
export type SpokenLanguage = 'en-us' | 'en-gb' | 'es' | 'fr' | 'hi' | 'it' | 'pt-br';

/** eSpeak's IPA for a clause, or a line for each of several: phonemes separated by underscores, words by spaces. */
export type Ipa = string;

/** Symbols of a phoneme that Kokoro writes as one. */
const joined: readonly (readonly [string, string])[] = [
  ['eɪ', 'A'],
  ['aɪ', 'I'],
  ['aʊ', 'W'],
  ['ɔɪ', 'Y'],
  ['oʊ', 'O'],
  ['əʊ', 'Q'],
  ['dʒ', 'ʤ'],
  ['tʃ', 'ʧ'],
  ['dz', 'ʣ'],
  ['ts', 'ʦ'],
];

/** English: sounds that the model was trained with, for those that eSpeak has in addition. */
const english: readonly (readonly [string, string])[] = [
  ['əl', 'ᵊl'],
  ['ɚ', 'əɹ'],
  ['ɐ', 'ə'],
  ['n̩', 'ᵊn'],
  ['r', 'ɹ'],
  ['x', 'k'],
  ['ç', 'k'],
  ['ɬ', 'l'],
  ['ʔ', 't'],
  ['\u0303', ''],
];

const american: readonly (readonly [string, string])[] = [
  ['ɜːɹ', 'ɜɹ'],
  ['ɜː', 'ɜɹ'],
  ['ɪə', 'iə'],
  ['ɾ', 'T'],
  ['ː', ''],
  ['e', 'A'],
  ['o', 'ɔ'],
];

const british: readonly (readonly [string, string])[] = [
  ['eə', 'ɛː'],
  ['iə', 'ɪə'],
  ['e', 'A'],
  ['o', 'ɔ'],
];

/** The phonemes of Kokoro for what eSpeak says of a clause. */
export function kokoroPhonemes(ipa: Ipa, language: SpokenLanguage): string {
  const plain = ipa
    // eSpeak names the language of foreign words.
    .replace(/\([a-z][a-z-]*\)/g, '')
    .replace(/[\n\u200d]+/g, ' ')
    .replace(/-/g, '');
  const words = plain.split(/\s+/).filter((word) => word !== '');
  const phonemes = words.map((word) =>
    word
      .split('_')
      .map((phoneme) => symbolsOf(phoneme, language))
      .join(''),
  );
  const spoken = language === 'en-us' || language === 'en-gb' ? phonemes.map(stressedPronoun) : phonemes;
  // eSpeak links words with a second one.
  return spoken.join(' ').replaceAll('ɹɹ', 'ɹ');
}

/** Without a stress, which eSpeak omits, the model swallows the word "I" at the beginning of a sentence. */
function stressedPronoun(word: string): string {
  return word === 'I' ? 'ˌI' : word;
}

function symbolsOf(phoneme: string, language: SpokenLanguage): string {
  const rules =
    {
      'en-us': [...joined, ...english, ...american],
      'en-gb': [...joined, ...english, ...british],
    }[language as 'en-us' | 'en-gb'] ?? joined;
  return rules.reduce((symbols, [from, to]) => symbols.replaceAll(from, to), phoneme);
}

/** A text as clauses for eSpeak, which drops punctuation, and the marks between them that the model knows. */
export function clausesOf(text: string): readonly { readonly text: string; readonly mark: string }[] {
  const clauses: { text: string; mark: string }[] = [];
  const marked = text
    .replace(/[«»„‟]/g, '"')
    .replace(/[[{]/g, '(')
    .replace(/[\]}]/g, ')')
    .replace(/[¿¡]/g, '')
    .replace(/[‘’]/g, "'")
    .replace(/\.{3,}/g, '…')
    .replace(/।/g, '.')
    .replace(/\s[-–]\s|\s*—\s*/g, ' — ')
    .replace(/\s+/g, ' ')
    .trim();
  // A mark belongs to the clause before it. A colon or comma between digits is part of a number, a full stop in a word of the word.
  const pattern = /([^;:,.!?—…"“”()]|(?<=\p{N})[,.:](?=\p{N})|(?<=\p{L})[.](?=\p{L}))*(\s*[;:,.!?—…"“”()]+\s*)*/gu;
  for (const [piece] of marked.matchAll(pattern)) {
    if (piece === '') continue;
    const at = /[\s;:,.!?—…"“”()]*$/u.exec(piece)?.index ?? piece.length;
    clauses.push({ text: piece.slice(0, at), mark: piece.slice(at).replace(/\s+/g, ' ') });
  }
  return clauses;
}

/** Letters that are spelled: eSpeak would read `A` alone as the article. */
function spelled(clause: string): string {
  return clause.replace(/(?<![\p{L}'])(?:[A-Z] ){1,20}[A-Z](?!\p{L})/gu, (letters) => letters.replaceAll(' ', '.'));
}

/** The phonemes of a text with its punctuation; `speak` is eSpeak. */
export function phonemesOf(text: string, language: SpokenLanguage, speak: (clause: string) => Ipa): string {
  const parts = clausesOf(text).map(({ text: clause, mark }) => {
    const spoken = /[\p{L}\p{N}]/u.test(clause) ? kokoroPhonemes(speak(spelled(clause)), language) : '';
    return spoken + mark;
  });
  return parts.join('').replace(/\s+/g, ' ').trim();
}
