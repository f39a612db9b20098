import { includes } from '../../patterns/characters.ts';
import { Closure } from './closure.ts';
import { tooAmbiguous } from './error.ts';
import { grammarLimits } from './limits.ts';
import { operation, type Program } from './program.ts';
import type { Place, State } from './state.ts';
import { StateTable } from './state-table.ts';

/** From so many places on, an index is sooner made than all of them looked at for every class. */
const indexedPlaces = 32;
/** A set of more classes than this is looked at for every class rather than listed under each. */
const listedClasses = 16;

/**
 * Follows texts through a grammar. Everything that can be read at once is followed side by side, with what is common to
 * several readings shared, so that the time for a text stays polynomial whatever the grammar; and the work for each token
 * has a limit. States never change and are made once, so they may be kept, compared and gone back to.
 */
export class GrammarMachine {
  readonly start: State;
  readonly #table: StateTable;
  #work = 0;

  constructor(
    private readonly program: Program,
    private readonly mostWork: number = grammarLimits.work,
  ) {
    this.#table = new StateTable(program);
    const root = { id: 0, rule: program.root, returns: [] };
    this.start = this.#close([{ step: program.starts[program.root] as number, call: root }]) as State;
  }

  /** To be called before the next token is looked at. */
  renewBudget(): void {
    this.#work = 0;
  }

  /** The state after one more character; undefined where it may not follow. */
  next(state: State, code: number): State | undefined {
    // No model writes NUL as text.
    if (code === 0) return undefined;
    const kind = this.program.characters.classOf(code);
    const known = state.after[kind];
    if (known !== undefined) return known ?? undefined;
    const made = this.#close(this.#moved(state, kind));
    state.after[kind] = made ?? null;
    return made;
  }

  /** The state after a token that the grammar names, whatever its text. */
  nextToken(state: State, token: number): State | undefined {
    if (!state.hasTokens) return undefined;
    const { operations, operands, nexts } = this.program;
    this.#spend(state.places.length);
    const moved = state.places.filter(({ step }) => {
      const named = operands[step] === token;
      return operations[step] === operation.token ? named : operations[step] === operation.otherToken && !named;
    });
    return this.#close(moved.map(({ step, call }) => ({ step: nexts[step] as number, call })));
  }

  /** What may come after either of the two. */
  joined(one: State | undefined, other: State | undefined): State | undefined {
    if (!one || !other) return one ?? other;
    return this.#table.state([...one.places, ...other.places], one.complete || other.complete);
  }

  /** Whether any character between the two, both included, may follow. */
  allowsAny(state: State, lowest: number, highest: number): boolean {
    const { operations, operands, characters } = this.program;
    this.#spend(state.places.length);
    return state.places.some(
      ({ step }) => operations[step] === operation.set && characters.overlap(operands[step] as number, lowest, highest),
    );
  }

  #moved(state: State, kind: number): readonly Place[] {
    const { nexts } = this.program;
    const moved: Place[] = [];
    const look = (places: readonly Place[]) => {
      this.#spend(places.length);
      for (const { step, call } of places) {
        if (this.#reads(step, kind)) moved.push({ step: nexts[step] as number, call });
      }
    };
    if (state.places.length < indexedPlaces) {
      look(state.places);
      return moved;
    }
    state.index ??= this.#indexed(state.places);
    look(state.index.narrow.get(kind) ?? []);
    look(state.index.wide);
    return moved;
  }

  #reads(step: number, kind: number): boolean {
    const { operations, operands, characters } = this.program;
    const set = operations[step] === operation.set ? characters.sets[operands[step] as number] : undefined;
    return set !== undefined && includes(set, kind);
  }

  #indexed(places: readonly Place[]): NonNullable<State['index']> {
    const { operations, operands, characters } = this.program;
    const narrow = new Map<number, Place[]>();
    const wide: Place[] = [];
    this.#spend(places.length);
    for (const place of places) {
      if (operations[place.step] !== operation.set) continue;
      const ranges = characters.sets[operands[place.step] as number] ?? [];
      const kinds = ranges.reduce((count, [from, to]) => count + to - from + 1, 0);
      if (kinds > listedClasses) {
        wide.push(place);
        continue;
      }
      for (const [from, to] of ranges) {
        for (let kind = from; kind <= to; kind += 1) {
          const listed = narrow.get(kind);
          if (listed) listed.push(place);
          else narrow.set(kind, [place]);
        }
      }
    }
    return { narrow, wide };
  }

  #close(kernel: readonly Place[]): State | undefined {
    if (kernel.length === 0) return undefined;
    const closure = new Closure(this.program, this.#table, () => this.#spend(1));
    return closure.of(kernel);
  }

  #spend(work: number): void {
    this.#work += work;
    if (this.#work > this.mostWork) throw tooAmbiguous();
  }
}
