import { GrammarLimitError } from './error.ts';
import { limits, togetherLimits } from './limits.ts';

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
