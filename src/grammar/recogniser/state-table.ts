import { operation, type Program } from './program.ts';
import { type Call, type Place, State } from './state.ts';

/** Larger ones are not looked for: to compare them would take longer than to make them again. */
const comparedPlaces = 128;
/** Beyond this everything is forgotten; what is in use stays with its users. */
const mostEntries = 20_000;

/** Makes calls and states, equal ones only once: a text that comes back to a place finds all that is known about it. */
export class StateTable {
  readonly #calls = new Map<string, Call>();
  readonly #states = new Map<string, State>();
  #lastId = 0;

  constructor(private readonly program: Program) {}

  newId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  call(rule: number, returns: readonly Place[]): Call {
    const make = (): Call => ({ id: this.newId(), rule, returns });
    if (returns.length > comparedPlaces) return make();
    return known(this.#calls, `${rule} ${keyOf(returns)}`, make);
  }

  state(places: readonly Place[], complete: boolean): State {
    const { operations } = this.program;
    const hasTokens = places.some(({ step }) => operations[step] !== operation.set);
    const make = (): State => new State(places, complete, hasTokens);
    if (places.length > comparedPlaces) return make();
    return known(this.#states, `${complete} ${keyOf(places)}`, make);
  }
}

function known<Value>(table: Map<string, Value>, key: string, make: () => Value): Value {
  const found = table.get(key);
  if (found !== undefined) return found;
  if (table.size >= mostEntries) table.clear();
  const made = make();
  table.set(key, made);
  return made;
}

function keyOf(places: readonly Place[]): string {
  return places
    .map(({ step, call }) => `${call.id}:${step}`)
    .sort()
    .join(' ');
}
