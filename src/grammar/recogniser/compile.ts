import type { Characters } from '../../patterns/characters.ts';
import { GbnfError } from './error.ts';
import { recursiveStart } from './left-recursion.ts';
import { grammarLimits } from './limits.ts';
import { type Expression, parseGbnf, type Rule } from './parse.ts';
import { CharacterClasses, operation, type Program } from './program.ts';

/** The token that is spelled like this; undefined where it takes several. */
export type FindToken = (text: string) => number | undefined;

/** Throws a GbnfError for what is no grammar, or none that can be followed. */
export function compileGbnf(source: string, findToken: FindToken): Program {
  const rules = parseGbnf(source);
  if (!rules.has('root')) throw new GbnfError(source, 0, 'there is no rule named root');
  const program = new Compiler(source, rules, findToken).whole();
  const recursive = recursiveStart(program);
  if (recursive === undefined) return program;
  const [name, { place }] = [...rules][recursive] as [string, Rule];
  throw new GbnfError(source, place, `the rule ${name} begins with itself (left recursion)`);
}

class Compiler {
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #operations: number[] = [];
  readonly #operands: number[] = [];
  readonly #nexts: number[] = [];
  readonly #forks: number[][] = [];
  readonly #sets: Characters[] = [];
  readonly #setNumbers = new Map<string | number, number>();
  /** The rule at work, to name its place where it becomes too large. */
  #rule: Rule | undefined;

  constructor(
    private readonly source: string,
    private readonly rules: ReadonlyMap<string, Rule>,
    private readonly findToken: FindToken,
  ) {
    this.#numbers = new Map([...rules.keys()].map((name, index) => [name, index]));
  }

  whole(): Program {
    const starts = Int32Array.from(this.rules.values(), (rule) => {
      this.#rule = rule;
      return this.#compile(rule.body, this.#add(operation.end, 0, 0));
    });
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

  /** From the end to the beginning, so that every step knows the one that comes after it. */
  #compile(expression: Expression, next: number): number {
    switch (expression.type) {
      case 'set':
        return this.#add(operation.set, this.#setNumber(expression.set), next);
      case 'sequence':
        return expression.items.reduceRight((after, item) => this.#compile(item, after), next);
      case 'choice':
        return this.#fork(expression.items.map((item) => this.#compile(item, next)));
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
      // Nothing repeated is still nothing, however often.
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
      throw new GbnfError(this.source, this.#rule?.place ?? 0, reason);
    }
    this.#operations.push(kind);
    this.#operands.push(operand);
    this.#nexts.push(next);
    return number;
  }

  #setNumber(set: Characters): number {
    const [only, another] = set;
    // Nearly all are single characters of literals.
    const key = only && !another && only[0] === only[1] ? only[0] : set.join(' ');
    const known = this.#setNumbers.get(key);
    if (known !== undefined) return known;
    this.#setNumbers.set(key, this.#sets.length);
    return this.#sets.push(set) - 1;
  }

  #ruleNumber({ name, place }: Expression & { type: 'rule' }): number {
    const number = this.#numbers.get(name);
    if (number === undefined) throw new GbnfError(this.source, place, `there is no rule named ${name}`);
    return number;
  }

  #tokenNumber({ token, place }: Expression & { type: 'token' }): number {
    const number = typeof token === 'number' ? token : this.findToken(token);
    if (number === undefined) throw new GbnfError(this.source, place, `${token} is not one token of this model`);
    return number;
  }
}
