import { type DefaultField, imageAliases, lengthFields, textFields } from './default-fields.ts';
import type { JsonObject, JsonValue } from './flag.ts';
import type { Settings } from './flags.ts';

type Body = Readonly<Record<string, unknown>>;

/** Image clients send `default` in these where they mean that they do not care. */
const undecided: ReadonlySet<string> = new Set(['sampler_name', 'scheduler']);

const textFieldsByName: ReadonlyMap<string, DefaultField> = new Map(
  textFields.flatMap((field) => field.names.map((name): [string, DefaultField] => [name, field])),
);

export type RequestDefaults = JsonObject;

/** Everything that the settings say about requests which leave fields out; never the length of a reply. */
export function requestDefaults(settings: Pick<Settings, 'gendefaults' | 'reasoningeffort'>): RequestDefaults {
  const defaults = canonicalNames(settings.gendefaults ?? {});
  if (settings.reasoningeffort === 'default' || 'reasoning_effort' in defaults) return defaults;
  return { ...defaults, reasoning_effort: settings.reasoningeffort };
}

/** Those for requests of text, under their native names: image fields would only be noise there. */
export function textDefaults(defaults: RequestDefaults): RequestDefaults {
  const found = new Map<string, JsonValue>();
  for (const [name, value] of Object.entries(defaults)) {
    const field = textFieldsByName.get(name);
    if (!field) continue;
    const [native] = field.names;
    // Of several names for one thing the native one counts.
    if (name === native || !found.has(native)) found.set(native, field.kind === 'flag' ? Boolean(value) : value);
  }
  return Object.fromEntries(found);
}

/**
 * The request as it would be had the client known our defaults. What it said under any name of any family stands in the
 * way of a default, or makes room for one that is to overwrite it; null says nothing.
 */
export function applyDefaults<Sent extends Body>(
  body: Sent,
  defaults: RequestDefaults,
  overwrite: boolean,
): Sent & Body {
  const added = Object.entries(defaults).filter(([name]) => overwrite || !says(body, name));
  if (added.length === 0) return body;
  const replaced = overwrite ? added.flatMap(([name]) => otherNames(name)) : [];
  // Unlike an assignment, this cannot reach the prototype through a key named `__proto__`.
  return Object.fromEntries([...Object.entries(replaced.reduce(without, body as Body)), ...added]) as Sent & Body;
}

export function gendefaultsNotes({ gendefaults }: Pick<Settings, 'gendefaults'>): string[] {
  const fields = lengthFields.filter((field) => gendefaults && Object.hasOwn(gendefaults, field));
  return fields.map(
    (field) => `--gendefaults does not set the length of replies: ${field} has no effect. Use --defaultgenamt.`,
  );
}

function canonicalNames(object: JsonObject): JsonObject {
  const entries = Object.entries(object).filter(([key, value]) => value !== null && !lengthFields.includes(key));
  const renamed = entries.flatMap(([key, value]): [string, JsonValue][] => {
    const name = imageAliases.get(key);
    return name ? [[name, value]] : [];
  });
  return Object.fromEntries([...renamed, ...entries.filter(([key]) => !imageAliases.has(key))]);
}

function says(body: Body, name: string): boolean {
  const field = textFieldsByName.get(name);
  if (!field) return isDecided(name, at(body, name));
  if (field.names.some((each) => isThere(at(body, each)))) return true;
  // A bare `true` asks for something without saying how much of it.
  return field.elsewhere.some((path) => isThere(at(body, path)) && at(body, path) !== true);
}

function otherNames(name: string): readonly string[] {
  const field = textFieldsByName.get(name);
  return field ? [...field.names, ...field.elsewhere, ...field.overruling] : [];
}

function isDecided(name: string, value: unknown): boolean {
  if (!isThere(value)) return false;
  return !(undecided.has(name) && typeof value === 'string' && value.toLowerCase() === 'default');
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function at(body: Body, path: string): unknown {
  const [name, rest] = split(path);
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  return rest === undefined ? value : isBody(value) ? at(value, rest) : undefined;
}

function without(body: Body, path: string): Body {
  const [name, rest] = split(path);
  if (!Object.hasOwn(body, name)) return body;
  const value = body[name];
  if (rest !== undefined && !isBody(value)) return body;
  const entries = Object.entries(body);
  if (rest === undefined) return Object.fromEntries(entries.filter(([key]) => key !== name));
  return Object.fromEntries(entries.map(([key, each]) => [key, key === name ? without(value as Body, rest) : each]));
}

function split(path: string): readonly [name: string, rest: string | undefined] {
  const dot = path.indexOf('.');
  return dot === -1 ? [path, undefined] : [path.slice(0, dot), path.slice(dot + 1)];
}

function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
