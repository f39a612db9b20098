import { includes } from './characters.ts';
import { wordCharacters } from './parse.ts';
import type { PatternProgram } from './program.ts';

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
