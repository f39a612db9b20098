import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';

/**
 * Runs templates with the library that reads them. A template comes out of a model file that somebody else made, so what
 * it may cost is bounded: steps, and the size of any text or list that it makes on the way.
 */
export interface TemplateLimits {
  readonly steps: number;
  readonly characters: number;
  readonly items: number;
}

export const defaultLimits: TemplateLimits = { steps: 2_000_000, characters: 16_000_000, items: 100_000 };

export type TemplateProgram = (variables: Readonly<Record<string, unknown>>) => string;

/** Throws on a template that the library cannot read. The program throws on one that it cannot run. */
export function compile(source: string, limits: TemplateLimits): TemplateProgram {
  const parsed = parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }));
  return (variables) => {
    const environment = new Environment();
    const globals = { ...constants, range: boundedRange(limits.items) };
    for (const [name, value] of Object.entries({ ...globals, ...variables })) {
      if (!environment.variables.has(name)) environment.set(name, value);
    }
    const result = new BoundedInterpreter(environment, limits).run(parsed);
    return String(result.value);
  };
}

const constants = { true: true, True: true, false: false, False: false, none: null, None: null };

type Evaluate = Interpreter['evaluate'];

class BoundedInterpreter extends Interpreter {
  readonly #limits: TemplateLimits;
  #steps = 0;

  constructor(environment: Environment, limits: TemplateLimits) {
    super(environment);
    this.#limits = limits;
  }

  /** Every part of a template passes here, loops and macros included. */
  override evaluate(...[statement, environment]: Parameters<Evaluate>): ReturnType<Evaluate> {
    this.#steps += 1;
    if (this.#steps > this.#limits.steps) throw new Error('the template does not come to an end');
    const result = super.evaluate(statement, environment);
    const { value } = result;
    if (typeof value === 'string' && value.length > this.#limits.characters) throw tooLarge('text');
    if (Array.isArray(value) && value.length > this.#limits.items) throw tooLarge('list');
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
