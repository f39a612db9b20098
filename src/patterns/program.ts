import { type Characters, includes } from './characters.ts';
import { PatternError, type PatternNode, parsePattern } from './parse.ts';

export const programLimits = { groups: 16, steps: 2000 } as const;

/** One step of a search: what must be so here, and where to go on. Earlier ways of a fork are the ones to prefer. */
export type Step =
  | { readonly type: 'set'; readonly has: (code: number) => boolean; readonly next: number }
  | { readonly type: 'fork'; readonly ways: readonly number[] }
  /** Remembers the place: number 2g for the beginning of group g, and 2g + 1 for its end; group 0 is the whole match. */
  | { readonly type: 'mark'; readonly slot: number; readonly next: number }
  | { readonly type: 'start' | 'end'; readonly next: number }
  | { readonly type: 'boundary'; readonly negated: boolean; readonly next: number }
  | { readonly type: 'match' };

export interface PatternProgram {
  readonly steps: readonly Step[];
  readonly first: number;
  /** Places to remember. */
  readonly slots: number;
}

/** A pattern as steps for `PatternSearch`. Throws a PatternError for one that it cannot follow, or that is too large. */
export function compilePattern(source: string): PatternProgram {
  return new Compiler().whole(parsePattern(source));
}

class Compiler {
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
