import { choice, jsonLiteral } from './gbnf.ts';

/** A set of Unicode characters: ranges of code points, in order, apart from each other. */
export type Characters = readonly (readonly [from: number, to: number])[];

const last = 0x10ffff;

export function single(character: string): Characters {
  const code = character.codePointAt(0) as number;
  return [[code, code]];
}

export function union(...sets: readonly Characters[]): Characters {
  const merged: [number, number][] = [];
  for (const [from, to] of sets.flat().sort((a, b) => a[0] - b[0])) {
    const before = merged.at(-1);
    if (before && from <= before[1] + 1) before[1] = Math.max(before[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

export function complement(set: Characters): Characters {
  const rest: [number, number][] = [];
  let next = 0;
  for (const [from, to] of union(set)) {
    if (from > next) rest.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= last) rest.push([next, last]);
  return rest;
}

export function without(set: Characters, other: Characters): Characters {
  return complement(union(complement(set), other));
}

export function includes(set: Characters, code: number): boolean {
  return set.some(([from, to]) => from <= code && code <= to);
}

/** The one character of the set, if there is just one. */
export function onlyOne(set: Characters): string | undefined {
  const [range, another] = set;
  return range && !another && range[0] === range[1] ? String.fromCodePoint(range[0]) : undefined;
}

const control: Characters = [[0, 0x1f]];
const neverRaw: Characters = union(control, single('"'), single('\\'));
const withShortEscape = ['"', '\\', '\b', '\f', '\n', '\r', '\t'];
/** More unusual control characters than this are left out of a set: no text needs them, and each costs a choice. */
const spelledOut = 4;

/**
 * How one character of the set stands inside a JSON string, or undefined when none can. Each has one spelling here, the
 * one that printers use, so that excluding a character excludes it in every spelling.
 */
export function insideString(set: Characters): string | undefined {
  const options: string[] = [];
  const raw = without(set, neverRaw);
  if (raw.length > 0) options.push(characterClass(raw));
  for (const character of withShortEscape) {
    if (includes(set, character.charCodeAt(0))) options.push(inner(character));
  }
  const unusual = Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).filter(
    (character) => !withShortEscape.includes(character) && includes(set, character.charCodeAt(0)),
  );
  if (unusual.length <= spelledOut) options.push(...unusual.map(inner));
  return options.length === 0 ? undefined : choice(options);
}

/** The literal for text inside a JSON string, without the quotes around it. */
export function inner(text: string): string {
  const quoted = jsonLiteral(text);
  return `"${quoted.slice(3, -3)}"`;
}

function characterClass(set: Characters): string {
  const ranges = set.map(([from, to]) => (from === to ? member(from) : `${member(from)}-${member(to)}`));
  return `[${ranges.join('')}]`;
}

function member(code: number): string {
  const character = String.fromCodePoint(code);
  if (/[a-zA-Z0-9]/.test(character)) return character;
  const hex = code.toString(16).toUpperCase();
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
