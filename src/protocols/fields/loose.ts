import { clamp, described, type Read, wrong } from './readers.ts';

/** Accepts numbers as strings, and booleans for 0 and 1. Other values become NaN, for which `orElse` has the default. */
export const looseNumber: Read<number> = described({ type: 'number' }, (value) =>
  finite(typeof value === 'string' ? numberFromText(value) : plainNumber(value)),
);

/** Limited to 32 bits; larger numbers mean "as much as there is". */
export const looseWhole: Read<number> = looseWholeWithin(-(2 ** 31), 2 ** 31 - 1);

export function looseWholeWithin(least: number, most: number): Read<number> {
  return described({ type: 'integer' }, (value) => {
    const number = finite(typeof value === 'string' ? wholeFromText(value) : plainNumber(value));
    return clamp(Math.trunc(number), least, most);
  });
}

/** Unlike numbers, invalid values are refused: no default would be right for them. */
export const looseFlag: Read<boolean> = described({ type: 'boolean' }, (value, path) => {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  const word = typeof value === 'string' ? flagWords[value.trim().toLowerCase()] : undefined;
  if (typeof word !== 'boolean') throw wrong(path, 'true or false');
  return word;
});

const flagWords: Readonly<Record<string, boolean>> = { true: true, 1: true, false: false, 0: false, '': false };

/** An array of strings, a JSON array inside a string, or one plain string. Empty entries are dropped. */
export function looseTexts(most: number): Read<readonly string[]> {
  return described({ type: 'array', items: { type: 'string' } }, (value, path) => {
    const list = typeof value === 'string' ? listFromText(value) : value;
    if (!Array.isArray(list) || !list.every((entry) => typeof entry === 'string')) {
      throw wrong(path, 'an array of strings');
    }
    return limitedTexts(
      path,
      list.slice(0, most).filter((entry) => entry !== ''),
    );
  });
}

/** All texts of a list together: they are searched for in every reply, and in every token of the model. */
const mostCharacters = 50_000;

export function limitedTexts(path: string, texts: readonly string[]): readonly string[] {
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  if (characters <= mostCharacters) return texts;
  throw wrong(path, `at most ${mostCharacters} characters, all texts together; these are ${characters}`);
}

function finite(number: number): number {
  return Number.isFinite(number) ? number : Number.NaN;
}

function plainNumber(value: unknown): number {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' ? value : Number.NaN;
}

function wholeFromText(text: string): number {
  const word = text.trim().toLowerCase();
  if (word === 'true') return 1;
  if (word === 'false') return 0;
  return /^[+-]?\d+$/.test(word) ? Number(word) : Number.NaN;
}

function numberFromText(text: string): number {
  const word = text.trim();
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word) ? Number(word) : Number.NaN;
}

function listFromText(text: string): unknown {
  if (!text.trimStart().startsWith('[')) return [text];
  try {
    return JSON.parse(text);
  } catch {
    // A plain phrase that begins with a bracket.
    return [text];
  }
}
