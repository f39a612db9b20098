import { onlyOne } from '../patterns/characters.ts';
import { PatternError } from '../patterns/parse.ts';
import { inner, insideString } from './characters.ts';
import { choice, type Rules } from './gbnf.ts';
import { limits } from './limits.ts';
import type { Pattern } from './pattern.ts';

/** The texts of the pattern as they stand inside a JSON string. */
export function patternGrammar(pattern: Pattern, rules: Rules): string {
  return write(pattern, rules, 1);
}

/**
 * `counted` is how many positions the counted repetitions around this part have together: the engine follows all of
 * them at once when it cannot tell where one ends.
 */
function write(pattern: Pattern, rules: Rules, counted: number): string {
  switch (pattern.type) {
    case 'set': {
      const body = insideString(pattern.set);
      if (body === undefined) throw new PatternError('the pattern has a class without characters');
      return body.length > 60 ? rules.shared('class', body) : body;
    }
    case 'sequence':
      return sequence(pattern.items, rules, counted);
    case 'choice':
      return choice(pattern.options.map((option) => write(option, rules, counted)));
    case 'repeat':
      return repeat(pattern, rules, counted);
  }
}

function sequence(items: readonly Pattern[], rules: Rules, counted: number): string {
  const parts: string[] = [];
  let text = '';
  const flush = () => {
    if (text !== '') parts.push(inner(text));
    text = '';
  };
  for (const item of items) {
    const character = item.type === 'set' ? onlyOne(item.set) : undefined;
    if (character !== undefined) {
      text += character;
      continue;
    }
    flush();
    parts.push(write(item, rules, counted));
  }
  flush();
  return parts.length === 0 ? '""' : parts.length === 1 ? (parts[0] as string) : `(${parts.join(' ')})`;
}

function repeat(pattern: Pattern & { type: 'repeat' }, rules: Rules, counted: number): string {
  const { item, minimum, maximum } = pattern;
  if (maximum === 0) return '""';
  if (maximum !== 1 && lengths(item).shortest === 0) {
    // (a*)* says no more than a*; the engine would take it for a rule that begins with itself.
    const inside = item.type === 'sequence' && item.items.length === 1 ? item.items[0] : item;
    if (inside?.type === 'repeat' && inside.maximum === undefined && inside.minimum <= 1) {
      return write({ ...inside, minimum: 0 }, rules, counted);
    }
    throw new PatternError('the pattern repeats something that may be empty');
  }
  const positions = counted * Math.max(1, maximum ?? minimum);
  if (positions > limits.positions) throw new PatternError(`the pattern counts further than ${limits.positions}`);
  return rules.repeat(write(item, rules, positions), minimum, maximum);
}

/** How many characters the texts of a pattern have; `longest` may be infinite. */
export function lengths(pattern: Pattern): { shortest: number; longest: number } {
  switch (pattern.type) {
    case 'set':
      return { shortest: 1, longest: 1 };
    case 'sequence': {
      const all = pattern.items.map(lengths);
      return { shortest: sum(all.map((item) => item.shortest)), longest: sum(all.map((item) => item.longest)) };
    }
    case 'choice': {
      const all = pattern.options.map(lengths);
      return {
        shortest: Math.min(...all.map((option) => option.shortest)),
        longest: Math.max(...all.map((option) => option.longest)),
      };
    }
    case 'repeat': {
      const { shortest, longest } = lengths(pattern.item);
      const most = pattern.maximum ?? Number.POSITIVE_INFINITY;
      return { shortest: shortest * pattern.minimum, longest: longest === 0 || most === 0 ? 0 : longest * most };
    }
  }
}

/**
 * The pattern with only the texts of `shortest` to `longest` characters. That works when the pattern keeps the limits
 * anyway, or when one repetition alone makes its length vary; else undefined.
 */
export function withLength(pattern: Pattern, shortest: number, longest: number): Pattern | undefined {
  const now = lengths(pattern);
  if (now.shortest >= shortest && now.longest <= longest) return pattern;
  const items = pattern.type === 'sequence' ? pattern.items : [pattern];
  const varying = items.filter((item) => lengths(item).shortest !== lengths(item).longest);
  const [repetition] = varying;
  if (varying.length !== 1 || repetition?.type !== 'repeat') {
    const inside = varying.length === 1 && repetition?.type === 'sequence' ? repetition : undefined;
    if (!inside) return undefined;
    const around = now.shortest - lengths(inside).shortest;
    const narrowed = withLength(inside, Math.max(0, shortest - around), longest - around);
    return narrowed && { type: 'sequence', items: items.map((item) => (item === inside ? narrowed : item)) };
  }
  const each = lengths(repetition.item);
  if (each.shortest !== each.longest) return undefined;
  const around = now.shortest - lengths(repetition).shortest;
  const minimum = Math.max(repetition.minimum, Math.ceil((shortest - around) / each.shortest));
  const most = Math.floor((longest - around) / each.shortest);
  const maximum = Number.isFinite(most) ? Math.min(repetition.maximum ?? most, most) : repetition.maximum;
  if (maximum !== undefined && maximum < minimum) return undefined;
  const narrowed: Pattern = { ...repetition, minimum, maximum };
  return { type: 'sequence', items: items.map((item) => (item === repetition ? narrowed : item)) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
