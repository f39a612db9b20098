import type { Sliced } from '../../core/slices.ts';
import { type Characters, overlaps } from '../../patterns/characters.ts';
import { type Expression, GbnfError, grammarLimits, parseGbnf, type Rule } from './parse.ts';

/** The token with this text; undefined if there is no such token. */
type FindToken = (text: string) => number | undefined;

/** Compiles a grammar, rule by rule. Throws a GbnfError for an invalid one. */
export function* compilation(source: string, findToken: FindToken): Sliced<Program> {
  const rules = yield* parseGbnf(source);
  if (!rules.has('root')) throw new GbnfError(source, 0, 'there is no rule named root');
  const program = yield* new Compiler(source, rules, findToken).program();
  const recursive = findCircle(firstCalls(program));
  if (recursive === undefined) return program;
  const [name, { offset }] = [...rules][recursive] as [string, Rule];
  throw new GbnfError(source, offset, `the rule ${name} begins with itself (left recursion)`);
}

/** An alternative, split into its leading characters and the rest. */
interface Headed {
  readonly head: readonly number[];
  readonly rest: Expression | undefined;
}

function headed(expression: Expression): Headed {
  if (expression.type === 'text') return { head: expression.codes, rest: undefined };
  const [first, ...rest] = expression.type === 'sequence' ? expression.items : [];
  if (first?.type === 'text') return { head: first.codes, rest: { type: 'sequence', items: rest } };
  return { head: [], rest: expression };
}

/** The length of the common prefix of the heads, at least `known`. */
function commonLength(alternatives: readonly Headed[], known: number): number {
  const heads = alternatives.map(({ head }) => head);
  const [first = []] = heads;
  let length = known;
  while (length < first.length && heads.every((head) => head[length] === first[length])) length += 1;
  return length;
}

/** The depth of the prefix tree of alternatives; beyond it they are compiled one by one. */
const maxTreeDepth = 100;

class Compiler {
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #operations: number[] = [];
  readonly #operands: number[] = [];
  readonly #nexts: number[] = [];
  readonly #forks: number[][] = [];
  readonly #sets: Characters[] = [];
  readonly #setNumbers = new Map<Characters | string | number, number>();
  /** The current rule, for error messages. */
  #rule: Rule | undefined;

  constructor(
    private readonly source: string,
    private readonly rules: ReadonlyMap<string, Rule>,
    private readonly findToken: FindToken,
  ) {
    this.#numbers = new Map([...rules.keys()].map((name, index) => [name, index]));
  }

  *program(): Sliced<Program> {
    const starts = new Int32Array(this.rules.size);
    for (const [index, rule] of [...this.rules.values()].entries()) {
      this.#rule = rule;
      starts[index] = this.#compile(rule.body, this.#add(operation.end, 0, 0));
      yield;
    }
    return {
      operations: Uint8Array.from(this.#operations),
      operands: Int32Array.from(this.#operands),
      nexts: Int32Array.from(this.#nexts),
      forks: this.#forks,
      starts,
      root: this.#numbers.get('root') as number,
      characters: new CharacterClasses(this.#sets),
    };
  }

  /** From the end to the beginning, so that every step knows its successor. */
  #compile(expression: Expression, next: number): number {
    switch (expression.type) {
      case 'set':
        return this.#add(operation.set, this.#setNumber(expression.set), next);
      case 'sequence':
        return expression.items.reduceRight((after, item) => this.#compile(item, after), next);
      case 'choice':
        return this.#choice(expression.items.map(headed), 0, 0, next);
      case 'text':
        return this.#text(expression.codes, 0, next);
      case 'repeat':
        return this.#repeat(expression, next);
      case 'rule':
        return this.#add(operation.call, this.#ruleNumber(expression), next);
      case 'token':
        return this.#add(
          expression.negated ? operation.otherToken : operation.token,
          this.#tokenNumber(expression),
          next,
        );
    }
  }

  /** The characters of a literal from `from` on. */
  #text(codes: readonly number[], from: number, next: number): number {
    let after = next;
    for (let index = codes.length - 1; index >= from; index -= 1) {
      const code = codes[index] as number;
      after = this.#add(
        operation.set,
        this.#numberOf(code, () => this.#sets.push([[code, code]]) - 1),
        after,
      );
    }
    return after;
  }

  /** A prefix tree of alternatives that agree in their first `shared` characters: thousands of words cost as much as one. */
  #choice(alternatives: readonly Headed[], shared: number, depth: number, next: number): number {
    const groups = new Map<number | undefined, Headed[]>();
    for (const alternative of alternatives) {
      const code = alternative.head[shared];
      const group = groups.get(code);
      if (group) group.push(alternative);
      else groups.set(code, [alternative]);
    }
    const ways = [...groups].flatMap(([code, group]) => {
      const alone = code === undefined || group.length === 1 || depth === maxTreeDepth;
      if (alone)
        return group.map(({ head, rest }) => this.#text(head, shared, rest ? this.#compile(rest, next) : next));
      const common = commonLength(group, shared);
      const [{ head }] = group as [Headed];
      return [this.#text(head.slice(0, common), shared, this.#choice(group, common, depth + 1, next))];
    });
    return ways.length === 1 ? (ways[0] as number) : this.#fork(ways);
  }

  #repeat({ item, minimum, maximum }: Expression & { type: 'repeat' }, next: number): number {
    let after = next;
    if (maximum === undefined) {
      const ways: number[] = [];
      after = this.#fork(ways);
      ways.push(this.#compile(item, after), next);
    }
    for (let optional = minimum; optional < (maximum ?? 0); optional += 1) {
      after = this.#fork([this.#compile(item, after), next]);
    }
    for (let needed = 0; needed < minimum; needed += 1) {
      const before = this.#operations.length;
      after = this.#compile(item, after);
      // An empty item stays empty.
      if (this.#operations.length === before) break;
    }
    return after;
  }

  #fork(ways: number[]): number {
    return this.#add(operation.fork, this.#forks.push(ways) - 1, 0);
  }

  #add(kind: number, operand: number, next: number): number {
    const number = this.#operations.length;
    if (number >= grammarLimits.steps) {
      const reason = `the grammar grows beyond ${grammarLimits.steps} steps; counts like {1,5000} are written out`;
      throw new GbnfError(this.source, this.#rule?.offset ?? 0, reason);
    }
    this.#operations.push(kind);
    this.#operands.push(operand);
    this.#nexts.push(next);
    return number;
  }

  /** Equal sets have one number. Most are the same object, because a grammar repeats few classes. */
  #setNumber(set: Characters): number {
    return this.#numberOf(set, () => this.#numberOf(set.join(' '), () => this.#sets.push(set) - 1));
  }

  #numberOf(key: Characters | string | number, add: () => number): number {
    const known = this.#setNumbers.get(key);
    if (known !== undefined) return known;
    const number = add();
    this.#setNumbers.set(key, number);
    return number;
  }

  #ruleNumber({ name, offset }: Expression & { type: 'rule' }): number {
    const number = this.#numbers.get(name);
    if (number === undefined) throw new GbnfError(this.source, offset, `there is no rule named ${name}`);
    return number;
  }

  #tokenNumber({ token, offset }: Expression & { type: 'token' }): number {
    const number = typeof token === 'number' ? token : this.findToken(token);
    if (number === undefined) throw new GbnfError(this.source, offset, `${token} is not one token of this model`);
    return number;
  }
}

/** For each rule, the rules that it may call before any character has been read. */
function firstCalls({ operations, operands, nexts, forks, starts }: Program): readonly ReadonlySet<number>[] {
  const calls = Array.from(starts, () => new Set<number>());
  /** Rules that may be empty, and the steps behind calls of rules that are not known to be. */
  const empty = new Uint8Array(starts.length);
  const behind = Array.from(starts, (): [rule: number, step: number][] => []);
  const seen = new Uint8Array(operations.length);
  const waiting = Array.from(starts, (step, rule): [rule: number, step: number] => [rule, step]);
  for (let frame = waiting.pop(); frame; frame = waiting.pop()) {
    const [rule, step] = frame;
    // A step belongs to one rule, so that it is visited once.
    if (seen[step] === 1) continue;
    seen[step] = 1;
    const operand = operands[step] as number;
    switch (operations[step]) {
      case operation.fork:
        for (const way of forks[operand] as readonly number[]) waiting.push([rule, way]);
        break;
      case operation.call: {
        calls[rule]?.add(operand);
        const after: [number, number] = [rule, nexts[step] as number];
        if (empty[operand] === 1) waiting.push(after);
        else behind[operand]?.push(after);
        break;
      }
      case operation.end:
        empty[rule] = 1;
        for (const after of behind[rule]?.splice(0) ?? []) waiting.push(after);
        break;
    }
  }
  return calls;
}

/** A node of a cycle. Iterative, because the chain of calls may be as long as the grammar. */
function findCircle(edges: readonly ReadonlySet<number>[]): number | undefined {
  const done = new Uint8Array(edges.length);
  const onPath = new Uint8Array(edges.length);
  for (let first = 0; first < edges.length; first += 1) {
    if (done[first] === 1) continue;
    const path = [{ node: first, rest: [...(edges[first] as ReadonlySet<number>)] }];
    onPath[first] = 1;
    for (let frame = path.at(-1); frame; frame = path.at(-1)) {
      const next = frame.rest.pop();
      if (next === undefined) {
        onPath[frame.node] = 0;
        done[frame.node] = 1;
        path.pop();
      } else if (onPath[next] === 1) {
        return next;
      } else if (done[next] === 0) {
        onPath[next] = 1;
        path.push({ node: next, rest: [...(edges[next] as ReadonlySet<number>)] });
      }
    }
  }
  return undefined;
}

export const operation = { set: 0, token: 1, otherToken: 2, fork: 3, call: 4, end: 5 } as const;

/** A grammar as numbered steps. Each rule is an automaton: choices and repetitions are forks, references to rules are calls. */
export interface Program {
  readonly operations: Uint8Array;
  /** Which set, token or rule; for a fork, which of `forks`. */
  readonly operands: Int32Array;
  readonly nexts: Int32Array;
  readonly forks: readonly (readonly number[])[];
  /** The first step of each rule. */
  readonly starts: Int32Array;
  readonly root: number;
  readonly characters: CharacterClasses;
}

/** Characters that no set of the grammar distinguishes are one class. Classes are numbered in the order of characters. */
export class CharacterClasses {
  /** The first character of each class. */
  readonly #firsts: readonly number[];
  readonly #low: Int32Array;
  /** Each set as ranges of classes. */
  readonly sets: readonly Characters[];

  constructor(private readonly ranges: readonly Characters[]) {
    const firsts = new Set([0]);
    for (const [from, to] of ranges.flat()) firsts.add(from).add(to + 1);
    this.#firsts = [...firsts].sort((a, b) => a - b);
    this.#low = Int32Array.from({ length: 128 }, (_, code) => this.#find(code));
    this.sets = ranges.map((set) => set.map(([from, to]) => [this.#find(from), this.#find(to)] as const));
  }

  classOf(code: number): number {
    return code < 128 ? (this.#low[code] as number) : this.#find(code);
  }

  /** Whether a set has any character of these. */
  overlap(set: number, lowest: number, highest: number): boolean {
    return overlaps(this.ranges[set] as Characters, lowest, highest);
  }

  #find(code: number): number {
    let low = 0;
    let high = this.#firsts.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((this.#firsts[middle] as number) <= code) low = middle;
      else high = middle;
    }
    return low;
  }
}
