import { operation, type Program } from './program.ts';
import type { Call, Place, State } from './state.ts';
import type { StateTable } from './state-table.ts';

/** A call that began at this very place in the text, to which callers may still be added. */
interface OpenCall extends Call {
  readonly returns: Place[];
  /** Its returns, to have each only once. */
  readonly known: Set<number>;
  /** It has come to its end without reading anything: whoever calls it may go on at once. */
  empty: boolean;
}

/**
 * Everything that can be reached without reading: into rules, out of them, through choices. Calls of one rule at one
 * place in the text are one call with several callers, whoever they are.
 */
export class Closure {
  readonly #open = new Map<number, OpenCall>();
  readonly #ids = new Map<number, OpenCall>();
  readonly #waiting: Place[] = [];
  readonly #seen = new Set<number>();
  readonly #ready: Place[] = [];
  #complete = false;

  constructor(
    private readonly program: Program,
    private readonly table: StateTable,
    /** Told of each place that is looked at; throws when it has been enough. */
    private readonly spend: () => void,
  ) {}

  of(kernel: readonly Place[]): State {
    for (const place of kernel) this.#reach(place.step, place.call);
    for (let place = this.#waiting.pop(); place; place = this.#waiting.pop()) this.#look(place);
    const settled = this.#settled();
    const places = this.#ready.map(({ step, call }) => ({ step, call: settled.get(call.id) ?? call }));
    return this.table.state(places, this.#complete);
  }

  #look({ step, call }: Place): void {
    const { operations, operands, nexts, forks } = this.program;
    const operand = operands[step] as number;
    switch (operations[step]) {
      case operation.fork:
        for (const way of forks[operand] as readonly number[]) this.#reach(way, call);
        break;
      case operation.call:
        this.#call(operand, nexts[step] as number, call);
        break;
      case operation.end:
        this.#end(call);
        break;
      default:
        this.#ready.push({ step, call });
    }
  }

  #call(rule: number, next: number, caller: Call): void {
    let call = this.#open.get(rule);
    if (!call) {
      call = { id: this.table.newId(), rule, returns: [], known: new Set(), empty: false };
      this.#open.set(rule, call);
      this.#ids.set(call.id, call);
      this.#reach(this.program.starts[rule] as number, call);
    }
    // At the end of a rule its callers can be returned to directly; so lists that are written as recursion stay flat.
    const isLast = this.program.operations[next] === operation.end;
    const forwarded = isLast && !isRoot(caller) && !this.#ids.has(caller.id);
    for (const place of forwarded ? caller.returns : [{ step: next, call: caller }]) this.#return(call, place);
  }

  #return(call: OpenCall, place: Place): void {
    this.spend();
    const key = this.#key(place.step, place.call);
    if (call.known.has(key)) return;
    call.known.add(key);
    call.returns.push(place);
    if (call.empty) this.#reach(place.step, place.call);
  }

  #end(call: Call): void {
    if (isRoot(call)) this.#complete = true;
    const open = this.#ids.get(call.id);
    if (open) open.empty = true;
    for (const { step, call: caller } of call.returns) this.#reach(step, caller);
  }

  #reach(step: number, call: Call): void {
    this.spend();
    const key = this.#key(step, call);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.#waiting.push({ step, call });
  }

  #key(step: number, call: Call): number {
    return call.id * this.program.operations.length + step;
  }

  /**
   * The open calls as calls that may be kept, callers first. No rule begins with itself, so that no call waits for itself;
   * there is no recursion here because chains of calls may be long.
   */
  #settled(): ReadonlyMap<number, Call> {
    const settled = new Map<number, Call>();
    const openOf = ({ call }: Place) => (settled.has(call.id) ? undefined : this.#ids.get(call.id));
    for (const place of this.#ready) {
      const first = openOf(place);
      const waiting = first ? [{ call: first, looked: 0 }] : [];
      for (let one = waiting.at(-1); one; one = waiting.at(-1)) {
        const next = one.call.returns[one.looked];
        one.looked += 1;
        const caller = next && openOf(next);
        if (caller) waiting.push({ call: caller, looked: 0 });
        if (next) continue;
        settled.set(one.call.id, this.#settle(one.call, settled));
        waiting.pop();
      }
    }
    return settled;
  }

  #settle({ rule, returns }: OpenCall, settled: ReadonlyMap<number, Call>): Call {
    const { operations } = this.program;
    const flat = new Map<number, Place>();
    for (const { step, call } of returns) {
      const caller = settled.get(call.id) ?? call;
      const isLast = operations[step] === operation.end && !isRoot(caller);
      for (const place of isLast ? caller.returns : [{ step, call: caller }]) {
        this.spend();
        flat.set(this.#key(place.step, place.call), place);
      }
    }
    return this.table.call(rule, [...flat.values()]);
  }
}

/** The call that nobody made. */
function isRoot(call: Call): boolean {
  return call.id === 0;
}
