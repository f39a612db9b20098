import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';

/** What a 32-bit engine can hold; anything larger on the wire means "as much as there is". */
const integerRange = { min: -(2 ** 31), max: 2 ** 31 - 1 };

/** Clients of many languages send numbers as strings, booleans for 0 and 1, and null for "not set". */
export function readInteger(value: unknown, fallback: number, range = integerRange): number {
  const number = typeof value === 'string' ? integerFromText(value) : plainNumber(value);
  return Number.isFinite(number) ? clamp(Math.trunc(number), range.min, range.max) : fallback;
}

export function readNumber(value: unknown, fallback: number): number {
  const number = typeof value === 'string' ? numberFromText(value) : plainNumber(value);
  return Number.isFinite(number) ? number : fallback;
}

/** Unlike a number, a switch has no default that would be right for a value that is not one. */
export function readFlag(body: JsonObject, field: string, fallback: boolean): boolean {
  const value = body[field];
  if (isAbsent(value)) return fallback;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  const word = typeof value === 'string' ? flagWords.get(value.trim().toLowerCase()) : undefined;
  if (word === undefined) throw new AppError('invalid-field', { field, expected: 'true or false' });
  return word;
}

const flagWords = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
  ['', false],
]);

export function readText(body: JsonObject, field: string): string {
  const value = body[field];
  if (isAbsent(value)) return '';
  if (typeof value !== 'string') throw new AppError('invalid-field', { field, expected: 'a string' });
  return value;
}

/** An array of strings, a JSON array inside a string, or one plain string; empty entries mean nothing anywhere. */
export function readTexts(body: JsonObject, field: string, limit: number): readonly string[] {
  const value = body[field];
  if (isAbsent(value)) return [];
  const list = typeof value === 'string' ? listFromText(value) : value;
  if (!Array.isArray(list) || !list.every((entry) => typeof entry === 'string')) {
    throw new AppError('invalid-field', { field, expected: 'an array of strings' });
  }
  return limitedTexts(
    field,
    list.slice(0, limit).filter((entry) => entry !== ''),
  );
}

/** What all texts of one list may have together: they are looked for in every reply, and in every token of the model. */
const mostCharacters = 50_000;

export function limitedTexts(field: string, texts: readonly string[]): readonly string[] {
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  if (characters <= mostCharacters) return texts;
  const expected = `at most ${mostCharacters} characters, all texts together; these are ${characters}`;
  throw new AppError('invalid-field', { field, expected });
}

export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function clamp(value: number, min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.max(value, min), max);
}

function plainNumber(value: unknown): number {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' ? value : Number.NaN;
}

function integerFromText(text: string): number {
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
    // A phrase may well begin with a bracket; then it is just that phrase.
    return [text];
  }
}
