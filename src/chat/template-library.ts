import * as jinja from '@huggingface/jinja';

/** The library's own declarations do not resolve under Node's module rules, so the part in use is declared here. */
export interface RuntimeValue {
  type: string;
  readonly value: unknown;
  readonly builtins: ReadonlyMap<string, RuntimeValue>;
}

/** A node of a parsed template. */
export interface Statement {
  readonly type: string;
}

export interface Scope {
  readonly variables: ReadonlyMap<string, RuntimeValue>;
  /** Turns the value into one of the language, and gives it back. */
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

export const { Environment, Interpreter, parse, tokenize } = jinja as unknown as Library;

type FunctionClass = new (run: (parameters: readonly RuntimeValue[]) => RuntimeValue) => RuntimeValue;

export function runtimeValue(value: unknown): RuntimeValue {
  return new Environment().set('value', value);
}

/** A function that sees the values of the language as they are; those that `set` wraps see only plain values. */
export function runtimeFunction(run: (parameters: readonly RuntimeValue[]) => RuntimeValue): RuntimeValue {
  const FunctionValue = runtimeValue(() => null).constructor as FunctionClass;
  return new FunctionValue(run);
}
