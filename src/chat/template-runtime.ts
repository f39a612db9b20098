import { EndlessTemplateError } from './endless-template.ts';
import {
  Environment,
  Interpreter,
  parse,
  type RuntimeValue,
  runtimeFunction,
  runtimeValue,
  type Scope,
  type Statement,
  tokenize,
} from './template-library.ts';

/**
 * Runs templates with the library that reads them. A template comes out of a model file that somebody else made, so what
 * it may cost is bounded: time, steps, and the size of any text or list that it makes on the way.
 */
export interface TemplateLimits {
  readonly steps: number;
  readonly milliseconds: number;
  readonly characters: number;
  readonly items: number;
}

/** For what is rendered where others wait for it. */
export const inlineLimits: TemplateLimits = {
  steps: 2_000_000,
  milliseconds: 250,
  characters: 16_000_000,
  items: 10_000,
};

/** White space around blocks is left out, as models were trained with it. */
export const readingRules = { lstrip_blocks: true, trim_blocks: true } as const;

/** For a thread of its own: a million messages, which is more than the largest body that is taken by default can hold. */
export const threadLimits: TemplateLimits = {
  steps: 1_000_000_000,
  milliseconds: 30_000,
  characters: 256_000_000,
  items: 4_000_000,
};

export type Clock = () => number;
export type Variables = Readonly<Record<string, unknown>>;
export type TemplateProgram = (variables: Variables, limits: TemplateLimits) => string;

/** Throws on a template that the library cannot read. The program throws on one that it cannot run. */
export function compile(source: string, clock: Clock): TemplateProgram {
  const parsed = parse(tokenize(source, readingRules));
  return (variables, limits) => {
    const environment = new Environment();
    const globals = { ...constants, range: boundedRange(limits.items) };
    for (const [name, value] of Object.entries({ ...globals, ...variables })) {
      if (!environment.variables.has(name)) environment.set(name, value);
    }
    const result = new BoundedInterpreter(environment, limits, clock).run(parsed);
    return String(result.value);
  };
}

const constants = { true: true, True: true, false: false, False: false, none: null, None: null };

class BoundedInterpreter extends Interpreter {
  readonly #limits: TemplateLimits;
  readonly #clock: Clock;
  readonly #deadline: number;
  /** Expressions whose value is about to be walked through. */
  readonly #walked = new WeakSet<Statement>();
  /** Those that a loop walks through. */
  readonly #looped = new WeakSet<Statement>();
  #steps = 0;

  constructor(environment: Scope, limits: TemplateLimits, clock: Clock) {
    super(environment);
    this.#limits = limits;
    this.#clock = clock;
    this.#deadline = clock() + limits.milliseconds;
  }

  /** Every part of a template passes here, loops and macros included. */
  override evaluate(statement: Statement | undefined, environment: Scope): RuntimeValue {
    this.#steps += 1;
    // Each time, as one step may walk through a long text or list.
    if (this.#steps > this.#limits.steps || this.#clock() > this.#deadline) throw new EndlessTemplateError();
    for (const operand of listOperands(statement)) {
      this.#walked.add(operand);
      if (statement?.type === 'For') this.#looped.add(operand);
    }
    const walked = statement !== undefined && this.#walked.has(statement);
    const result = fillGaps(super.evaluate(statement, environment), walked, this.#limits.items);
    const { value } = result;
    if (typeof value === 'string' && value.length > this.#limits.characters) throw tooLarge('text');
    if (!Array.isArray(value)) return result;
    if (value.length > this.#limits.items) throw tooLarge('list');
    // A loop without a body takes its time too, and nothing of it would pass here.
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

/**
 * What the language does and the library does not, as far as templates of real models need it: a missing value can be
 * walked through like an empty list, lists can grow and shrink, and tuples can be taken apart.
 */
const listFilters: ReadonlySet<string> = new Set(
  'first join last length list map reject rejectattr reverse select selectattr sort unique'.split(' '),
);

/** The parts of a node whose values it walks through. */
function listOperands(statement: Statement | undefined): readonly Statement[] {
  if (statement?.type === 'For') {
    const { iterable } = statement as Statement & { iterable: Statement };
    return [iterable.type === 'SelectExpression' ? (iterable as Statement & { lhs: Statement }).lhs : iterable];
  }
  if (statement?.type === 'FilterExpression') {
    const { operand, filter } = statement as Statement & { operand: Statement; filter: FilterName };
    const name = typeof filter.value === 'string' ? filter.value : filter.callee?.value;
    return name !== undefined && listFilters.has(name) ? [operand] : [];
  }
  return [];
}

interface FilterName {
  readonly value?: string;
  readonly callee?: { readonly value?: string };
}

function fillGaps(result: RuntimeValue, walked: boolean, mostItems: number): RuntimeValue {
  switch (result.type) {
    case 'UndefinedValue':
    case 'NullValue':
      return walked ? runtimeValue([]) : result;
    case 'TupleValue':
      result.type = 'ArrayValue';
      return result;
    case 'ArrayValue':
      addListMethods(result, mostItems);
      return result;
    default:
      return result;
  }
}

function addListMethods(list: RuntimeValue, mostItems: number): void {
  const methods = list.builtins as Map<string, RuntimeValue>;
  if (methods.has('append')) return;
  const items = list.value as RuntimeValue[];
  methods.set(
    'append',
    runtimeFunction(([item]) => {
      if (items.length >= mostItems) throw new Error('the template makes a list that is too large');
      if (item) items.push(item);
      return runtimeValue(null);
    }),
  );
  methods.set(
    'pop',
    runtimeFunction(([index]) => {
      const place = typeof index?.value === 'number' ? index.value : -1;
      return items.splice(place, 1)[0] ?? runtimeValue(undefined);
    }),
  );
}
