import { number } from '../languages/index.ts';
import type { Shape, Value, Values } from './types.ts';

/** A value as text for a field; lists have one entry per line. */
export function shownText(value: Value): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.join('\n');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The value of a field; an empty field means the default. */
export function writtenValue(shape: Shape, text: string): Value {
  if (shape.type === 'list') {
    const entries = text.split('\n').map((line) => line.trim());
    const kept = entries.filter((line) => line !== '');
    return kept.length === 0 ? shape.default : kept;
  }
  if (text.trim() === '') return shape.default;
  return text;
}

export function isDefault(shape: Shape, value: Value): boolean {
  return shownText(value) === shownText(shape.default) && Array.isArray(value) === Array.isArray(shape.default);
}

/** Number of changed settings of a tab. */
export function changedCount(
  keys: readonly string[],
  shapes: (key: string) => Shape | undefined,
  values: Values,
): number {
  return keys.filter((key) => {
    const shape = shapes(key);
    return shape !== undefined && !isDefault(shape, values[key] ?? null);
  }).length;
}

/** Flags whose list may be empty: an empty list means on, null means off. */
export function isSwitchList({ type, least }: Shape): boolean {
  return type === 'list' && least === 0;
}

export function countText(count: number): string {
  if (count >= 1e9) return `${number(count / 1e9, { minimumFractionDigits: 1, maximumFractionDigits: 1 })} B`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(0)} M`;
  return number(count);
}

/** A shell command line; words with special characters are quoted. */
export function shellLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w./:=@%+,…-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

/** The file name of a path, on any system. */
export function nameOf(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}

/** Limits and default of a setting as sentences: `From 256 to 524288. Default: 16384.` */
export function factsText(facts: readonly string[]): string {
  return facts.map((fact) => `${fact.charAt(0).toUpperCase()}${fact.slice(1)}.`).join(' ');
}
