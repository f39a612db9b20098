import { type Characters, includes } from './characters.ts';
import { PatternError } from './errors.ts';
import { lineEnd, type PatternFlags, type PatternNode, parsePattern, wordCharacters } from './parse.ts';

/** A thread of the search: its next step, and the positions of its groups (-1: not set). */
interface Thread {
  readonly step: number;
  readonly marks: Int32Array;
}

/**
 * Finds the first match of a pattern in streamed text (a Pike VM): all threads run in parallel, so that a character costs at
 * most the size of the pattern. The match is that of JavaScript: leftmost, then preferred.
 */
export class PatternSearch {
  /** In order of preference. */
  #threads: Thread[] = [];
  #match: Int32Array | undefined;
  #before: number | undefined;
  /** Threads that were advanced so far. */
  work = 0;
  /** The round in which each step was last reached: of two threads at one step only the preferred continues. */
  readonly #reached: Int32Array;
  #round = 0;

  /** `before` is the character before the text, if it is a part of a longer one. */
  constructor(
    private readonly program: PatternProgram,
    before?: number,
  ) {
    this.#reached = new Int32Array(program.steps.length);
    this.#before = before;
  }

  /** The next character and its position, in any unit. */
  push(code: number, position: number): void {
    const waiting: Thread[] = [];
    for (const { step, marks } of this.#follow(position, code)) {
      const { steps } = this.program;
      const set = steps[step];
      if (set?.type === 'set' && set.has(code)) waiting.push({ step: set.next, marks });
    }
    this.#threads = waiting;
    this.#before = code;
  }

  /** Whether no match has begun: the search may continue at a later position. */
  get idle(): boolean {
    return this.#threads.length === 0 && this.#match === undefined;
  }

  /** Continues at a later position, after this character. */
  skip(before: number): void {
    this.#before = before;
  }

  /** The positions of the match and of its groups once nothing that follows can change them, or at the end of the text. */
  final(end?: number): Int32Array | undefined {
    if (end !== undefined) this.#follow(end, undefined);
    return end !== undefined || this.#threads.length === 0 ? this.#match : undefined;
  }

  /** Whether there is a match in the text so far, whatever comes next. */
  get matched(): boolean {
    return this.#match !== undefined;
  }

  /** The position of a match in the text so far: of its first non-empty group, or of its start. `position` is the end of the text. */
  found(position: number): number | undefined {
    const before = this.#match;
    this.#follow(position, undefined);
    const match = this.#match;
    this.#match = before;
    if (!match) return undefined;
    for (let slot = 2; slot < match.length; slot += 2) {
      const [start, end] = [match[slot] as number, match[slot + 1] as number];
      if (start >= 0 && end > start) return start;
    }
    return match[0];
  }

  /** Advances all threads to steps that wait for a character. A thread at the end is the match, and later ones are dropped. */
  #follow(position: number, next: number | undefined): readonly Thread[] {
    const { steps, first, slots, multiline } = this.program;
    const ready: Thread[] = [];
    this.#round += 1;
    const stack = [...this.#threads].reverse();
    if (this.#match === undefined) stack.unshift({ step: first, marks: new Int32Array(slots).fill(-1) });
    for (let thread = stack.pop(); thread; thread = stack.pop()) {
      this.work += 1;
      if (this.#reached[thread.step] === this.#round) continue;
      this.#reached[thread.step] = this.#round;
      const step = steps[thread.step];
      switch (step?.type) {
        case 'set':
          ready.push(thread);
          break;
        case 'fork':
          for (const way of step.ways.toReversed()) stack.push({ step: way, marks: thread.marks });
          break;
        case 'mark':
          stack.push({ step: step.next, marks: thread.marks.with(step.slot, position) });
          break;
        case 'start':
          if (this.#before === undefined || (multiline && includes(lineEnd, this.#before)))
            stack.push({ ...thread, step: step.next });
          break;
        case 'end':
          if (next === undefined || (multiline && includes(lineEnd, next))) stack.push({ ...thread, step: step.next });
          break;
        case 'boundary':
          if ((isWord(this.#before) !== isWord(next)) !== step.negated) stack.push({ ...thread, step: step.next });
          break;
        case 'match':
          this.#match = thread.marks;
          return ready;
      }
    }
    return ready;
  }
}

function isWord(code: number | undefined): boolean {
  return code !== undefined && includes(wordCharacters, code);
}

export const programLimits = { groups: 16, steps: 2000 } as const;

/** One step of a program. Earlier ways of a fork are preferred. */
type Step =
  | { readonly type: 'set'; readonly has: (code: number) => boolean; readonly next: number }
  | { readonly type: 'fork'; readonly ways: readonly number[] }
  /** Stores the position: slot 2g for the start of group g, 2g + 1 for its end; group 0 is the whole match. */
  | { readonly type: 'mark'; readonly slot: number; readonly next: number }
  | { readonly type: 'start' | 'end'; readonly next: number }
  | { readonly type: 'boundary'; readonly negated: boolean; readonly next: number }
  | { readonly type: 'match' };

export interface PatternProgram {
  readonly steps: readonly Step[];
  readonly first: number;
  readonly slots: number;
  /** `^` and `$` also match at the ends of lines. */
  readonly multiline: boolean;
  /** Numbers of the groups with a name. */
  readonly names: Readonly<Record<string, number>>;
}

/** Compiles a pattern for `PatternSearch`. Throws a PatternError. */
export function compilePattern(
  source: string,
  { multiline = false, ...flags }: PatternFlags & { readonly multiline?: boolean } = {},
): PatternProgram {
  return { ...new PatternCompiler().whole(parsePattern(source, flags)), multiline };
}

class PatternCompiler {
  readonly #steps: Step[] = [];
  #groups = 0;
  readonly #names: Record<string, number> = {};

  whole(pattern: PatternNode): Omit<PatternProgram, 'multiline'> {
    const match = this.#add({ type: 'match' });
    const end = this.#add({ type: 'mark', slot: 1, next: match });
    const first = this.#add({ type: 'mark', slot: 0, next: this.#compile(pattern, end) });
    return { steps: this.#steps, first, slots: 2 * this.#groups + 2, names: this.#names };
  }

  /** From the end to the beginning, so that every step knows the one that comes after it. */
  #compile(node: PatternNode, next: number): number {
    switch (node.type) {
      case 'set':
        return this.#add({ type: 'set', has: membership(node.set), next });
      case 'sequence':
        return node.items.reduceRight((after, item) => this.#compile(item, after), next);
      case 'choice':
        return this.#add({ type: 'fork', ways: node.options.map((option) => this.#compile(option, next)) });
      case 'repeat':
        return this.#repeat(node, next);
      case 'group':
        return this.#group(node, next);
      case 'boundary':
        return this.#add({ type: 'boundary', negated: node.negated, next });
      default:
        return this.#add({ type: node.type, next });
    }
  }

  #group({ item, number, name }: PatternNode & { type: 'group' }, next: number): number {
    if (name !== undefined) this.#names[name] = number;
    if (number > programLimits.groups) throw new PatternError('groups', { detail: programLimits.groups });
    this.#groups = Math.max(this.#groups, number);
    const end = this.#add({ type: 'mark', slot: 2 * number + 1, next });
    return this.#add({ type: 'mark', slot: 2 * number, next: this.#compile(item, end) });
  }

  #repeat({ item, minimum, maximum, greedy }: PatternNode & { type: 'repeat' }, next: number): number {
    const ways = (body: number) => (greedy ? [body, next] : [next, body]);
    let after = next;
    if (maximum === undefined) {
      const loop: { type: 'fork'; ways: number[] } = { type: 'fork', ways: [] };
      after = this.#add(loop);
      loop.ways.push(...ways(this.#compile(item, after)));
    }
    for (let optional = minimum; optional < (maximum ?? 0); optional += 1) {
      after = this.#add({ type: 'fork', ways: ways(this.#compile(item, after)) });
    }
    for (let needed = 0; needed < minimum; needed += 1) after = this.#compile(item, after);
    return after;
  }

  #add(step: Step): number {
    if (this.#steps.length >= programLimits.steps) {
      throw new PatternError('steps', { detail: programLimits.steps });
    }
    return this.#steps.push(step) - 1;
  }
}

function membership(set: Characters): (code: number) => boolean {
  const low = Uint8Array.from({ length: 128 }, (_, code) => (includes(set, code) ? 1 : 0));
  return (code) => (code < 128 ? low[code] === 1 : includes(set, code));
}
