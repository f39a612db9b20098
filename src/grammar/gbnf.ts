import { GrammarLimitError, limits, togetherLimits } from './limits.ts';

/** The rules of one grammar while it is being made. Bodies are GBNF text; equal bodies share a rule. */
export interface Rules {
  /** The rule for `key`, built at the first request; inside `build` the name is already known, so rules may recur. */
  named(key: string, hint: string, build: () => string): string;
  /** A rule for this body, for parts that would otherwise be written several times. */
  shared(hint: string, body: string): string;
  /** `item` from `minimum` to `maximum` times; without a maximum as often as one likes. */
  repeat(item: string, minimum: number, maximum: number | undefined): string;
  /** Throws where a body would make the grammar too long. */
  check(body: string): void;
  /** Another schema begins, which has the limits of one for itself, as far as those of all together allow. */
  grant(): void;
  /** The whole grammar. `root` is the body of the root rule. */
  text(root: string): string;
}

/** Counts up to this are left to the engine as they are. It takes counts beyond 2,000 for "without end". */
const writtenOut = 256;

export function createRules(reserved: readonly string[] = []): Rules {
  const bodies = new Map<string, string>();
  const byKey = new Map<string, string>();
  const byBody = new Map<string, string>();
  const taken = new Set(['root', ...reserved]);
  /** The first number that is free behind a name. */
  const suffixes = new Map<string, number>();
  let repeated = 0;
  let length = 0;
  let steps = 0;
  let most = grown({ rules: 0, repeated: 0, length: 0 });

  function reserve(hint: string): string {
    if (taken.size >= most.rules) throw new GrammarLimitError(`it needs more than ${limits.rules} rules`);
    const stem = ruleName(hint);
    let name = stem;
    let suffix = suffixes.get(stem) ?? 2;
    for (; taken.has(name); suffix += 1) name = `${stem}-${suffix}`;
    suffixes.set(stem, suffix);
    taken.add(name);
    return name;
  }

  function write(name: string, body: string): void {
    length += name.length + body.length + separators;
    steps += stepsOf(body);
    bodies.set(name, body);
  }

  function check(body: string): void {
    const tooLong = length + body.length > most.length || steps + stepsOf(body) > togetherLimits.steps;
    if (tooLong) throw new GrammarLimitError('it makes a grammar that is too long');
  }

  function counted(item: string, minimum: number, maximum: number | undefined): string {
    const sum = repeated + (maximum ?? minimum);
    if (sum > most.repeated) throw new GrammarLimitError('it counts too far in too many places');
    repeated = sum;
    // The engine multiplies a count with the size of a group that it repeats, and gives up early; a name has size one.
    return quantified(item.startsWith('(') ? shared('item', item) : item, minimum, maximum);
  }

  // High counts are made of blocks, which costs the engine about the square root of writing every repetition out.

  function exactly(item: string, times: number): string {
    if (times <= writtenOut) return counted(item, times, times);
    const size = Math.ceil(Math.sqrt(times));
    const rest = times % size;
    const blocks = counted(
      shared('block', counted(item, size, size)),
      Math.floor(times / size),
      Math.floor(times / size),
    );
    return rest === 0 ? blocks : `${blocks} ${counted(item, rest, rest)}`;
  }

  function upTo(item: string, times: number): string {
    if (times <= writtenOut) return counted(item, 0, times);
    const size = Math.ceil(Math.sqrt(times));
    const whole = Math.floor(times / size);
    const block = shared('block', counted(item, size, size));
    const shorter = `${counted(block, 0, whole - 1)} ${counted(item, 0, size - 1)}`;
    return `(${shorter} | ${counted(block, whole, whole)} ${counted(item, 0, times % size)})`;
  }

  function shared(hint: string, body: string): string {
    const known = byBody.get(body);
    if (known !== undefined) return known;
    check(body);
    const name = reserve(hint);
    byBody.set(body, name);
    write(name, body);
    return name;
  }

  return {
    named(key, hint, build) {
      const known = byKey.get(key);
      if (known !== undefined) return known;
      const name = reserve(hint);
      byKey.set(key, name);
      write(name, build());
      return name;
    },
    shared,
    check,
    grant() {
      most = grown({ rules: taken.size, repeated, length });
    },
    repeat(item, minimum, maximum) {
      if (maximum === undefined)
        return minimum < 2 ? counted(item, minimum, undefined) : `${exactly(item, minimum)} ${item}*`;
      if (maximum <= writtenOut) return counted(item, minimum, maximum);
      const parts = [exactly(item, minimum), upTo(item, maximum - minimum)];
      return `(${parts.filter((part) => part !== '""').join(' ') || '""'})`;
    },
    text(root) {
      return [`root ::= ${root}`, ...[...bodies].map(([name, body]) => `${name} ::= ${body}`), ''].join('\n');
    },
  };
}

/** Between the name of a rule and its body, and behind it. */
const separators = ' ::= \n'.length;

const nameCharacters = new Set('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-');

/** About how many steps the engine makes of a body, but for counts, which it writes out. */
export function stepsOf(body: string): number {
  let steps = 0;
  let within: 'text' | 'class' | 'name' | undefined;
  for (let index = 0; index < body.length; index += 1) {
    const character = body.charAt(index);
    if (within === 'text' || within === 'class') {
      const ends = character === (within === 'text' ? '"' : ']');
      if (character === '\\') index += 1;
      if (ends) within = undefined;
      else if (within === 'text') steps += 1;
    } else if (nameCharacters.has(character)) {
      if (within === undefined) steps += 1;
      within = 'name';
    } else {
      within = character === '"' ? 'text' : character === '[' ? 'class' : undefined;
      if ('[|*+?{'.includes(character)) steps += 1;
    }
  }
  return steps;
}

interface Size {
  readonly rules: number;
  readonly repeated: number;
  readonly length: number;
}

/** How large a grammar of this size may become with one schema more. */
function grown({ rules, repeated, length }: Size): Size {
  return {
    rules: Math.min(rules + limits.rules, togetherLimits.rules),
    repeated: Math.min(repeated + limits.totalRepetition, togetherLimits.totalRepetition),
    length: Math.min(length + limits.grammarLength, togetherLimits.grammarLength),
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

/** One of several bodies; in brackets as soon as there is a choice, so that it can stand in a sequence. */
export function choice(options: readonly string[]): string {
  const distinct = [...new Set(options)];
  return distinct.length === 1 ? (distinct[0] as string) : `(${distinct.join(' | ')})`;
}

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** Text that has to stand there as it is. */
export function literal(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that must not stand in a grammar
  const escaped = text.replace(/["\\\u0000-\u001f\u007f]/g, (character) => {
    return shortEscapes[character] ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`;
  });
  return `"${escaped}"`;
}

/** The literal for a JSON value on one line, as `JSON.stringify` writes it. */
export function jsonLiteral(value: unknown): string {
  return literal(JSON.stringify(value));
}

/**
 * `flexible`: one space, or one line break with its indentation, wherever a printer puts blanks; never more, since small
 * models otherwise write blanks until the end of their budget. `none`: no blanks at all.
 */
export type Whitespace = 'flexible' | 'none';

/** The parts of JSON that do not depend on a schema, as names or bodies ready to stand in a sequence. */
export interface JsonRules {
  readonly rules: Rules;
  /** Ends with a space when it is not empty, so that it can be put before anything. */
  blank(): string;
  character(): string;
  string(): string;
  integer(): string;
  number(): string;
  value(): string;
  object(): string;
  array(): string;
  /** `{`, `[`, `,` and so on with the blanks that may follow or precede. */
  open(bracket: '{' | '['): string;
  close(bracket: '}' | ']'): string;
  comma(): string;
  colon(): string;
  /** Exactly this value; objects keep the order of their keys. */
  exactly(value: unknown): string;
}

/** As much white space as may stand in one place. */
export const blankBody = '(" " | "\\n" [ \\t]{0,20})?';
export const booleanBody = '("true" | "false")';
export const nullBody = '"null"';
const digit = '[0-9]';

export function jsonRules(rules: Rules, whitespace: Whitespace): JsonRules {
  const blank = () => (whitespace === 'none' ? '' : `${rules.shared('blank', blankBody)} `);
  const json: JsonRules = {
    rules,
    blank,
    // Counts as one character for minLength and maxLength, so a pair of surrogates is one, and half a pair is none.
    character: () =>
      rules.named('json:character', 'character', () => {
        const hex = '[0-9a-fA-F]';
        const plane = `([0-9a-cefA-CEF] ${hex}{3} | [dD] [0-7] ${hex}{2})`;
        const pair = `[dD] [89abAB] ${hex}{2} "\\\\u" [dD] [c-fC-F] ${hex}{2}`;
        return `[^"\\\\\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | "u" (${plane} | ${pair}))`;
      }),
    string: () => rules.named('json:string', 'string', () => `"\\"" ${json.character()}* "\\""`),
    integer: () => rules.named('json:integer', 'integer', () => `"0" | "-"? [1-9] ${digit}{0,15}`),
    number: () =>
      rules.named('json:number', 'number', () => {
        // Enough for every number a printer of doubles writes, and an end for models that loop on digits.
        const upTo299 = `${digit} | [1-9] ${digit} | [12] ${digit}{2}`;
        const positive = `"+"? (${upTo299} | "30" [0-8])`;
        const negative = `"-" (${upTo299} | "3" ([01] ${digit} | "2" [0-4]))`;
        const exponent = `([eE] (${positive} | ${negative}))?`;
        return `"-"? ("0" | [1-9] ${digit}{0,20}) ("." ${digit}{1,24})? ${exponent}`;
      }),
    value: () =>
      rules.named('json:value', 'value', () =>
        [json.object(), json.array(), json.string(), json.number(), booleanBody, nullBody].join(' | '),
      ),
    object: () =>
      rules.named('json:object', 'object', () => {
        const member = rules.named('json:member', 'member', () => `${json.string()} ${json.colon()} ${json.value()}`);
        return `${json.open('{')} (${member} (${json.comma()} ${member})* ${blank()})? "}"`;
      }),
    array: () =>
      rules.named('json:array', 'array', () => {
        const item = json.value();
        return `${json.open('[')} (${item} (${json.comma()} ${item})* ${blank()})? "]"`;
      }),
    open: (bracket) => `"${bracket}" ${blank()}`.trimEnd(),
    close: (bracket) => `${blank()}"${bracket}"`,
    comma: () => `"," ${blank()}`.trimEnd(),
    colon: () => `":" ${blank()}`.trimEnd(),
    exactly: (value) => {
      if (typeof value !== 'object' || value === null) return jsonLiteral(value);
      if (Array.isArray(value)) {
        const items = value.map(json.exactly).join(` ${json.comma()} `);
        return items === '' ? '"[" "]"' : `${json.open('[')} ${items} ${json.close(']')}`;
      }
      const members = Object.entries(value)
        .map(([key, member]) => `${jsonLiteral(key)} ${json.colon()} ${json.exactly(member)}`)
        .join(` ${json.comma()} `);
      return members === '' ? '"{" "}"' : `${json.open('{')} ${members} ${json.close('}')}`;
    },
  };
  return json;
}
