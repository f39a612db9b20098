import { type Fields, fieldsOf, isObject, jsonIn } from '../api/loose.ts';
import type { Recipe, Value } from './values.ts';

/** An engine program as the form shows it. */
export interface Engine {
  readonly name: string;
  /** As it would be typed. */
  readonly command: string;
  readonly model: string;
  readonly kind: string;
  readonly idle: string;
  readonly folder: string;
  /** One variable per line: `NAME=VALUE`. */
  readonly environment: string;
  /** Fields that the form does not have. They are kept. */
  readonly other: Readonly<Record<string, unknown>>;
}

const none: Engine = {
  name: '',
  command: '',
  model: '',
  kind: '',
  idle: '',
  folder: '',
  environment: '',
  other: {},
};

/** The programs of the setting: JSON objects, or `NAME=COMMAND`. */
export function readEngines(value: Value): readonly Engine[] {
  return Array.isArray(value) ? value.map((text) => readEngine(String(text))) : [];
}

function readEngine(text: string): Engine {
  const object = jsonIn(text);
  if (isObject(object)) return engineOf(object);
  const at = text.indexOf('=');
  return { ...none, name: text.slice(0, Math.max(0, at)).trim(), command: text.slice(at + 1).trim() };
}

function engineOf({ name, command, model, kind, idle, cwd, env, ...other }: Fields): Engine {
  return {
    name: textOf(name),
    command: Array.isArray(command) ? typed(command.map(String)) : textOf(command),
    model: textOf(model),
    kind: textOf(kind),
    idle: textOf(idle),
    folder: textOf(cwd),
    environment: Object.entries(fieldsOf(env))
      .map(([variable, value]) => `${variable}=${value}`)
      .join('\n'),
    other,
  };
}

/** The setting; without programs it has its default. */
export function writtenEngines(engines: readonly Engine[]): Value {
  return engines.length === 0 ? null : engines.map((engine) => JSON.stringify(writtenEngine(engine)));
}

function writtenEngine({ name, command, model, kind, idle, folder, environment, other }: Engine): object {
  const lines = environment.split('\n').filter((line) => line.trim() !== '');
  const env = lines.map((line) => {
    const [variable = '', ...value] = line.split('=');
    return [variable.trim(), value.join('=')];
  });
  const fields = { name: name.trim(), command, model, kind, idle: idle.trim(), cwd: folder };
  const explicit = Object.entries(fields).filter(([field, value]) => value !== '' || field === 'command');
  return { ...Object.fromEntries(explicit), ...(env.length > 0 && { env: Object.fromEntries(env) }), ...other };
}

/** One from a recipe, or an empty one, with a name that no other has. */
export function newEngine(engines: readonly Engine[], recipe?: Recipe): Engine {
  const base = recipe?.title.toLowerCase() ?? 'model';
  const isTaken = (name: string): boolean => engines.some((one) => one.name.toLowerCase() === name);
  let name = base;
  for (let count = 2; isTaken(name); count += 1) name = `${base}-${count}`;
  return { ...engineOf(recipe?.engine ?? {}), name };
}

/** Arguments as one text that the server splits into the same arguments, on every system. */
export function typed(args: readonly string[]): string {
  return args.map((arg) => (/^[\w./:=@%+,${}-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'"'"'`)}'`)).join(' ');
}

const textOf = (value: unknown): string => (value === undefined || value === null ? '' : String(value));
