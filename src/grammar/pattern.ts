import { type Characters, complement, single, union } from './characters.ts';
import { limits } from './limits.ts';

/** What a regular expression says, without groups, anchors and spelling. */
export type Pattern =
  | { readonly type: 'set'; readonly set: Characters }
  | { readonly type: 'sequence'; readonly items: readonly Pattern[] }
  | { readonly type: 'choice'; readonly options: readonly Pattern[] }
  | { readonly type: 'repeat'; readonly item: Pattern; readonly minimum: number; readonly maximum: number | undefined };

/** Thrown with the reason; whoever knows the place in the schema adds it. */
export class PatternError extends Error {}

const digit: Characters = [[48, 57]];
const word: Characters = union(digit, [[65, 90]], [[95, 95]], [[97, 122]]);
const space: Characters = union(
  [[9, 13]],
  ...[0x20, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff].map((code): Characters => [[code, code]]),
  [[0x2000, 0x200a]],
);
const lineEnd: Characters = union(single('\n'), single('\r'), [[0x2028, 0x2029]]);
const everything: Characters = complement([]);

const classes: Readonly<Record<string, Characters>> = {
  d: digit,
  D: complement(digit),
  w: word,
  W: complement(word),
  s: space,
  S: complement(space),
};
const controls: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f', v: '\v', '0': '\0' };

const anything: Pattern = { type: 'repeat', item: { type: 'set', set: everything }, minimum: 0, maximum: undefined };

/**
 * Reads a useful part of the regular expressions of JavaScript: literals, classes, groups, choices, quantifiers, the dot
 * and anchors at the ends. Without an anchor anything may stand before or behind, as JSON Schema has it.
 */
export function parsePattern(source: string): Pattern {
  if (source.length > limits.patternLength) {
    throw new PatternError(`the pattern is longer than ${limits.patternLength} characters`);
  }
  const characters = [...source];
  let at = 0;

  const peek = () => characters[at];
  const refuse = (what: string): never => {
    throw new PatternError(`the pattern uses ${what}, which is not supported here`);
  };
  function take(text: string): boolean {
    if (characters.slice(at, at + text.length).join('') !== text) return false;
    at += text.length;
    return true;
  }
  function next(): string {
    const character = characters[at];
    if (character === undefined) throw new PatternError('the pattern ends in the middle of something');
    at += 1;
    return character;
  }

  function choices(depth: number): Pattern {
    if (depth > limits.depth) throw new PatternError(`the pattern is nested deeper than ${limits.depth} groups`);
    const options = [sequence(depth)];
    while (take('|')) options.push(sequence(depth));
    return options.length === 1 ? (options[0] as Pattern) : { type: 'choice', options };
  }

  function sequence(depth: number): Pattern {
    const outermost = depth === 0;
    const items: Pattern[] = [];
    if (outermost && !take('^')) items.push(anything);
    for (;;) {
      const character = peek();
      if (character === undefined || character === '|' || character === ')') break;
      if (outermost && character === '$' && [undefined, '|'].includes(characters[at + 1])) {
        at += 1;
        return { type: 'sequence', items };
      }
      items.push(quantified(depth));
    }
    if (outermost) items.push(anything);
    return { type: 'sequence', items };
  }

  function quantified(depth: number): Pattern {
    const item = atom(depth);
    const counts = quantifier();
    if (!counts) return item;
    // A lazy quantifier finds another match first but describes the same texts.
    take('?');
    if (quantifier()) throw new PatternError('the pattern has two quantifiers in a row');
    return { type: 'repeat', item, ...counts };
  }

  function quantifier(): { minimum: number; maximum: number | undefined } | undefined {
    if (take('*')) return { minimum: 0, maximum: undefined };
    if (take('+')) return { minimum: 1, maximum: undefined };
    if (take('?')) return { minimum: 0, maximum: 1 };
    if (peek() !== '{') return undefined;
    const counts = /^\{(\d{1,9})(,(\d{1,9})?)?\}/.exec(characters.slice(at, at + 24).join(''));
    if (!counts) throw new PatternError('the pattern has a brace that is no quantifier; write \\{ for the character');
    at += counts[0].length;
    const minimum = Number(counts[1]);
    const maximum = counts[2] === undefined ? minimum : counts[3] === undefined ? undefined : Number(counts[3]);
    if (maximum !== undefined && maximum < minimum) throw new PatternError('the pattern has a quantifier out of order');
    return { minimum, maximum };
  }

  function atom(depth: number): Pattern {
    const character = next();
    switch (character) {
      case '(': {
        if (take('?')) {
          if (!take(':')) {
            const name = /^<[A-Za-z_$][\w$]*>/.exec(characters.slice(at, at + 80).join(''));
            if (!name) return refuse('a look-around or a modifier');
            at += name[0].length;
          }
        }
        const inside = choices(depth + 1);
        if (!take(')')) throw new PatternError('the pattern has a group without an end');
        return inside;
      }
      case '[':
        return { type: 'set', set: bracketed() };
      case '.':
        return { type: 'set', set: complement(lineEnd) };
      case '\\':
        return { type: 'set', set: escaped(false) };
      case '^':
      case '$':
        return refuse('an anchor in the middle');
      case '*':
      case '+':
      case '?':
        throw new PatternError('the pattern has a quantifier with nothing before it');
      default:
        return { type: 'set', set: single(character) };
    }
  }

  function bracketed(): Characters {
    const negated = take('^');
    let set: Characters = [];
    while (!take(']')) {
      const from = member();
      const isRange = peek() === '-' && characters[at + 1] !== ']';
      if (!isRange) {
        set = union(set, from);
        continue;
      }
      at += 1;
      const to = member();
      const [low, high] = [from[0]?.[0] as number, to[0]?.[0] as number];
      if (from.length !== 1 || to.length !== 1 || from[0]?.[1] !== low || to[0]?.[1] !== high || low > high) {
        throw new PatternError('the pattern has a range of characters that is out of order');
      }
      set = union(set, [[low, high]]);
    }
    return negated ? complement(set) : set;
  }

  function member(): Characters {
    const character = next();
    return character === '\\' ? escaped(true) : single(character);
  }

  function escaped(inClass: boolean): Characters {
    const character = next();
    const named = classes[character];
    if (named) return named;
    if (character === '0' && /\d/.test(peek() ?? '')) return refuse('an octal escape');
    const control = inClass && character === 'b' ? '\b' : controls[character];
    if (control !== undefined) return single(control);
    if (character === 'x') return hexadecimal(2);
    if (character === 'u') return take('{') ? hexadecimalUntilBrace() : hexadecimal(4);
    if (character === 'b' || character === 'B') return refuse('a word boundary');
    if (/[1-9k]/.test(character)) return refuse('a back-reference');
    if (/[a-zA-Z]/.test(character)) return refuse(`\\${character}`);
    return single(character);
  }

  function hexadecimal(length: number): Characters {
    const text = characters.slice(at, at + length).join('');
    if (text.length !== length || !/^[0-9a-fA-F]+$/.test(text))
      throw new PatternError('the pattern has a broken escape');
    at += length;
    const code = Number.parseInt(text, 16);
    if (code >= 0xd800 && code < 0xe000) return refuse('half of a surrogate pair');
    return [[code, code]];
  }

  function hexadecimalUntilBrace(): Characters {
    const written = /^([0-9a-fA-F]{1,6})\}/.exec(characters.slice(at, at + 8).join(''));
    const code = Number.parseInt(written?.[1] ?? '', 16);
    if (!written || code > 0x10ffff) throw new PatternError('the pattern has a broken escape');
    at += written[0].length;
    return [[code, code]];
  }

  const pattern = choices(0);
  if (at < characters.length) throw new PatternError('the pattern closes a group that it did not open');
  return pattern;
}
