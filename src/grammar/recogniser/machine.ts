import { includes } from '../../patterns/characters.ts';
import { operation, type Program } from './compile.ts';
import { grammarLimits, tooAmbiguous } from './parse.ts';

/** From this number of items on, an index is faster than a scan for every class. */
const minIndexedItems = 32;
/** Sets of more classes are not listed in the index. */
const maxListedClasses = 16;

/**
 * Recognises texts of a grammar. All readings are followed in parallel and share their stacks, so that the time is polynomial
 * for any grammar; the work per token is limited. States are immutable and unique, so that they can be compared and reused.
 */
export class GrammarMachine {
  readonly start: State;
  readonly #table: StateTable;
  #work = 0;

  constructor(
    private readonly program: Program,
    private readonly maxWork: number = grammarLimits.work,
  ) {
    this.#table = new StateTable(program);
    const root = { id: 0, rule: program.root, returns: [] };
    this.start = this.#close([{ step: program.starts[program.root] as number, call: root }]) as State;
  }

  /** To be called before each token. */
  renewBudget(): void {
    this.#work = 0;
  }

  /** The state after one more character; undefined if it is not allowed. */
  next(state: State, code: number): State | undefined {
    // NUL is never allowed.
    if (code === 0) return undefined;
    const kind = this.program.characters.classOf(code);
    const known = state.after[kind];
    if (known !== undefined) return known ?? undefined;
    const made = this.#close(this.#moved(state, kind));
    state.after[kind] = made ?? null;
    return made;
  }

  /** The state after a token that the grammar names. */
  nextToken(state: State, token: number): State | undefined {
    if (!state.hasTokens) return undefined;
    const { operations, operands, nexts } = this.program;
    this.#spend(state.items.length);
    const moved = state.items.filter(({ step }) => {
      const named = operands[step] === token;
      return operations[step] === operation.token ? named : operations[step] === operation.otherToken && !named;
    });
    return this.#close(moved.map(({ step, call }) => ({ step: nexts[step] as number, call })));
  }

  /** The union of two states. */
  joined(one: State | undefined, other: State | undefined): State | undefined {
    if (!one || !other) return one ?? other;
    return this.#table.state([...one.items, ...other.items], one.complete || other.complete);
  }

  /** Whether any character between the two, both included, may follow. */
  allowsAny(state: State, lowest: number, highest: number): boolean {
    const { operations, operands, characters } = this.program;
    this.#spend(state.items.length);
    return state.items.some(
      ({ step }) => operations[step] === operation.set && characters.overlap(operands[step] as number, lowest, highest),
    );
  }

  #moved(state: State, kind: number): readonly Item[] {
    const { nexts } = this.program;
    const moved: Item[] = [];
    const look = (items: readonly Item[]) => {
      this.#spend(items.length);
      for (const { step, call } of items) {
        if (this.#reads(step, kind)) moved.push({ step: nexts[step] as number, call });
      }
    };
    if (state.items.length < minIndexedItems) {
      look(state.items);
      return moved;
    }
    state.index ??= this.#indexed(state.items);
    look(state.index.narrow.get(kind) ?? []);
    look(state.index.wide);
    return moved;
  }

  #reads(step: number, kind: number): boolean {
    const { operations, operands, characters } = this.program;
    const set = operations[step] === operation.set ? characters.sets[operands[step] as number] : undefined;
    return set !== undefined && includes(set, kind);
  }

  #indexed(items: readonly Item[]): NonNullable<State['index']> {
    const { operations, operands, characters } = this.program;
    const narrow = new Map<number, Item[]>();
    const wide: Item[] = [];
    this.#spend(items.length);
    for (const item of items) {
      if (operations[item.step] !== operation.set) continue;
      const ranges = characters.sets[operands[item.step] as number] ?? [];
      const kinds = ranges.reduce((count, [from, to]) => count + to - from + 1, 0);
      if (kinds > maxListedClasses) {
        wide.push(item);
        continue;
      }
      for (const [from, to] of ranges) {
        for (let kind = from; kind <= to; kind += 1) {
          const listed = narrow.get(kind);
          if (listed) listed.push(item);
          else narrow.set(kind, [item]);
        }
      }
    }
    return { narrow, wide };
  }

  #close(kernel: readonly Item[]): State | undefined {
    if (kernel.length === 0) return undefined;
    const closure = new Closure(this.program, this.#table, () => this.#spend(1));
    return closure.of(kernel);
  }

  #spend(work: number): void {
    this.#work += work;
    if (this.#work > this.maxWork) throw tooAmbiguous();
  }
}

/** A call at the current position of the text, to which callers may be added. */
interface OpenCall extends Call {
  readonly returns: Item[];
  /** Keys of its returns, without duplicates. */
  readonly known: Set<number>;
  /** The rule can be empty: its callers continue at once. */
  empty: boolean;
}

/** All steps that are reachable without reading a character. Calls of one rule at one position are one call with several callers. */
class Closure {
  readonly #open = new Map<number, OpenCall>();
  readonly #ids = new Map<number, OpenCall>();
  readonly #waiting: Item[] = [];
  readonly #seen = new Set<number>();
  readonly #ready: Item[] = [];
  #complete = false;

  constructor(
    private readonly program: Program,
    private readonly table: StateTable,
    /** Called for each visited item; throws at the limit. */
    private readonly spend: () => void,
  ) {}

  of(kernel: readonly Item[]): State {
    for (const item of kernel) this.#reach(item.step, item.call);
    for (let item = this.#waiting.pop(); item; item = this.#waiting.pop()) this.#look(item);
    const settled = this.#settled();
    const items = this.#ready.map(({ step, call }) => ({ step, call: settled.get(call.id) ?? call }));
    return this.table.state(items, this.#complete);
  }

  #look({ step, call }: Item): void {
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
    // Tail calls return directly to the callers, so that recursive lists stay flat.
    const isLast = this.program.operations[next] === operation.end;
    const forwarded = isLast && !isRoot(caller) && !this.#ids.has(caller.id);
    for (const item of forwarded ? caller.returns : [{ step: next, call: caller }]) this.#return(call, item);
  }

  #return(call: OpenCall, item: Item): void {
    this.spend();
    const key = this.#key(item.step, item.call);
    if (call.known.has(key)) return;
    call.known.add(key);
    call.returns.push(item);
    if (call.empty) this.#reach(item.step, item.call);
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

  /** The open calls as immutable calls, callers first. Iterative, because chains of calls may be long. */
  #settled(): ReadonlyMap<number, Call> {
    const settled = new Map<number, Call>();
    const openOf = ({ call }: Item) => (settled.has(call.id) ? undefined : this.#ids.get(call.id));
    for (const item of this.#ready) {
      const first = openOf(item);
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
    const flat = new Map<number, Item>();
    for (const { step, call } of returns) {
      const caller = settled.get(call.id) ?? call;
      const isLast = operations[step] === operation.end && !isRoot(caller);
      for (const item of isLast ? caller.returns : [{ step, call: caller }]) {
        this.spend();
        flat.set(this.#key(item.step, item.call), item);
      }
    }
    return this.table.call(rule, [...flat.values()]);
  }
}

/** The call of the root rule. */
function isRoot(call: Call): boolean {
  return call.id === 0;
}

/** Larger states are not compared: that would take longer than to create them again. */
const maxComparedItems = 128;
/** Beyond this the tables are cleared. */
const maxEntries = 20_000;

/** Creates unique calls and states, so that cached transitions are found again. */
export class StateTable {
  readonly #calls = new Map<string, Call>();
  readonly #states = new Map<string, State>();
  #lastId = 0;

  constructor(private readonly program: Program) {}

  newId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  call(rule: number, returns: readonly Item[]): Call {
    const make = (): Call => ({ id: this.newId(), rule, returns });
    if (returns.length > maxComparedItems) return make();
    return known(this.#calls, `${rule} ${keyOf(returns)}`, make);
  }

  state(items: readonly Item[], complete: boolean): State {
    const { operations } = this.program;
    const hasTokens = items.some(({ step }) => operations[step] !== operation.set);
    const make = (): State => new State(items, complete, hasTokens);
    if (items.length > maxComparedItems) return make();
    return known(this.#states, `${complete} ${keyOf(items)}`, make);
  }
}

function known<Value>(table: Map<string, Value>, key: string, make: () => Value): Value {
  const existing = table.get(key);
  if (existing !== undefined) return existing;
  if (table.size >= maxEntries) table.clear();
  const made = make();
  table.set(key, made);
  return made;
}

function keyOf(items: readonly Item[]): string {
  const keys = items.map(({ step, call }) => `${call.id}:${step}`);
  return keys.sort().join(' ');
}

/** A rule in progress, and where its callers continue. */
export interface Call {
  readonly id: number;
  readonly rule: number;
  readonly returns: readonly Item[];
}

/** A step of the grammar inside of a call, as the items of an Earley parser. */
export interface Item {
  readonly step: number;
  readonly call: Call;
}

/** The items that wait for a character or a token after some text. */
class State {
  /** The next state for each class of characters; null if it is not allowed. Filled on demand. */
  readonly after: (State | null | undefined)[] = [];
  /** The items for a class, if there are many of them. */
  index: { readonly narrow: ReadonlyMap<number, readonly Item[]>; readonly wide: readonly Item[] } | undefined;

  constructor(
    readonly items: readonly Item[],
    /** Whether the text may end here. */
    readonly complete: boolean,
    /** Whether some of the items wait for a whole token. */
    readonly hasTokens: boolean,
  ) {}
}

/** The position of a text in its grammar; the last character may be incomplete. */
export interface TextPosition {
  readonly state: State;
  /** The bits of an incomplete character, and the number of missing bytes. */
  readonly begun: number;
  readonly missing: number;
  /** How many bytes this character has after its first. */
  readonly length: number;
}

/** The lowest code point that needs this many continuation bytes. */
const minCodePoint = [0, 0x80, 0x800, 0x10000];

export function startOf({ start }: GrammarMachine): TextPosition {
  return positionAt(start);
}

/** After a whole character. */
export function positionAt(state: State): TextPosition {
  return { state, begun: 0, missing: 0, length: 0 };
}

export function mayEnd({ state, missing }: TextPosition): boolean {
  return state.complete && missing === 0;
}

/** Matches the bytes of tokens; reusable. */
export class TextWalk {
  #state: State;
  #begun = 0;
  #missing = 0;
  #length = 0;

  constructor(private readonly machine: GrammarMachine) {
    this.#state = machine.start;
  }

  /** The position after these bytes; undefined if they are not allowed, or no UTF-8. */
  after(from: TextPosition, bytes: Uint8Array): TextPosition | undefined {
    if (!this.allows(from, bytes)) return undefined;
    return { state: this.#state, begun: this.#begun, missing: this.#missing, length: this.#length };
  }

  /** The same without an allocation. An empty token is not allowed. */
  allows(from: TextPosition, bytes: Uint8Array): boolean {
    this.#state = from.state;
    this.#begun = from.begun;
    this.#missing = from.missing;
    this.#length = from.length;
    for (let index = 0; index < bytes.length; index += 1) if (!this.#read(bytes[index] as number)) return false;
    return bytes.length > 0 && (this.#missing === 0 || this.#mayBecomeWhole());
  }

  #read(byte: number): boolean {
    if (this.#missing > 0) return byte >> 6 === 2 && this.#continue(byte & 0x3f);
    if (byte < 0x80) return this.#step(byte);
    if (byte < 0xc2 || byte > 0xf4) return false;
    this.#missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    this.#length = this.#missing;
    this.#begun = byte & (0x3f >> this.#missing);
    return true;
  }

  #continue(bits: number): boolean {
    this.#begun = (this.#begun << 6) | bits;
    this.#missing -= 1;
    if (this.#missing > 0) return true;
    const code = this.#begun;
    this.#begun = 0;
    return code >= (minCodePoint[this.#length] as number) && this.#step(code);
  }

  #step(code: number): boolean {
    const next = this.machine.next(this.#state, code);
    if (!next) return false;
    this.#state = next;
    return true;
  }

  #mayBecomeWhole(): boolean {
    const open = 6 * this.#missing;
    const lowest = Math.max(this.#begun << open, minCodePoint[this.#length] as number);
    const highest = (this.#begun << open) | ((1 << open) - 1);
    return lowest <= highest && this.machine.allowsAny(this.#state, lowest, highest);
  }
}
