import { type Characters, includes, single, union, without } from '../patterns/characters.ts';
import { choice, jsonLiteral } from './gbnf.ts';

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
