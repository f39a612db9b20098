import { type Characters, complement, includes, onlyOne, single, union, without } from '../patterns/characters.ts';
import { PatternError } from '../patterns/errors.ts';
import { type PatternNode as Pattern, parsePattern as parseExpression } from '../patterns/parse.ts';
import { choice, type JsonRules, jsonLiteral, type Rules } from './gbnf.ts';
import { GrammarError, limits } from './schema.ts';
import type { Shape } from './shape.ts';

/** A pattern that can be searched, but not written as a grammar. */
class UnwritableError extends Error {}

/** A string with the length and the pattern that the schema asks for. */
export function stringBody({ length, pattern }: Pick<Shape, 'length' | 'pattern'>, json: JsonRules): string {
  const { minimum, maximum } = length;
  if (!pattern) {
    if (minimum === 0 && maximum === undefined) return json.string();
    return `"\\"" ${json.rules.repeat(json.character(), minimum, maximum)} "\\""`;
  }
  const { source, part, keyword } = pattern;
  try {
    return json.rules.cached(`pattern ${minimum} ${maximum} ${source}`, () => {
      json.rules.spend(source.length * patternWork);
      const narrowed = withLength(parsePattern(source), minimum, maximum ?? Number.POSITIVE_INFINITY);
      if (!narrowed) throw new UnwritableError('the lengths cannot be joined with this pattern');
      return `"\\"" ${write(narrowed, json.rules, 1)} "\\""`;
    });
  } catch (error) {
    if (error instanceof PatternError || error instanceof UnwritableError)
      throw new GrammarError(error.message, part.pointer, keyword);
    throw error;
  }
}

/** What a character of a pattern costs, compared with one of the grammar. */
const patternWork = 20;

/** `counted` is the product of the counts around this part: the engine may follow that many positions in parallel. */
function write(pattern: Pattern, rules: Rules, counted: number): string {
  switch (pattern.type) {
    case 'set': {
      const body = rules.cached(`class ${pattern.set.join(' ')}`, () => insideString(pattern.set) ?? '');
      if (body === '') throw new UnwritableError('the pattern has a class without characters');
      return body.length > 60 ? rules.shared('class', body) : body;
    }
    case 'sequence':
      return sequence(pattern.items, rules, counted);
    case 'choice':
      return choice(pattern.options.map((option) => write(option, rules, counted)));
    case 'repeat':
      return repeat(pattern, rules, counted);
    case 'group':
      return write(pattern.item, rules, counted);
    default:
      throw unsupported(pattern);
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
  const { minimum, maximum } = pattern;
  const item = ungrouped(pattern.item);
  if (maximum === 0) return '""';
  if (maximum !== 1 && lengths(item).shortest === 0) {
    // (a*)* says no more than a*; the engine would take it for a rule that begins with itself.
    const inside = item.type === 'sequence' && item.items.length === 1 ? ungrouped(item.items[0] as Pattern) : item;
    if (inside?.type === 'repeat' && inside.maximum === undefined && inside.minimum <= 1) {
      return write({ ...inside, minimum: 0 }, rules, counted);
    }
    throw new UnwritableError('the pattern repeats something that may be empty');
  }
  const positions = counted * Math.max(1, maximum ?? minimum);
  if (positions > limits.positions) throw new UnwritableError(`the pattern counts further than ${limits.positions}`);
  return rules.repeat(write(item, rules, positions), minimum, maximum);
}

function unsupported({ type }: Pattern): UnwritableError {
  const what = type === 'boundary' ? 'a word boundary' : 'an anchor in the middle';
  return new UnwritableError(`the pattern uses ${what}, which is not supported here`);
}

/** How many characters the texts of a pattern have; `longest` may be infinite. */
function lengths(pattern: Pattern): { shortest: number; longest: number } {
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
      const max = pattern.maximum ?? Number.POSITIVE_INFINITY;
      return { shortest: shortest * pattern.minimum, longest: longest === 0 || max === 0 ? 0 : longest * max };
    }
    case 'group':
      return lengths(pattern.item);
    default:
      throw unsupported(pattern);
  }
}

/** The pattern limited to texts of these lengths; undefined if more than one repetition makes the length vary. */
function withLength(pattern: Pattern, shortest: number, longest: number): Pattern | undefined {
  const range = lengths(pattern);
  if (range.shortest >= shortest && range.longest <= longest) return pattern;
  const items = (pattern.type === 'sequence' ? pattern.items : [pattern]).map(ungrouped);
  const varying = items.filter((item) => lengths(item).shortest !== lengths(item).longest);
  const [repetition] = varying;
  if (varying.length !== 1 || repetition?.type !== 'repeat') {
    const inside = varying.length === 1 && repetition?.type === 'sequence' ? repetition : undefined;
    if (!inside) return undefined;
    const around = range.shortest - lengths(inside).shortest;
    const narrowed = withLength(inside, Math.max(0, shortest - around), longest - around);
    return narrowed && { type: 'sequence', items: items.map((item) => (item === inside ? narrowed : item)) };
  }
  const each = lengths(repetition.item);
  if (each.shortest !== each.longest) return undefined;
  const around = range.shortest - lengths(repetition).shortest;
  const minimum = Math.max(repetition.minimum, Math.ceil((shortest - around) / each.shortest));
  const max = Math.floor((longest - around) / each.shortest);
  const maximum = Number.isFinite(max) ? Math.min(repetition.maximum ?? max, max) : repetition.maximum;
  if (maximum !== undefined && maximum < minimum) return undefined;
  const narrowed: Pattern = { ...repetition, minimum, maximum };
  return { type: 'sequence', items: items.map((item) => (item === repetition ? narrowed : item)) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Groups describe the same texts as their content. */
function ungrouped(pattern: Pattern): Pattern {
  return pattern.type === 'group' ? ungrouped(pattern.item) : pattern;
}

const everything: Pattern = { type: 'set', set: complement([]) };
const anything: Pattern = { type: 'repeat', item: everything, minimum: 0, maximum: undefined, greedy: true };

/** As in JSON Schema, anything may come before and after a pattern without anchors. */
function parsePattern(source: string): Pattern {
  const whole = parseExpression(source);
  if (whole.type !== 'choice') return anchored(whole);
  return { type: 'choice', options: whole.options.map(anchored) };
}

/** One of the outermost choices. */
function anchored(option: Pattern): Pattern {
  const items = option.type === 'sequence' ? [...option.items] : [option];
  const before = items[0]?.type === 'start' ? items.splice(0, 1) : [];
  const behind = items.at(-1)?.type === 'end' ? items.splice(-1) : [];
  if (before.length === 0) items.unshift(anything);
  if (behind.length === 0) items.push(anything);
  return { type: 'sequence', items };
}

const control: Characters = [[0, 0x1f]];
const neverRaw: Characters = union(control, single('"'), single('\\'));
const withShortEscape = ['"', '\\', '\b', '\f', '\n', '\r', '\t'];
/** Sets with more unusual control characters are written without them: each costs an alternative. */
const spelledOut = 4;

/** One character of the set inside a JSON string; undefined if the set is empty. Each has one spelling, that of JSON.stringify. */
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
