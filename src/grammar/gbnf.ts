import { GrammarLimitError, limits, togetherLimits } from './schema.ts';

/** Counts up to this are left to the engine. It takes counts beyond 2,000 for "without end". */
const writtenOut = 256;

interface Size {
  readonly rules: number;
  readonly repeated: number;
  readonly length: number;
  readonly work: number;
}

/** The rules of a grammar under construction. Bodies are GBNF text; equal bodies share a rule. */
export class Rules {
  readonly #bodies = new Map<string, string>();
  readonly #byKey = new Map<string, string>();
  readonly #byBody = new Map<string, string>();
  readonly #cache = new Map<string, string>();
  readonly #taken: Set<string>;
  /** The first number that is free behind a name. */
  readonly #suffixes = new Map<string, number>();
  #repeated = 0;
  #length = 0;
  #steps = 0;
  #work = 0;
  #most = grown({ rules: 0, repeated: 0, length: 0, work: 0 });

  constructor(reserved: readonly string[] = []) {
    this.#taken = new Set(['root', ...reserved]);
  }

  /** The rule for `key`, built at the first request; inside `build` the name is already known, so rules may recur. */
  named(key: string, hint: string, build: () => string): string {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const name = this.#reserve(hint);
    this.#byKey.set(key, name);
    this.#write(name, build());
    return name;
  }

  /** A rule for this body, for parts that would otherwise be written several times. */
  shared(hint: string, body: string): string {
    this.spend(body.length);
    const known = this.#byBody.get(body);
    if (known !== undefined) return known;
    const steps = this.check(body);
    const name = this.#reserve(hint);
    this.#byBody.set(body, name);
    this.#write(name, body, steps);
    return name;
  }

  /** A body that is built once for each key. */
  cached(key: string, build: () => string): string {
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
    const body = build();
    this.#cache.set(key, body);
    return body;
  }

  /** The steps of a body. Throws if it would make the grammar too long. */
  check(body: string): number {
    if (this.#length + body.length > this.#most.length) {
      throw new GrammarLimitError(`its grammar is longer than ${this.#most.length} characters`);
    }
    const steps = stepsOf(body);
    if (this.#steps + steps > togetherLimits.steps) {
      throw new GrammarLimitError(`its grammar has more than ${togetherLimits.steps} steps`);
    }
    return steps;
  }

  /** Charges work, in characters; throws at the limit. */
  spend(work: number): void {
    this.#work += work;
    if (this.#work > this.#most.work) {
      throw new GrammarLimitError(`its conversion takes more than ${limits.work} steps`);
    }
  }

  /** Starts another schema, which has the limits of a single one, within those of all schemas together. */
  grant(): void {
    this.#most = grown({
      rules: this.#taken.size,
      repeated: this.#repeated,
      length: this.#length,
      work: this.#work,
    });
  }

  /** `item` from `minimum` to `maximum` times; undefined is unlimited. */
  repeat(item: string, minimum: number, maximum: number | undefined): string {
    if (maximum === undefined) {
      return minimum < 2 ? this.#counted(item, minimum, undefined) : `${this.#exactly(item, minimum)} ${item}*`;
    }
    if (maximum <= writtenOut) return this.#counted(item, minimum, maximum);
    const parts = [this.#exactly(item, minimum), this.#upTo(item, maximum - minimum)];
    return `(${parts.filter((part) => part !== '""').join(' ') || '""'})`;
  }

  /** All rules, one in each line. */
  text(): string {
    return [...this.#bodies].map(([name, body]) => `${name} ::= ${body}\n`).join('');
  }

  #reserve(hint: string): string {
    if (this.#taken.size >= this.#most.rules) throw new GrammarLimitError(`it needs more than ${limits.rules} rules`);
    const stem = ruleName(hint);
    let name = stem;
    let suffix = this.#suffixes.get(stem) ?? 2;
    for (; this.#taken.has(name); suffix += 1) name = `${stem}-${suffix}`;
    this.#suffixes.set(stem, suffix);
    this.#taken.add(name);
    return name;
  }

  #write(name: string, body: string, steps = stepsOf(body)): void {
    this.#length += name.length + body.length + separators;
    this.#steps += steps;
    this.#bodies.set(name, body);
  }

  #counted(item: string, minimum: number, maximum: number | undefined): string {
    const sum = this.#repeated + (maximum ?? minimum);
    if (sum > this.#most.repeated)
      throw new GrammarLimitError(`its counts add up to more than ${limits.totalRepetition}`);
    this.#repeated = sum;
    // The engine multiplies a count with the size of a group that it repeats, and gives up early; a name has size one.
    return quantified(item.startsWith('(') ? this.shared('item', item) : item, minimum, maximum);
  }

  // High counts are built from blocks, which costs the engine about the square root of writing out every repetition.

  #exactly(item: string, times: number): string {
    if (times <= writtenOut) return this.#counted(item, times, times);
    const size = Math.ceil(Math.sqrt(times));
    const [whole, rest] = [Math.floor(times / size), times % size];
    const blocks = this.#counted(this.#block(item, size), whole, whole);
    return rest === 0 ? blocks : `${blocks} ${this.#counted(item, rest, rest)}`;
  }

  #upTo(item: string, times: number): string {
    if (times <= writtenOut) return this.#counted(item, 0, times);
    const size = Math.ceil(Math.sqrt(times));
    const whole = Math.floor(times / size);
    const block = this.#block(item, size);
    const shorter = `${this.#counted(block, 0, whole - 1)} ${this.#counted(item, 0, size - 1)}`;
    return `(${shorter} | ${this.#counted(block, whole, whole)} ${this.#counted(item, 0, times % size)})`;
  }

  #block(item: string, size: number): string {
    return this.shared('block', this.#counted(item, size, size));
  }
}

/** Between the name of a rule and its body, and behind it. */
const separators = ' ::= \n'.length;

const nameCharacters = codesOf('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-');
const stepCharacters = codesOf('[|*+?{');

/** A table of ASCII characters. */
function codesOf(characters: string): Uint8Array {
  const table = new Uint8Array(128);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}

const [quote, openBracket, backslash, closeBracket, openBrace] = [0x22, 0x5b, 0x5c, 0x5d, 0x7b];

/** The last number of a count such as `{2,8}`. */
function highestCount(body: string, from: number): number {
  const count = /\{\d+(?:,(\d+))?/y;
  count.lastIndex = from;
  const [written, highest] = count.exec(body) ?? [];
  return Number(highest ?? written?.slice(1) ?? 0);
}

/** About how many steps the engine makes of a body, with counts written out: a fork and an item for each. */
export function stepsOf(body: string): number {
  let steps = 0;
  /** The character that ends the literal or class. */
  let end = 0;
  let inName = false;
  for (let index = 0; index < body.length; index += 1) {
    const code = body.charCodeAt(index);
    if (end !== 0) {
      if (code === backslash) index += 1;
      if (code === end) end = 0;
      else if (end === quote) steps += 1;
    } else if (nameCharacters[code] === 1) {
      if (!inName) steps += 1;
      inName = true;
    } else {
      inName = false;
      if (stepCharacters[code] === 1) steps += code === openBrace ? 2 * highestCount(body, index) : 1;
      if (code === quote) end = quote;
      else if (code === openBracket) end = closeBracket;
    }
  }
  return steps;
}

/** How large a grammar of this size may become with one schema more. */
function grown({ rules, repeated, length, work }: Size): Size {
  return {
    rules: Math.min(rules + limits.rules, togetherLimits.rules),
    repeated: Math.min(repeated + limits.totalRepetition, togetherLimits.totalRepetition),
    length: Math.min(length + limits.grammarLength, togetherLimits.grammarLength),
    work: Math.min(work + limits.work, togetherLimits.work),
  };
}

function quantified(item: string, minimum: number, maximum: number | undefined): string {
  if (maximum === undefined) return minimum === 0 ? `${item}*` : minimum === 1 ? `${item}+` : `${item}{${minimum},}`;
  if (minimum === maximum) return minimum === 1 ? item : minimum === 0 ? '""' : `${item}{${minimum}}`;
  return minimum === 0 && maximum === 1 ? `${item}?` : `${item}{${minimum},${maximum}}`;
}

/** Rule names hold letters, digits and hyphens only; the rest of a hint becomes a hyphen. */
export function ruleName(hint: string): string {
  const name = hint
    .replace(/[^a-zA-Z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  return /^[a-zA-Z]/.test(name) ? name : `rule-${name || 'x'}`;
}

/** One of several bodies; in brackets if there are several, so that it can be part of a sequence. */
export function choice(options: readonly string[]): string {
  const distinct = [...new Set(options)];
  return distinct.length === 1 ? (distinct[0] as string) : `(${distinct.join(' | ')})`;
}

/** Rules of any text up to the first `end`, which is included; `name` is the first of them. The rules follow the search for `end`. */
export function textUntil(name: string, end: string): Readonly<Record<string, string>> {
  const characters = [...end];
  const rule = (matched: number): string => (matched === 0 ? name : `${name}-${matched}`);
  /** How much of `end` the text ends with after this much of it and another character. */
  const after = (matched: number, character: string): number => {
    const seen = [...characters.slice(0, matched), character];
    for (let length = seen.length; length > 0; length -= 1) {
      if (characters.slice(0, length).every((one, index) => one === seen[seen.length - length + index])) return length;
    }
    return 0;
  };
  const bodies = characters.map((_, matched) => {
    const known = [...new Set(characters.slice(0, matched + 1))].filter((character) => after(matched, character) > 0);
    const steps = known.map((character) => {
      const next = after(matched, character);
      return next === characters.length ? literal(character) : `${literal(character)} ${rule(next)}`;
    });
    return [rule(matched), [...steps, `[^${known.map(classMember).join('')}] ${name}`].join(' | ')];
  });
  return Object.fromEntries(bodies);
}

/** A character inside of a class. */
export function classMember(character: string): string {
  return /[\]\\^-]/.test(character) ? `\\${character}` : character;
}

const escapes: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export function literal(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are not allowed in a grammar
  const escaped = text.replace(/["\\\u0000-\u001f\u007f]/g, (character) => {
    return escapes[character] ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`;
  });
  return `"${escaped}"`;
}

/** The literal for a JSON value on one line, as `JSON.stringify` writes it. */
export function jsonLiteral(value: unknown): string {
  return literal(JSON.stringify(value));
}

/** What a value inside of a constant costs, compared with a character of the grammar. */
const valueWork = 40;

/** Optional white space, bounded: small models otherwise write blanks until their budget is used up. */
export const blankBody = '(" " | "\\n" [ \\t]{0,20})?';
export const booleanBody = '("true" | "false")';
export const nullBody = '"null"';
const digit = '[0-9]';

/** The parts of JSON that do not depend on a schema, as names of rules or bodies for a sequence. */
export class JsonRules {
  constructor(readonly rules: Rules) {}

  get blank(): string {
    return this.rules.shared('blank', blankBody);
  }

  get comma(): string {
    return `"," ${this.blank}`;
  }

  get colon(): string {
    return `":" ${this.blank}`;
  }

  open(bracket: '{' | '['): string {
    return `"${bracket}" ${this.blank}`;
  }

  close(bracket: '}' | ']'): string {
    return `${this.blank} "${bracket}"`;
  }

  /** One character for minLength and maxLength: a surrogate pair is one, and half a pair is none. */
  character(): string {
    return this.#named('character', () => {
      const hex = '[0-9a-fA-F]';
      const plane = `([0-9a-cefA-CEF] ${hex}{3} | [dD] [0-7] ${hex}{2})`;
      const pair = `[dD] [89abAB] ${hex}{2} "\\\\u" [dD] [c-fC-F] ${hex}{2}`;
      return `[^"\\\\\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | "u" (${plane} | ${pair}))`;
    });
  }

  string(): string {
    return this.#named('string', () => `"\\"" ${this.character()}* "\\""`);
  }

  integer(): string {
    return this.#named('integer', () => `"0" | "-"? [1-9] ${digit}{0,15}`);
  }

  /** Enough digits for every double, and a limit for models that loop on digits. */
  number(): string {
    return this.#named('number', () => {
      const upTo299 = `${digit} | [1-9] ${digit} | [12] ${digit}{2}`;
      const positive = `"+"? (${upTo299} | "30" [0-8])`;
      const negative = `"-" (${upTo299} | "3" ([01] ${digit} | "2" [0-4]))`;
      const exponent = `([eE] (${positive} | ${negative}))?`;
      return `"-"? ("0" | [1-9] ${digit}{0,20}) ("." ${digit}{1,24})? ${exponent}`;
    });
  }

  value(): string {
    return this.#named('value', () =>
      [this.object(), this.array(), this.string(), this.number(), booleanBody, nullBody].join(' | '),
    );
  }

  object(): string {
    return this.#named('object', () => {
      const member = this.#named('member', () => `${this.string()} ${this.colon} ${this.value()}`);
      return `${this.open('{')} (${member} (${this.comma} ${member})* ${this.blank} )? "}"`;
    });
  }

  array(): string {
    return this.#named('array', () => {
      const item = this.value();
      return `${this.open('[')} (${item} (${this.comma} ${item})* ${this.blank} )? "]"`;
    });
  }

  /** Exactly this value; objects keep the order of their keys. */
  exactly(value: unknown): string {
    this.rules.spend(valueWork);
    if (typeof value !== 'object' || value === null) return jsonLiteral(value);
    const isList = Array.isArray(value);
    const parts = isList
      ? value.map((item) => this.exactly(item))
      : Object.entries(value).map(([key, item]) => `${jsonLiteral(key)} ${this.colon} ${this.exactly(item)}`);
    if (parts.length === 0) return isList ? '"[" "]"' : '"{" "}"';
    return `${this.open(isList ? '[' : '{')} ${parts.join(` ${this.comma} `)} ${this.close(isList ? ']' : '}')}`;
  }

  #named(name: string, build: () => string): string {
    return this.rules.named(`json:${name}`, name, build);
  }
}
