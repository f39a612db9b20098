/** Abbreviations that do not end a sentence. */
const titles =
  'mr mrs ms mx dr prof st rev hon sen rep gov gen col maj capt cmdr lt sgt fr messrs mme mlle e.g i.e vs cf approx z.b bzw ca';
/** Abbreviations only before a number; otherwise words or names. */
const countings = 'no nos fig vol ch sec p pp art nr eq';

const neverLast: ReadonlySet<string> = new Set(titles.split(' '));
const lastUnlessCounting: ReadonlySet<string> = new Set(countings.split(' '));

/** Sentence marks of scripts with and without spaces, and closing quotation marks. */
const ends = /[.!?\u2026\u061f\u06d4\u0964\u0965\u1362\u17d4\u104b\u0589]+|[\u3002\uff01\uff1f\uff61]+|\n/gu;
const closers = /^["'\u201d\u2019\u00bb\u203a)\]}\u300d\u300f\uff09\u3011]*/u;
const needsNoSpace = /^[\u3002\uff01\uff1f\uff61\u0964\u0965\u1362\u17d4\u104b]/u;

/** Where a long sentence is split, best first. */
const seams = [/[;:\u2014\u2013\uff1b\uff1a]\s*$/u, /[,\u060c\u3001\uff0c]\s*$/u, /\s$/u] as const;

/** Splits a text into sentences with their trailing white space, and those above the limit (in UTF-16 units) again. */
export function sentencesOf(text: string, longest: number): readonly string[] {
  const sentences: string[] = [];
  let begin = 0;
  for (const { index, 0: mark } of text.matchAll(ends)) {
    if (index < begin) continue;
    const end = endOfSentence(text, index, mark);
    if (end === undefined) continue;
    add(text.slice(begin, end));
    begin = end;
  }
  add(text.slice(begin));
  return sentences.flatMap((sentence) => cut(sentence, longest));

  function add(sentence: string): void {
    if (sentence === '') return;
    const last = sentences.at(-1);
    // White space belongs to the sentence before it.
    if (last !== undefined && sentence.trim() === '') sentences[sentences.length - 1] = last + sentence;
    else sentences.push(sentence);
  }
}

/** Where a first sentence is cut: after a mark, else before a conjunction, else after a word. */
const earlySeams = [/[;:\u2014,]\s/gu, /\s(?=(?:and|or|but|because|when|while|where|which)\s)/gu, /\s/gu] as const;

/** Cuts the first sentence once if it is much longer than `length`, at the best seam nearest to that. */
export function shortStart(sentences: readonly string[], length: number): readonly string[] {
  const [first = '', ...rest] = sentences;
  if (first.length <= 1.5 * length) return sentences;
  for (const seam of earlySeams) {
    const ends = Array.from(first.matchAll(seam), ({ index, 0: found }) => index + found.length)
      .filter((end) => end >= length / 3 && end <= 1.5 * length)
      .sort((one, other) => Math.abs(one - length) - Math.abs(other - length));
    const [end] = ends;
    if (end !== undefined) return [first.slice(0, end), first.slice(end), ...rest];
  }
  return sentences;
}

/** The end of the sentence, after its mark, closing quotes and white space; undefined if the mark does not end a sentence. */
function endOfSentence(text: string, index: number, mark: string): number | undefined {
  if (mark === '\n') return endOfLine(text, index);
  const closed =
    index + mark.length + (closers.exec(text.slice(index + mark.length, index + mark.length + 8))?.[0].length ?? 0);
  const space = spaceLength(text, closed);
  if (space === 0 && closed < text.length && !needsNoSpace.test(mark)) return undefined;
  const next = characterAt(text, closed + space);
  if (/^\p{Ll}$/u.test(next)) return undefined;
  if (mark === '.' && closed === index + 1 && !isLastWord(text, index, next)) return undefined;
  return closed + space;
}

/** A next line that starts in lower case continues a wrapped sentence. */
function endOfLine(text: string, index: number): number | undefined {
  const end = index + spaceLength(text, index);
  const blank = text.slice(index + 1, end).includes('\n');
  return blank || !/^\p{Ll}$/u.test(characterAt(text, end)) ? end : undefined;
}

function isLastWord(text: string, dot: number, next: string): boolean {
  const before = text.slice(Math.max(0, dot - 24), dot);
  const word = /[\p{L}\p{N}.]*$/u.exec(before)?.[0] ?? '';
  // Initials; but "I" and lower-case letters are words.
  if (/^\p{Lu}$/u.test(word) && word !== 'I') return false;
  if (/^\p{N}{1,3}$/u.test(word)) {
    // Number of a list item.
    const line = before.slice(0, before.length - word.length);
    return !(/(^|\n)\s*$/u.test(line) && (line.includes('\n') || dot <= 24));
  }
  const known = word.toLowerCase();
  if (neverLast.has(known)) return false;
  return !(lastUnlessCounting.has(known) && /^\p{N}$/u.test(next));
}

function cut(sentence: string, longest: number): readonly string[] {
  const pieces: string[] = [];
  let rest = sentence;
  for (let most = lengthWithin(rest, longest); rest.length > most; most = lengthWithin(rest, longest)) {
    const length = seamIn(rest, most);
    pieces.push(rest.slice(0, length));
    rest = rest.slice(length);
  }
  return [...pieces, rest];
}

/** Digits are spoken as words, and letters that form no word are spelled: they take the time of more characters. */
const weights = { digit: 3, unbroken: 4 } as const;
/** Longer sequences are not words. */
const maxWordLength = 40;

/** Number of leading characters that take the time of `budget` usual ones. */
function lengthWithin(text: string, budget: number): number {
  let spent = 0;
  let run = 0;
  for (let length = 0; length < text.length; length++) {
    const code = text.charCodeAt(length);
    run = code === 0x20 || code === 0x0a ? 0 : run + 1;
    spent += run > maxWordLength ? weights.unbroken : code >= 0x30 && code <= 0x39 ? weights.digit : 1;
    if (spent > budget) return Math.max(1, length);
  }
  return text.length;
}

function seamIn(text: string, longest: number): number {
  for (const seam of seams) {
    for (let length = longest; length > longest / 3; length--) {
      if (seam.test(text.slice(Math.max(0, length - 3), length))) return length;
    }
  }
  // Not within a surrogate pair.
  const code = text.charCodeAt(longest - 1);
  return code >= 0xd800 && code <= 0xdbff && longest > 1 ? longest - 1 : longest;
}

function spaceLength(text: string, from: number): number {
  let to = from;
  while (to < text.length && /\s/u.test(text[to] as string)) to++;
  return to - from;
}

function characterAt(text: string, index: number): string {
  const code = text.codePointAt(index);
  return code === undefined ? '' : String.fromCodePoint(code);
}
