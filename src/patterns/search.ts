import { type Characters, includes } from './characters.ts';
import { PatternError, type PatternNode, parsePattern, wordCharacters } from './parse.ts';

/** A way through the pattern: the step that comes next, and the places that it remembers (-1 for none yet). */
interface Thread {
  readonly step: number;
  readonly marks: Int32Array;
}

/**
 * Looks for the first match of a pattern in a text that arrives character by character. All ways through the pattern are
 * followed side by side, so each character costs at most the size of the pattern, whatever came before it. The match is
 * the one that JavaScript would find: the leftmost, and of these the preferred one.
 */
export class PatternSearch {
  /** In the order of preference; each waits for what comes next in the text. */
  #threads: Thread[] = [];
  #match: Int32Array | undefined;
  #before: number | undefined;
  /** For each step, the round in which it was last reached: of two ways to the same step only the preferred goes on. */
  readonly #reached: Int32Array;
  #round = 0;

  constructor(private readonly program: PatternProgram) {
    this.#reached = new Int32Array(program.steps.length);
  }

  /** The next character and its place in the text, in whatever unit the caller counts. */
  push(code: number, place: number): void {
    const waiting: Thread[] = [];
    for (const { step, marks } of this.#follow(place, code)) {
      const { steps } = this.program;
      const set = steps[step];
      if (set?.type === 'set' && set.has(code)) waiting.push({ step: set.next, marks });
    }
    this.#threads = waiting;
    this.#before = code;
  }

  /**
   * Whether the text up to here holds a match, and where it matters: at its first group that is not empty, or at its own
   * beginning. `place` is the end of the text.
   */
  found(place: number): number | undefined {
    const before = this.#match;
    this.#follow(place, undefined);
    const match = this.#match;
    this.#match = before;
    if (!match) return undefined;
    for (let slot = 2; slot < match.length; slot += 2) {
      const [start, end] = [match[slot] as number, match[slot + 1] as number];
      if (start >= 0 && end > start) return start;
    }
    return match[0];
  }

  /** Goes on to all steps that wait for a character. A way that gets to the end is the match, and those after it are out. */
  #follow(place: number, next: number | undefined): readonly Thread[] {
    const { steps, first, slots } = this.program;
    const ready: Thread[] = [];
    this.#round += 1;
    const stack = [...this.#threads].reverse();
    if (this.#match === undefined) stack.unshift({ step: first, marks: new Int32Array(slots).fill(-1) });
    for (let thread = stack.pop(); thread; thread = stack.pop()) {
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
          stack.push({ step: step.next, marks: thread.marks.with(step.slot, place) });
          break;
        case 'start':
          if (this.#before === undefined) stack.push({ ...thread, step: step.next });
          break;
        case 'end':
          if (next === undefined) stack.push({ ...thread, step: step.next });
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

/** One step of a search: what must be so here, and where to go on. Earlier ways of a fork are the ones to prefer. */
type Step =
  | { readonly type: 'set'; readonly has: (code: number) => boolean; readonly next: number }
  | { readonly type: 'fork'; readonly ways: readonly number[] }
  /** Remembers the place: number 2g for the beginning of group g, and 2g + 1 for its end; group 0 is the whole match. */
  | { readonly type: 'mark'; readonly slot: number; readonly next: number }
  | { readonly type: 'start' | 'end'; readonly next: number }
  | { readonly type: 'boundary'; readonly negated: boolean; readonly next: number }
  | { readonly type: 'match' };

interface PatternProgram {
  readonly steps: readonly Step[];
  readonly first: number;
  /** Places to remember. */
  readonly slots: number;
}

/** A pattern as steps for `PatternSearch`. Throws a PatternError for one that it cannot follow, or that is too large. */
export function compilePattern(source: string): PatternProgram {
  return new PatternCompiler().whole(parsePattern(source));
}

class PatternCompiler {
  readonly #steps: Step[] = [];
  #groups = 0;

  whole(pattern: PatternNode): PatternProgram {
    const match = this.#add({ type: 'match' });
    const end = this.#add({ type: 'mark', slot: 1, next: match });
    const first = this.#add({ type: 'mark', slot: 0, next: this.#compile(pattern, end) });
    return { steps: this.#steps, first, slots: 2 * this.#groups + 2 };
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

  #group({ item, number }: PatternNode & { type: 'group' }, next: number): number {
    if (number > programLimits.groups)
      throw new PatternError(`the pattern has more than ${programLimits.groups} groups`);
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
      throw new PatternError(
        `the pattern needs more than ${programLimits.steps} steps; counts like {1,500} are written out`,
      );
    }
    return this.#steps.push(step) - 1;
  }
}

function membership(set: Characters): (code: number) => boolean {
  const low = Uint8Array.from({ length: 128 }, (_, code) => (includes(set, code) ? 1 : 0));
  return (code) => (code < 128 ? low[code] === 1 : includes(set, code));
}
