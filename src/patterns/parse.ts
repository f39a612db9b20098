import { type Characters, complement, inBothCases, onlyOne, single, union } from './characters.ts';

/** The syntax tree of a regular expression. */
export type PatternNode =
  | { readonly type: 'set'; readonly set: Characters }
  | { readonly type: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly type: 'choice'; readonly options: readonly PatternNode[] }
  | {
      readonly type: 'repeat';
      readonly item: PatternNode;
      readonly minimum: number;
      readonly maximum: number | undefined;
      readonly greedy: boolean;
    }
  /** Groups that capture are counted from 1, in the order of their opening brackets. */
  | { readonly type: 'group'; readonly item: PatternNode; readonly number: number; readonly name?: string }
  | { readonly type: 'start' | 'end' }
  | { readonly type: 'boundary'; readonly negated: boolean };

/** Limits of untrusted patterns. */
export const patternLimits = { length: 2000, depth: 64 } as const;

export class PatternError extends Error {
  constructor(
    message: string,
    /** The character of the error, counted from 1. */
    readonly place?: number,
  ) {
    super(message);
  }
}

const digit: Characters = [[48, 57]];
export const wordCharacters: Characters = union(digit, [[65, 90]], [[95, 95]], [[97, 122]]);
const space: Characters = union(
  [[9, 13]],
  ...[0x20, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff].map((code): Characters => [[code, code]]),
  [[0x2000, 0x200a]],
);
export const lineEnd: Characters = union(single('\n'), single('\r'), [[0x2028, 0x2029]]);

const classes: Readonly<Record<string, Characters>> = {
  d: digit,
  D: complement(digit),
  w: wordCharacters,
  W: complement(wordCharacters),
  s: space,
  S: complement(space),
};
const controls: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f', v: '\v', '0': '\0' };

/** As the flags of JavaScript. */
export interface PatternFlags {
  readonly ignoreCase?: boolean;
  readonly dotAll?: boolean;
  /** As JavaScript without the flag `u`: braces and hyphens that mean nothing else are characters. */
  readonly lenient?: boolean;
}

/** Parses the regular expressions that can be matched in linear time: no back-references, no look-around. Throws a PatternError. */
export function parsePattern(source: string, flags: PatternFlags = {}): PatternNode {
  return new PatternParser(source, flags).whole();
}

class PatternParser {
  readonly #characters: readonly string[];
  #at = 0;
  #groups = 0;

  constructor(
    source: string,
    private readonly flags: PatternFlags,
  ) {
    if (source.length > patternLimits.length) {
      throw new PatternError(`the pattern is longer than ${patternLimits.length} characters`);
    }
    this.#characters = [...source];
  }

  whole(): PatternNode {
    const pattern = this.#choices(0);
    if (this.#at < this.#characters.length) throw this.#error('closes a group that it did not open', 1);
    return pattern;
  }

  #choices(depth: number): PatternNode {
    if (depth > patternLimits.depth) throw this.#error(`is nested deeper than ${patternLimits.depth} groups`);
    const options = [this.#sequence(depth)];
    while (this.#take('|')) options.push(this.#sequence(depth));
    return options.length === 1 ? (options[0] as PatternNode) : { type: 'choice', options };
  }

  #sequence(depth: number): PatternNode {
    const items: PatternNode[] = [];
    while (![undefined, '|', ')'].includes(this.#peek())) items.push(this.#quantified(depth));
    return { type: 'sequence', items };
  }

  #quantified(depth: number): PatternNode {
    const item = this.#atom(depth);
    const counts = this.#quantifier();
    if (!counts) return item;
    if (item.type === 'start' || item.type === 'end' || item.type === 'boundary') {
      throw this.#error('has a quantifier after an anchor');
    }
    const greedy = !this.#take('?');
    if (this.#quantifier()) throw this.#error('has two quantifiers in a row');
    return { type: 'repeat', item, ...counts, greedy };
  }

  #quantifier(): { minimum: number; maximum: number | undefined } | undefined {
    if (this.#take('*')) return { minimum: 0, maximum: undefined };
    if (this.#take('+')) return { minimum: 1, maximum: undefined };
    if (this.#take('?')) return { minimum: 0, maximum: 1 };
    if (this.#peek() !== '{') return undefined;
    const counts = this.#match(/^\{(\d{1,9})(,(\d{1,9})?)?\}/, 24);
    if (!counts && this.flags.lenient) return undefined;
    if (!counts) throw this.#error('has a brace that is no quantifier; write \\{ for the character', 1);
    const minimum = Number(counts[1]);
    const maximum = counts[2] === undefined ? minimum : counts[3] === undefined ? undefined : Number(counts[3]);
    if (maximum !== undefined && maximum < minimum) throw this.#error('has a quantifier out of order');
    return { minimum, maximum };
  }

  #atom(depth: number): PatternNode {
    const character = this.#next();
    switch (character) {
      case '(':
        return this.#group(depth);
      case '[':
        return { type: 'set', set: this.#bracketed() };
      case '.':
        return { type: 'set', set: complement(this.flags.dotAll ? [] : lineEnd) };
      case '\\':
        if (this.#take('b')) return { type: 'boundary', negated: false };
        if (this.#take('B')) return { type: 'boundary', negated: true };
        return { type: 'set', set: this.#cased(this.#escaped(false)) };
      case '^':
        return { type: 'start' };
      case '$':
        return { type: 'end' };
      case '*':
      case '+':
      case '?':
        throw this.#error('has a quantifier with nothing before it');
      case '{':
        if (this.flags.lenient) return { type: 'set', set: single('{') };
        throw this.#error('has a brace that is no quantifier; write \\{ for the character');
      default:
        return { type: 'set', set: this.#cased(single(character)) };
    }
  }

  #group(depth: number): PatternNode {
    const special = this.#take('?');
    const silent = special && this.#take(':');
    const name = special && !silent ? this.#groupName() : undefined;
    const number = silent ? 0 : ++this.#groups;
    const item = this.#choices(depth + 1);
    if (!this.#take(')')) throw this.#error('has a group without an end');
    return silent ? item : { type: 'group', item, number, ...(name !== undefined && { name }) };
  }

  #groupName(): string {
    const name = this.#match(/^<([A-Za-z_$][\w$]*)>/, 80)?.[1];
    if (name !== undefined) return name;
    if (/^<?[=!]/.test(`${this.#peek()}${this.#characters[this.#at + 1]}`))
      throw this.#refusal(this.#peek() === '<' ? 'a look-behind' : 'a look-ahead');
    throw this.#refusal('a look-around or a modifier');
  }

  #bracketed(): Characters {
    const negated = this.#take('^');
    const sets: Characters[] = [];
    while (!this.#take(']')) {
      const from = this.#member();
      const isRange = this.#peek() === '-' && this.#characters[this.#at + 1] !== ']';
      if (isRange) {
        this.#at += 1;
        const to = this.#member();
        // A class of characters is no end of a range.
        const isPlain = this.flags.lenient && (!onlyOne(from) || !onlyOne(to));
        sets.push(...(isPlain ? [from, single('-'), to] : [this.#range(from, to)]));
      } else {
        sets.push(from);
      }
    }
    const set = this.#cased(union(...sets));
    return negated ? complement(set) : set;
  }

  #cased(set: Characters): Characters {
    return this.flags.ignoreCase ? inBothCases(set) : set;
  }

  #range(from: Characters, to: Characters): Characters {
    const [low, high] = [from[0]?.[0] as number, to[0]?.[0] as number];
    if (from.length !== 1 || to.length !== 1 || from[0]?.[1] !== low || to[0]?.[1] !== high || low > high) {
      throw this.#error('has a range of characters that is out of order');
    }
    return [[low, high]];
  }

  #member(): Characters {
    const character = this.#next();
    return character === '\\' ? this.#escaped(true) : single(character);
  }

  #escaped(inClass: boolean): Characters {
    const character = this.#next();
    const named = classes[character];
    if (named) return named;
    if (character === '0' && /\d/.test(this.#peek() ?? '')) throw this.#refusal('an octal escape');
    const control = inClass && character === 'b' ? '\b' : controls[character];
    if (control !== undefined) return single(control);
    if (character === 'x') return this.#hexadecimal(/^[0-9a-fA-F]{2}/);
    if (character === 'u') return this.#hexadecimal(this.#take('{') ? /^[0-9a-fA-F]{1,6}\}/ : /^[0-9a-fA-F]{4}/);
    if (/[1-9k]/.test(character)) throw this.#refusal('a back-reference');
    if (/[a-zA-Z]/.test(character)) throw this.#refusal(`\\${character}`);
    return single(character);
  }

  #hexadecimal(spelling: RegExp): Characters {
    const written = this.#match(spelling, 8);
    const code = Number.parseInt(written?.[0] ?? '', 16);
    if (!written || code > 0x10ffff) throw this.#error('has a broken escape');
    if (code >= 0xd800 && code < 0xe000) throw this.#refusal('half of a surrogate pair');
    return [[code, code]];
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #next(): string {
    const character = this.#characters[this.#at];
    if (character === undefined) throw this.#error('ends in the middle of something');
    this.#at += 1;
    return character;
  }

  #take(character: string): boolean {
    if (this.#characters[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #match(spelling: RegExp, longest: number): RegExpExecArray | undefined {
    const found = spelling.exec(this.#characters.slice(this.#at, this.#at + longest).join(''));
    if (found) this.#at += found[0].length;
    return found ?? undefined;
  }

  #refusal(what: string): PatternError {
    return this.#error(`uses ${what}, which is not supported here`);
  }

  /** `ahead` is 1 if the next character is wrong, and not the last one. */
  #error(reason: string, ahead = 0): PatternError {
    return new PatternError(`the pattern ${reason}`, Math.max(1, this.#at + ahead));
  }
}
