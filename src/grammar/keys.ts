import { complement, single, union } from '../patterns/characters.ts';
import { inner, insideString } from './characters.ts';
import type { Rules } from './gbnf.ts';

/**
 * The rest of a key, closing quote included, that is none of `taken`. Every character has one spelling, so that an
 * escape cannot bring back a name that is taken.
 */
export function otherKey(taken: readonly string[], rules: Rules): string {
  const anyCharacter = rules.shared('key-character', insideString(complement([])) as string);
  return `"\\"" ${unlike(
    taken.map((name) => [...name]),
    anyCharacter,
    rules,
  )}`;
}

function unlike(names: readonly (readonly string[])[], anyCharacter: string, rules: Rules): string {
  const byFirst = new Map<string, (readonly string[])[]>();
  for (const [first, ...rest] of names) {
    if (first !== undefined) byFirst.set(first, [...(byFirst.get(first) ?? []), rest]);
  }
  const options = [...byFirst].map(([first, rests]) => `${inner(first)} ${unlike(rests, anyCharacter, rules)}`);
  const otherwise = insideString(complement(union(...[...byFirst.keys()].map(single))));
  if (otherwise !== undefined) options.push(`${otherwise} ${anyCharacter}* "\\""`);
  if (!names.some((name) => name.length === 0)) options.push('"\\""');
  return rules.shared('other-key', options.join(' | '));
}
