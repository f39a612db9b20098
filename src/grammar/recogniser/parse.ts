import { AppError } from '../../core/errors.ts';
import type { Sliced } from '../../core/slices.ts';
import { type Characters, complement, union } from '../../patterns/characters.ts';

/** The syntax tree of a rule. `offset`: in the text of the grammar. */
export type Expression =
  /** A literal, as the numbers of its characters. */
  | { readonly type: 'text'; readonly codes: readonly number[] }
  | { readonly type: 'set'; readonly set: Characters }
  | { readonly type: 'sequence' | 'choice'; readonly items: readonly Expression[] }
  | {
      readonly type: 'repeat';
      readonly item: Expression;
      readonly minimum: number;
      readonly maximum: number | undefined;
    }
  | { readonly type: 'rule'; readonly name: string; readonly offset: number }
  /** One token of the model, by its number or its text, or any other one. */
  | { readonly type: 'token'; readonly token: number | string; readonly negated: boolean; readonly offset: number };

export interface Rule {
  readonly body: Expression;
  readonly offset: number;
}

const escapes: Readonly<Record<string, string>> = {
  t: '\t',
  r: '\r',
  n: '\n',
  '\\': '\\',
  '"': '"',
  '[': '[',
  ']': ']',
  '-': '-',
};
const hexadecimal: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
const comment = /#[^\r\n]*/y;
const decimal = /\d+/y;
const ruleName = /[a-zA-Z0-9-]+/y;
/** Bounds the nesting of `a*****…`. */
const maxQuantifiers = 8;

/** Parses a grammar, rule by rule; of several rules with one name the last counts. Throws a GbnfError. */
export function* parseGbnf(source: string): Sliced<ReadonlyMap<string, Rule>> {
  const { characters } = grammarLimits;
  if (source.length > characters) throw new GbnfError(source, characters, `it is longer than ${characters} characters`);
  return yield* new GbnfParser(source).rules();
}

class GbnfParser {
  #at = 0;
  /** By their text: a grammar of thousands of rules has few different ones. */
  readonly #classes = new Map<string, Expression>();

  constructor(private readonly source: string) {}

  *rules(): Sliced<ReadonlyMap<string, Rule>> {
    const rules = new Map<string, Rule>();
    this.#space(true);
    while (this.#at < this.source.length) {
      const offset = this.#at;
      const name = this.#match(ruleName);
      if (name === '') throw this.#error('the name of a rule is missing');
      this.#space(false);
      if (!this.#take('::=')) throw this.#error('::= is missing');
      this.#space(true);
      rules.set(name, { body: this.#choices(0), offset });
      if (this.#at < this.source.length && !this.#isNext('\r', '\n')) throw this.#unexpected();
      this.#space(true);
      yield;
    }
    return rules;
  }

  #choices(depth: number): Expression {
    if (depth > grammarLimits.nesting) {
      throw this.#error(`groups are nested deeper than ${grammarLimits.nesting}`);
    }
    const items = [this.#sequence(depth)];
    while (this.#take('|')) {
      this.#space(true);
      items.push(this.#sequence(depth));
    }
    return items.length === 1 ? (items[0] as Expression) : { type: 'choice', items };
  }

  #sequence(depth: number): Expression {
    const items: Expression[] = [];
    for (let item = this.#item(depth); item; item = this.#item(depth)) items.push(this.#quantified(item, depth));
    return items.length === 1 ? (items[0] as Expression) : { type: 'sequence', items };
  }

  /** Undefined at the end of a sequence. Line breaks are allowed inside groups only. */
  #item(depth: number): Expression | undefined {
    const item = this.#bareItem(depth);
    if (item) this.#space(depth > 0);
    return item;
  }

  #bareItem(depth: number): Expression | undefined {
    const offset = this.#at;
    const character = this.source[offset];
    switch (character) {
      case '"':
        return this.#literal();
      case '[':
        return this.#class();
      case '.':
        this.#at += 1;
        return { type: 'set', set: complement([]) };
      case '(':
        return this.#group(depth);
      case '<':
      case '!':
        return this.#token();
      case '*':
      case '+':
      case '?':
      case '{':
        throw this.#error(`there is nothing before ${character} that it could repeat`);
      default: {
        const name = this.#match(ruleName);
        return name === '' ? undefined : { type: 'rule', name, offset };
      }
    }
  }

  #group(depth: number): Expression {
    this.#at += 1;
    this.#space(true);
    const inside = this.#choices(depth + 1);
    if (!this.#take(')'))
      throw this.#at < this.source.length ? this.#unexpected(' or a missing )') : this.#error('a ) is missing');
    return inside;
  }

  #literal(): Expression {
    this.#at += 1;
    const codes: number[] = [];
    while (!this.#take('"')) codes.push(this.#character());
    return { type: 'text', codes };
  }

  #class(): Expression {
    const offset = this.#at;
    this.#at += 1;
    const negated = this.#take('^');
    const ranges: [number, number][] = [];
    while (!this.#take(']')) {
      const from = this.#character();
      const isRange = this.#isNext('-') && this.source[this.#at + 1] !== ']';
      if (isRange) this.#at += 1;
      const to = isRange ? this.#character() : from;
      if (from > to) throw this.#error('the range is in the wrong order');
      ranges.push([from, to]);
    }
    if (ranges.length === 0 && !negated)
      throw new GbnfError(this.source, offset, 'there is a class without characters');
    const written = this.source.slice(offset, this.#at);
    const known = this.#classes.get(written);
    if (known) return known;
    const expression = { type: 'set', set: negated ? complement(union(ranges)) : union(ranges) } as const;
    this.#classes.set(written, expression);
    return expression;
  }

  #token(): Expression {
    const offset = this.#at;
    const negated = this.#take('!');
    const written = /<\[(\d{1,9})\]>|<[^>\r\n]{1,200}>/y;
    written.lastIndex = this.#at;
    const match = written.exec(this.source);
    if (!match) throw this.#error('there is no token like <name> or <[number]>');
    this.#at += match[0].length;
    return { type: 'token', token: match[1] === undefined ? match[0] : Number(match[1]), negated, offset };
  }

  #quantified(item: Expression, depth: number): Expression {
    let quantified = item;
    for (let count = 0; ; count += 1) {
      const offset = this.#at;
      const counts = this.#quantifier(depth);
      if (!counts) return quantified;
      if (count === maxQuantifiers) throw new GbnfError(this.source, offset, 'there are too many quantifiers in a row');
      quantified = { type: 'repeat', item: quantified, ...counts };
      this.#space(depth > 0);
    }
  }

  #quantifier(depth: number): { minimum: number; maximum: number | undefined } | undefined {
    if (this.#take('*')) return { minimum: 0, maximum: undefined };
    if (this.#take('+')) return { minimum: 1, maximum: undefined };
    if (this.#take('?')) return { minimum: 0, maximum: 1 };
    if (!this.#take('{')) return undefined;
    const newlines = depth > 0;
    this.#space(newlines);
    const minimum = this.#number();
    if (minimum === undefined) throw this.#error('a number is missing');
    this.#space(newlines);
    let maximum: number | undefined = minimum;
    if (this.#take(',')) {
      this.#space(newlines);
      maximum = this.#number();
      this.#space(newlines);
    }
    if (!this.#take('}')) throw this.#error('a } is missing');
    if (maximum !== undefined && maximum < minimum) throw this.#error('the counts are in the wrong order');
    return { minimum, maximum };
  }

  #number(): number | undefined {
    const digits = this.#match(decimal);
    return digits === '' ? undefined : Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
  }

  #character(): number {
    const code = this.source.codePointAt(this.#at);
    if (code === undefined) throw this.#error('the grammar ends in the middle of something');
    if (code === 0) throw this.#error('there is a NUL character');
    if (code !== 0x5c) {
      this.#at += code > 0xffff ? 2 : 1;
      return code;
    }
    const kind = this.source[this.#at + 1] ?? '';
    const plain = escapes[kind];
    const digits = hexadecimal[kind];
    if (plain === undefined && digits === undefined) throw this.#error(`there is an unknown escape \\${kind}`);
    this.#at += 2;
    if (plain !== undefined) return plain.charCodeAt(0);
    const written = this.source.slice(this.#at, this.#at + (digits as number));
    if (written.length !== digits || !/^[0-9a-fA-F]+$/.test(written)) {
      throw this.#error(`${digits} hexadecimal digits are missing`);
    }
    this.#at += written.length;
    return Number.parseInt(written, 16);
  }

  /** Blanks and comments. */
  #space(newlines: boolean): void {
    for (;;) {
      const code = this.source.charCodeAt(this.#at);
      if (code === 0x23) this.#match(comment);
      else if (code === 0x20 || code === 0x09 || (newlines && (code === 0x0a || code === 0x0d))) this.#at += 1;
      else return;
    }
  }

  #match(spelling: RegExp): string {
    spelling.lastIndex = this.#at;
    const match = spelling.exec(this.source)?.[0] ?? '';
    this.#at += match.length;
    return match;
  }

  #take(text: string): boolean {
    if (!this.source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #isNext(...characters: readonly string[]): boolean {
    return characters.includes(this.source[this.#at] ?? '');
  }

  #unexpected(instead = ''): GbnfError {
    const character = String.fromCodePoint(this.source.codePointAt(this.#at) ?? 0);
    return this.#error(`there is an unexpected ${JSON.stringify(character)}${instead}`);
  }

  #error(reason: string): GbnfError {
    return new GbnfError(this.source, this.#at, reason);
  }
}

/** A syntax error with line and column. */
export class GbnfError extends AppError<'invalid-field'> {
  constructor(source: string, offset: number, reason: string) {
    const before = source.slice(0, offset);
    const line = before.split(/\r\n|\r|\n/).length;
    const column = before.length - Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r'));
    super('invalid-field', {
      field: 'grammar',
      expected: `valid GBNF, but at line ${line}, column ${column} ${reason}`,
    });
  }
}

/** Thrown while a text is matched, when the position in the grammar is no longer known. */
export function tooAmbiguous(): AppError {
  return new AppError('invalid-field', {
    field: 'grammar',
    expected: 'simpler: the text can be read in so many ways at once that following it takes too long',
  });
}

/** Limits of untrusted grammars. That of 150 tools with ordinary schemas has some 500,000 characters and 100,000 steps. */
export const grammarLimits = {
  characters: 1_200_000,
  /** Groups inside of groups. */
  nesting: 200,
  /** Characters, references and choices, with every counted repetition written out. */
  steps: 500_000,
  /** Looks at a step of the grammar for one token of the text; some tens of milliseconds. */
  work: 500_000,
} as const;
