import { arrayBody } from './arrays.ts';
import { GrammarError } from './error.ts';
import { alternatives, expand, type Part } from './expand.ts';
import { formats } from './formats.ts';
import { choice, createRules, type Rules } from './gbnf.ts';
import { booleanBody, type JsonRules, jsonRules, nullBody, type Whitespace } from './json.ts';
import type { TypeName } from './keywords.ts';
import { limits } from './limits.ts';
import { type Conjunction, locate } from './located.ts';
import { integerRange, numberRange } from './numbers.ts';
import { objectBody } from './objects.ts';
import { type Shape, shapeOf } from './shape.ts';
import { stringBody } from './strings.ts';

export interface GrammarOptions {
  /** Names of properties that come first in every object that lists them; the others keep the order of the schema. */
  readonly propertyOrder?: readonly string[];
  readonly whitespace?: Whitespace;
}

/** The grammar of the values of a schema. Throws a GrammarError (an AppError) that names the keyword and the place. */
export function schemaToGrammar(schema: unknown, options: GrammarOptions = {}): string {
  const rules = createRules();
  return rules.text(converted(schema, 'schema', rules, options));
}

/**
 * A grammar around several schemas, each a rule under its name. `root` is the body of the root rule in GBNF and may use
 * these names, for example `"<call>" arguments "</call>"`.
 */
export function composeGrammar(
  root: string,
  schemas: Readonly<Record<string, unknown>>,
  options: GrammarOptions = {},
): string {
  const names = Object.keys(schemas);
  const wrong = names.find((name) => !/^[a-zA-Z][a-zA-Z0-9-]*$/.test(name) || name === 'root');
  if (wrong !== undefined) throw new RangeError(`${JSON.stringify(wrong)} cannot be the name of a rule`);
  const rules = createRules(names);
  const bodies = names.map((name) => `${name} ::= ${converted(schemas[name], name, rules, options)}\n`);
  return rules.text(root) + bodies.join('');
}

function converted(schema: unknown, name: string, rules: Rules, options: GrammarOptions): string {
  const json = jsonRules(rules, options.whitespace ?? 'flexible');
  const order = options.propertyOrder ?? [];
  return valueRule([locate(schema, '#')], { document: schema, name, json, order, depth: 0, unwritten: new Set() });
}

interface Place {
  readonly document: unknown;
  readonly name: string;
  readonly json: JsonRules;
  readonly order: readonly string[];
  readonly depth: number;
  /** The rules being made in which nothing has been written yet: to meet one again would be to go in circles. */
  readonly unwritten: ReadonlySet<string>;
}

function valueRule(conjunction: Conjunction, place: Place): string {
  const { document, json, name } = place;
  const parts = expand(document, conjunction);
  const [first] = parts;
  if (!first) return json.value();
  const key = parts
    .map((part) => part.key)
    .sort()
    .join(' & ');
  if (place.unwritten.has(key))
    throw new GrammarError('the schema refers to itself and to nothing else', first.pointer);
  if (place.depth > limits.depth) {
    throw new GrammarError(`schemas are nested deeper than ${limits.depth}`, first.pointer);
  }
  const deeper = { ...place, depth: place.depth + 1, unwritten: new Set([...place.unwritten, key]) };
  return json.rules.named(`${name} ${key}`, hint(first, name), () => {
    const options = alternatives(parts);
    return options ? choice(options.map((option) => valueRule(option, deeper))) : valueBody(parts, deeper);
  });
}

function valueBody(parts: readonly Part[], place: Place): string {
  const { json } = place;
  const shape = shapeOf(parts, formats);
  if (shape.values) return choice(shape.values.map((value) => json.exactly(value)));
  const inside = { ...place, unwritten: new Set<string>() };
  const rule = (conjunction: Conjunction) => valueRule(conjunction, inside);
  const bodies: Readonly<Record<TypeName, () => string>> = {
    object: () => objectBody(parts, place.order, json, rule),
    array: () => arrayBody(parts, json, rule),
    string: () => stringBody(shape, json),
    number: () => numberBody(parts, shape, 'number', json),
    integer: () => numberBody(parts, shape, 'integer', json),
    boolean: () => booleanBody,
    null: () => nullBody,
  };
  const types = [...shape.types].filter((type) => type !== 'integer' || !shape.types.has('number'));
  return choice(types.map((type) => bodies[type]()));
}

function numberBody(parts: readonly Part[], { bounds }: Shape, type: 'number' | 'integer', json: JsonRules): string {
  if (bounds.minimum === undefined && bounds.maximum === undefined) return json[type]();
  const range = type === 'integer' ? integerRange(bounds) : numberRange(bounds);
  if (range === undefined)
    throw new GrammarError('no number lies within the bounds', (parts[0] as Part).pointer, 'maximum');
  return range;
}

/** Something readable for people who look at the grammar: the last name on the way to the schema. */
function hint({ pointer }: Part, name: string): string {
  return pointer.split('/').findLast((segment) => /[a-zA-Z]/.test(segment)) ?? name;
}
