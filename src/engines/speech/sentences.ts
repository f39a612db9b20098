/** Titles and the like: what follows belongs to them. */
const titles =
  'mr mrs ms mx dr prof st rev hon sen rep gov gen col maj capt cmdr lt sgt fr messrs mme mlle e.g i.e vs cf approx z.b bzw ca';
/** Only before a number: otherwise they are words of their own, or names. */
const countings = 'no nos fig vol ch sec p pp art nr eq';

const neverLast: ReadonlySet<string> = new Set(titles.split(' '));
const lastUnlessCounting: ReadonlySet<string> = new Set(countings.split(' '));

/** Marks after which there is a space, and those of scripts that have none; then whatever closes a quotation. */
const ends = /[.!?\u2026\u061f\u06d4\u0964\u0965\u1362\u17d4\u104b\u0589]+|[\u3002\uff01\uff1f\uff61]+|\n/gu;
const closers = /^["'\u201d\u2019\u00bb\u203a)\]}\u300d\u300f\uff09\u3011]*/u;
const needsNoSpace = /^[\u3002\uff01\uff1f\uff61\u0964\u0965\u1362\u17d4\u104b]/u;

/** Where a sentence that is too long is cut, the best place first. */
const seams = [/[;:\u2014\u2013\uff1b\uff1a]\s*$/u, /[,\u060c\u3001\uff0c]\s*$/u, /\s$/u] as const;

/**
 * A text as sentences to be spoken one after the other, each with the white space behind it: together they are the text.
 * None is longer than told (in units of JavaScript), so that each is soon done; the end of one that was cut may be blank.
 */
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
    // White space alone is nothing to be said.
    if (last !== undefined && sentence.trim() === '') sentences[sentences.length - 1] = last + sentence;
    else sentences.push(sentence);
  }
}

/** Behind the mark and all that belongs to it, or nothing where no sentence ends with it. */
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

/** A line that goes on in small letters is one that was too long for the page. */
function endOfLine(text: string, index: number): number | undefined {
  const end = index + spaceLength(text, index);
  const blank = text.slice(index + 1, end).includes('\n');
  return blank || !/^\p{Ll}$/u.test(characterAt(text, end)) ? end : undefined;
}

function isLastWord(text: string, dot: number, next: string): boolean {
  const before = text.slice(Math.max(0, dot - 24), dot);
  const word = /[\p{L}\p{N}.]*$/u.exec(before)?.[0] ?? '';
  // Initials: but "I" is a word, and so is a letter in small.
  if (/^\p{Lu}$/u.test(word) && word !== 'I') return false;
  if (/^\p{N}{1,3}$/u.test(word)) {
    // The number of an entry in a list.
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

/** A digit is said as a word, and letters that are no word are spelled or drawn out: they take the time of more characters. */
const weights = { digit: 3, unbroken: 4 } as const;
/** No word that is spoken is longer. */
const longestWord = 40;

/** How many characters from the beginning take the time of so many usual ones. */
function lengthWithin(text: string, budget: number): number {
  let spent = 0;
  let run = 0;
  for (let length = 0; length < text.length; length++) {
    const code = text.charCodeAt(length);
    run = code === 0x20 || code === 0x0a ? 0 : run + 1;
    spent += run > longestWord ? weights.unbroken : code >= 0x30 && code <= 0x39 ? weights.digit : 1;
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
  // Never between the two halves of one character.
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
