import * as jinja from '@huggingface/jinja';
import { EndlessTemplateError, type TemplateLimits } from './template-limits.ts';

// The declarations of the library do not resolve under Node's module rules, so the part in use is declared here.

interface RuntimeValue {
  type: string;
  readonly value: unknown;
  readonly builtins: ReadonlyMap<string, RuntimeValue>;
}

/** A node of a parsed template. */
interface Statement {
  readonly type: string;
}

interface Scope {
  readonly variables: ReadonlyMap<string, RuntimeValue>;
  /** Converts the value to a runtime value and returns it. */
  set(name: string, value: unknown): RuntimeValue;
}

interface Runner {
  run(program: object): RuntimeValue;
  evaluate(statement: Statement | undefined, environment: Scope): RuntimeValue;
}

interface Library {
  readonly Environment: new () => Scope;
  readonly Interpreter: new (environment: Scope) => Runner;
  tokenize(source: string, options: { readonly lstrip_blocks: boolean; readonly trim_blocks: boolean }): object;
  parse(tokens: object): object;
}

const { Environment, Interpreter, parse, tokenize } = jinja as unknown as Library;

export { parse };

/** White space around blocks is removed, as models were trained with it. */
export function tokens(source: string): object {
  return tokenize(source, { lstrip_blocks: true, trim_blocks: true });
}

function runtimeValue(value: unknown): RuntimeValue {
  return new Environment().set('value', value);
}

type RuntimeFunction = (parameters: readonly RuntimeValue[]) => RuntimeValue;

/** A function of runtime values; functions that `set` wraps get plain values only. */
function runtimeFunction(run: RuntimeFunction): RuntimeValue {
  const FunctionValue = runtimeValue(() => null).constructor as new (run: RuntimeFunction) => RuntimeValue;
  return new FunctionValue(run);
}

export type TemplateProgram = (variables: Readonly<Record<string, unknown>>, limits: TemplateLimits) => string;

/** Throws on a template that the library cannot parse. The program throws on one that it cannot run. */
export function compile(source: string, clock: () => number): TemplateProgram {
  const parsed = parse(tokens(source));
  return (variables, limits) => {
    const environment = new Environment();
    const globals = { ...constants, range: boundedRange(limits.items) };
    for (const [name, value] of Object.entries({ ...globals, ...variables })) {
      if (!environment.variables.has(name)) environment.set(name, value);
    }
    return String(new BoundedInterpreter(environment, limits, clock).run(parsed).value);
  };
}

const constants = { true: true, True: true, false: false, False: false, none: null, None: null };

class BoundedInterpreter extends Interpreter {
  readonly #deadline: number;
  /** Expressions whose value will be iterated. */
  readonly #iterated = new WeakSet<Statement>();
  /** Those that a loop iterates. */
  readonly #looped = new WeakSet<Statement>();
  #steps = 0;

  constructor(
    environment: Scope,
    private readonly limits: TemplateLimits,
    private readonly clock: () => number,
  ) {
    super(environment);
    this.#deadline = clock() + limits.milliseconds;
  }

  /** Called for every part of a template, loops and macros included. */
  override evaluate(statement: Statement | undefined, environment: Scope): RuntimeValue {
    this.#steps += 1;
    // The clock is read each time, as one step may iterate a long text or list.
    if (this.#steps > this.limits.steps || this.clock() > this.#deadline) throw new EndlessTemplateError();
    for (const operand of listOperands(statement)) {
      this.#iterated.add(operand);
      if (statement?.type === 'For') this.#looped.add(operand);
    }
    const iterated = statement !== undefined && this.#iterated.has(statement);
    const result = fillGaps(super.evaluate(statement, environment), iterated, this.limits.items);
    const { value } = result;
    if (typeof value === 'string' && value.length > this.limits.characters) throw tooLarge('text');
    if (!Array.isArray(value)) return result;
    if (value.length > this.limits.items) throw tooLarge('list');
    // A loop with an empty body takes time without a call of this method.
    if (statement !== undefined && this.#looped.has(statement)) this.#steps += value.length;
    return result;
  }
}

function boundedRange(limit: number): (first: number, end?: number, step?: number) => number[] {
  return (first, end, step) => {
    const [from, to] = typeof end === 'number' ? [first, end] : [0, first];
    const by = typeof step === 'number' ? step : 1;
    const length = Math.max(0, Math.ceil((to - from) / by));
    if (!(length <= limit)) throw tooLarge('list');
    return Array.from({ length }, (_, index) => from + index * by);
  };
}

function tooLarge(what: string): Error {
  return new Error(`the template makes a ${what} that is too large`);
}

const listFilters: ReadonlySet<string> = new Set(
  'first join last length list map reject rejectattr reverse select selectattr sort unique'.split(' '),
);

type Node = Statement & {
  readonly iterable: Node;
  readonly lhs: Node;
  readonly operand: Node;
  readonly filter: { readonly value?: string; readonly callee?: { readonly value?: string } };
};

/** The parts of a node whose values it iterates. */
function listOperands(statement: Statement | undefined): readonly Statement[] {
  if (statement?.type === 'For') {
    const { iterable } = statement as Node;
    return [iterable.type === 'SelectExpression' ? iterable.lhs : iterable];
  }
  if (statement?.type === 'FilterExpression') {
    const { operand, filter } = statement as Node;
    const name = typeof filter.value === 'string' ? filter.value : filter.callee?.value;
    return name !== undefined && listFilters.has(name) ? [operand] : [];
  }
  return [];
}

/** What Jinja has and the library lacks: undefined is an empty list, lists can grow and shrink, tuples can be unpacked. */
function fillGaps(result: RuntimeValue, iterated: boolean, maxItems: number): RuntimeValue {
  switch (result.type) {
    case 'UndefinedValue':
    case 'NullValue':
      return iterated ? runtimeValue([]) : result;
    case 'TupleValue':
      result.type = 'ArrayValue';
      return result;
    case 'ArrayValue':
      addListMethods(result, maxItems);
      return result;
    default:
      return result;
  }
}

function addListMethods(list: RuntimeValue, maxItems: number): void {
  const methods = list.builtins as Map<string, RuntimeValue>;
  if (methods.has('append')) return;
  const items = list.value as RuntimeValue[];
  const append: RuntimeFunction = ([item]) => {
    if (items.length >= maxItems) throw tooLarge('list');
    if (item) items.push(item);
    return runtimeValue(null);
  };
  const pop: RuntimeFunction = ([index]) =>
    items.splice(typeof index?.value === 'number' ? index.value : -1, 1)[0] ?? runtimeValue(undefined);
  methods.set('append', runtimeFunction(append)).set('pop', runtimeFunction(pop));
}
