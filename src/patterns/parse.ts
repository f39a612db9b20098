import { type Characters, complement, inBothCases, onlyOne, single, union } from './characters.ts';
import { PatternError, type PatternReason } from './errors.ts';

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
      throw new PatternError('length', { detail: patternLimits.length });
    }
    this.#characters = [...source];
  }

  whole(): PatternNode {
    const pattern = this.#choices(0);
    if (this.#at < this.#characters.length) throw this.#error('closedGroup', { ahead: 1 });
    return pattern;
  }

  #choices(depth: number): PatternNode {
    if (depth > patternLimits.depth) throw this.#error('depth', { detail: patternLimits.depth });
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
      throw this.#error('anchorRepeated');
    }
    const greedy = !this.#take('?');
    if (this.#quantifier()) throw this.#error('twoQuantifiers');
    return { type: 'repeat', item, ...counts, greedy };
  }

  #quantifier(): { minimum: number; maximum: number | undefined } | undefined {
    if (this.#take('*')) return { minimum: 0, maximum: undefined };
    if (this.#take('+')) return { minimum: 1, maximum: undefined };
    if (this.#take('?')) return { minimum: 0, maximum: 1 };
    if (this.#peek() !== '{') return undefined;
    const counts = this.#match(/^\{(\d{1,9})(,(\d{1,9})?)?\}/, 24);
    if (!counts && this.flags.lenient) return undefined;
    if (!counts) throw this.#error('brace', { ahead: 1 });
    const minimum = Number(counts[1]);
    const maximum = counts[2] === undefined ? minimum : counts[3] === undefined ? undefined : Number(counts[3]);
    if (maximum !== undefined && maximum < minimum) throw this.#error('counts');
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
        throw this.#error('nothingRepeated');
      case '{':
        if (this.flags.lenient) return { type: 'set', set: single('{') };
        throw this.#error('brace');
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
    if (!this.#take(')')) throw this.#error('openGroup');
    return silent ? item : { type: 'group', item, number, ...(name !== undefined && { name }) };
  }

  #groupName(): string {
    const name = this.#match(/^<([A-Za-z_$][\w$]*)>/, 80)?.[1];
    if (name !== undefined) return name;
    if (/^<?[=!]/.test(`${this.#peek()}${this.#characters[this.#at + 1]}`))
      throw this.#error(this.#peek() === '<' ? 'lookBehind' : 'lookAhead');
    throw this.#error('modifier');
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
      throw this.#error('range');
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
    if (character === '0' && /\d/.test(this.#peek() ?? '')) throw this.#error('octal');
    const control = inClass && character === 'b' ? '\b' : controls[character];
    if (control !== undefined) return single(control);
    if (character === 'x') return this.#hexadecimal(/^[0-9a-fA-F]{2}/);
    if (character === 'u') return this.#hexadecimal(this.#take('{') ? /^[0-9a-fA-F]{1,6}\}/ : /^[0-9a-fA-F]{4}/);
    if (/[1-9k]/.test(character)) throw this.#error('backReference');
    if (/[a-zA-Z]/.test(character)) throw this.#error('unknownEscape', { detail: `\\${character}` });
    return single(character);
  }

  #hexadecimal(spelling: RegExp): Characters {
    const written = this.#match(spelling, 8);
    const code = Number.parseInt(written?.[0] ?? '', 16);
    if (!written || code > 0x10ffff) throw this.#error('escape');
    if (code >= 0xd800 && code < 0xe000) throw this.#error('surrogate');
    return [[code, code]];
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #next(): string {
    const character = this.#characters[this.#at];
    if (character === undefined) throw this.#error('end');
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

  /** `ahead` is 1 if the next character is wrong, and not the last one. */
  #error(
    reason: PatternReason,
    { ahead = 0, detail }: { readonly ahead?: number; readonly detail?: string | number } = {},
  ): PatternError {
    return new PatternError(reason, { place: Math.max(1, this.#at + ahead), detail });
  }
}
