import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Languages for which eSpeak has phonemes that Kokoro was trained with. */
export type SpokenLanguage = 'en-us' | 'en-gb' | 'es' | 'fr' | 'hi' | 'it' | 'pt-br';

/** eSpeak's IPA for a clause, or a line for each of several: phonemes separated by underscores, words by spaces. */
export type Ipa = string;

/** Replacements of eSpeak's symbols, as `from:to`. Their order counts: a later one sees the results of earlier ones. */
const rules = (pairs: string) => pairs.split(' ').map((pair) => pair.split(':') as [from: string, to: string]);

/** Symbols of a phoneme that Kokoro writes as one. */
const joined = rules('eɪ:A aɪ:I aʊ:W ɔɪ:Y oʊ:O əʊ:Q dʒ:ʤ tʃ:ʧ dz:ʣ ts:ʦ');

/** English: sounds that the model was trained with, for those that eSpeak has in addition. */
const english = [...joined, ...rules('əl:ᵊl ɚ:əɹ ɐ:ə n̩:ᵊn r:ɹ x:k ç:k ɬ:l ʔ:t \u0303:')];

const rulesOf: Readonly<Partial<Record<SpokenLanguage, typeof joined>>> = {
  // Without length marks, and with the flap of "water".
  'en-us': [...english, ...rules('ɜːɹ:ɜɹ ɜː:ɜɹ ɪə:iə ɾ:T ː: e:A o:ɔ')],
  'en-gb': [...english, ...rules('eə:ɛː iə:ɪə e:A o:ɔ')],
};

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
  const own = rulesOf[language] ?? joined;
  return own.reduce((symbols, [from, to]) => symbols.replaceAll(from, to), phoneme);
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

/** Symbols of Kokoro-82M and their numbers, as its configuration publishes them; runs of symbols have consecutive numbers. */
const table = `
1 ;:,.!?
9 —…"()“”
17 \u0303ʣʥʦʨᵝꭧAI
31 O
33 Q
35 ST
39 W
41 Yᵊabcdef
50 hijklmnopqrstuvwxyzɑɐɒæ
75 βɔɕç
80 ɖðʤə
85 ɚɛɜ
90 ɟ
92 ɡ
99 ɥ
101 ɨɪʝ
110 ɯɰŋɳɲɴø
118 ɸθœ
123 ɹ
125 ɾɻ
128 ʁɽʂʃʈʧ
135 ʊʋ
138 ʌɣɤ
142 χʎ
147 ʒʔ
156 ˈˌː
162 ʰ
164 ʲ
169 ↓
171 →↗↘
177 ᵻ
`;

const tokens: ReadonlyMap<string, number> = new Map([
  [' ', 16],
  ...table
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [first, symbols = ''] = line.split(' ');
      return [...symbols].map((symbol, index): [string, number] => [symbol, Number(first) + index]);
    }),
]);

/** The model was trained with at most this many, without the padding at both ends. */
const maxTokens = 510;

/** Phonemes as tokens. Symbols that the model does not know are left out. */
export function tokensOf(phonemes: string): readonly number[] {
  return [...phonemes].flatMap((symbol) => tokens.get(symbol) ?? []);
}

/** Splits phonemes into parts of at most `most` symbols: after a punctuation mark, else after a word. */
export function splitPhonemes(phonemes: string, most = maxTokens): readonly string[] {
  const parts: string[] = [];
  let rest = [...phonemes];
  while (rest.length > most) {
    const window = rest.slice(0, most);
    const mark = window.findLastIndex((symbol, index) => /[;:,.!?—…]/.test(symbol) && index >= most / 3);
    const space = window.lastIndexOf(' ');
    const length = mark >= 0 ? mark + 1 : space > 0 ? space : most;
    parts.push(rest.slice(0, length).join(''));
    rest = rest.slice(length);
  }
  return [...parts, rest.join('')].map((part) => part.trim()).filter((part) => part !== '');
}

/** The used part of the package, which has no types. */
interface Speaker {
  /** Returns 0 if it is known. */
  set_voice(name: string): number;
  synthesize_ipa(text: string): { readonly code: number; readonly ipa: string };
}

interface Program {
  readonly eSpeakNGWorker: new () => Speaker;
}

/** The names of eSpeak for its voices. */
const espeakName = (language: SpokenLanguage): string => (language === 'en-gb' ? 'en' : language);

/** Tells how the words of a text are pronounced. */
type Pronounce = (text: string, language: SpokenLanguage) => Ipa;

/** eSpeak NG in WebAssembly, from the folder of its package. */
export async function openEspeak(folder: string): Promise<Pronounce> {
  const { default: load } = (await import(pathToFileURL(join(folder, 'espeak-ng.js')).href)) as {
    default: (options: object) => Promise<Program>;
  };
  const data = await readFile(join(folder, 'espeak-ng.data'));
  const getPreloadedPackage = () => data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  const { eSpeakNGWorker } = await load({ getPreloadedPackage, print: () => undefined, printErr: () => undefined });
  const speaker = new eSpeakNGWorker();
  let set: SpokenLanguage | undefined;
  return (text, language) => {
    if (set !== language && speaker.set_voice(espeakName(language)) !== 0) {
      throw new Error(`eSpeak has no voice ${espeakName(language)}`);
    }
    set = language;
    const { code, ipa } = speaker.synthesize_ipa(text);
    if (code !== 0) throw new Error(`eSpeak ended with ${code}`);
    return ipa;
  };
}
