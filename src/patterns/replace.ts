import { PatternError } from './errors.ts';
import { type PatternProgram, PatternSearch } from './search.ts';

/** A match in a text, as `String.replace` of JavaScript gives it to a function. */
interface PatternMatch {
  readonly start: number;
  readonly end: number;
  /** The whole match, then its groups; undefined for those that took no part. */
  readonly groups: readonly (string | undefined)[];
  /** The same by name. */
  readonly named: Readonly<Record<string, string | undefined>>;
}

interface ReplaceOptions {
  /** All matches, not the first alone. */
  readonly global?: boolean;
  /** Threads of the search that may be advanced: a search reads a text once, but one for each match may read it again. */
  readonly maxWork?: number;
}

const defaultMaxWork = 3_000_000;
/** Of a result that is longer than the text. */
export const maxResultLength = 1_000_000;

/** Replaces matches as `String.replace` of JavaScript does, in bounded time and memory. Throws a PatternError if that is too much. */
export function replaceMatches(
  program: PatternProgram,
  text: string,
  replacement: (match: PatternMatch) => string,
  { global = false, maxWork = defaultMaxWork }: ReplaceOptions = {},
): string {
  const begins = startsOf(program);
  const pieces: string[] = [];
  let work = 0;
  let copied = 0;
  let left = Math.max(text.length, maxResultLength) - text.length;
  for (let from = 0; from <= text.length; ) {
    const search = new PatternSearch(program, codeBefore(text, from));
    const marks = matchFrom(search, text, from, begins, maxWork - work);
    work += search.work;
    if (!marks) break;
    const [start, end] = [marks[0] as number, marks[1] as number];
    const replaced = replacement(matchOf(program, text, marks));
    left -= replaced.length - (end - start);
    if (left < 0) throw new PatternError('result');
    pieces.push(text.slice(copied, start), replaced);
    copied = end;
    if (!global) break;
    from = end > start ? end : end + 1;
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(copied);
}

type Begins = ((code: number) => boolean) | undefined;

function matchFrom(
  search: PatternSearch,
  text: string,
  from: number,
  begins: Begins,
  maxWork: number,
): Int32Array | undefined {
  for (let at = from; at < text.length; ) {
    if (begins && search.idle && !begins(text.codePointAt(at) as number)) {
      do at += sizeAt(text, at);
      while (at < text.length && !begins(text.codePointAt(at) as number));
      search.skip(codeBefore(text, at) as number);
      continue;
    }
    search.push(text.codePointAt(at) as number, at);
    const match = search.final();
    if (match) return match;
    if (search.work > maxWork) throw new PatternError('time');
    at += sizeAt(text, at);
  }
  return search.final(text.length);
}

function sizeAt(text: string, at: number): number {
  return (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
}

function codeBefore(text: string, at: number): number | undefined {
  if (at === 0) return undefined;
  const pair = at > 1 ? (text.codePointAt(at - 2) as number) : 0;
  return pair > 0xffff ? pair : text.charCodeAt(at - 1);
}

function matchOf({ names }: PatternProgram, text: string, marks: Int32Array): PatternMatch {
  const groups = Array.from({ length: marks.length / 2 }, (_, group) => {
    const [start, end] = [marks[2 * group] as number, marks[2 * group + 1] as number];
    return start < 0 || end < start ? undefined : text.slice(start, end);
  });
  const named = Object.fromEntries(Object.entries(names).map(([name, number]) => [name, groups[number]]));
  return { start: marks[0] as number, end: marks[1] as number, groups, named };
}

/** Whether a match can begin with a character; undefined if it may be empty. */
function startsOf({ steps, first }: PatternProgram): Begins {
  const sets: ((code: number) => boolean)[] = [];
  const seen = new Set<number>();
  const open = [first];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const step = steps[at];
    if (step?.type === 'match') return undefined;
    if (step?.type === 'set') sets.push(step.has);
    else if (step?.type === 'fork') open.push(...step.ways);
    else if (step) open.push(step.next);
  }
  const ascii = Uint8Array.from({ length: 128 }, (_, code) => (sets.some((has) => has(code)) ? 1 : 0));
  return (code) => (code < 128 ? ascii[code] === 1 : sets.some((has) => has(code)));
}
