import {
  type DefaultField,
  imageAliases,
  imageFields,
  lengthFields,
  textFields,
  valueKinds,
} from './default-fields.ts';
import type { JsonObject, JsonValue } from './flag.ts';
import type { Settings } from './flags.ts';
import { badFlags, type Problem } from './problem.ts';
import { suggest } from './suggest.ts';

const known: ReadonlyMap<string, DefaultField> = new Map(
  [...imageFields, ...textFields].flatMap((field) => field.names.map((name): [string, DefaultField] => [name, field])),
);

/** A default of the wrong kind would fail every request that does not say better, so it fails the start. */
export function gendefaultsProblems({ gendefaults }: Pick<Settings, 'gendefaults'>): Problem[] {
  return Object.entries(gendefaults ?? {}).flatMap(([name, value]) => problemOf(name, value) ?? []);
}

function problemOf(name: string, value: JsonValue): Problem | undefined {
  if (lengthFields.includes(name)) return undefined;
  const field = known.get(imageAliases.get(name) ?? name);
  if (!field) {
    const meant = suggest(name, [...known.keys(), ...imageAliases.keys()]);
    const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
    return badFlags(`--gendefaults: ${name} is not a field of a request.${hint}`);
  }
  if (value === null || checks[field.kind](value)) return undefined;
  return badFlags(`--gendefaults: ${name} must be ${valueKinds[field.kind]}, not ${shown(value)}.`);
}

const isText = (value: JsonValue): value is string => typeof value === 'string';
const isNumber = (value: JsonValue): value is number => typeof value === 'number';
const isWhole = (value: JsonValue): value is number => Number.isInteger(value);
const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTokenNumber = (text: string): boolean => /^\s*[+-]?\d{1,9}\s*$/.test(text);
const efforts: readonly JsonValue[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const checks: Readonly<Record<keyof typeof valueKinds, (value: JsonValue) => boolean>> = {
  number: isNumber,
  integer: isWhole,
  flag: (value) => typeof value === 'boolean' || value === 0 || value === 1,
  text: isText,
  texts: (value) => isText(value) || (Array.isArray(value) && value.every(isText)),
  stages: (value) => Array.isArray(value) && value.every((stage) => isWhole(stage) && stage >= 0 && stage <= 6),
  biases: (value) =>
    isObject(value) && Object.entries(value).every(([key, bias]) => isTokenNumber(key) && isNumber(bias)),
  bans: (value) => isText(value) && value.split(',').every((entry) => entry.trim() === '' || isTokenNumber(entry)),
  grammar: (value) => isText(value) || isObject(value),
  effort: (value) => efforts.includes(value),
  object: isObject,
  list: (value) => Array.isArray(value),
};

const longest = 60;

function shown(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
