import { type Sliced, whole } from '../core/slices.ts';
import { booleanBody, choice, JsonRules, nullBody, Rules } from './gbnf.ts';
import { integerRange, numberRange } from './numbers.ts';
import { objectBody } from './objects.ts';
import {
  alternatives,
  type Conjunction,
  child,
  expand,
  type GiveUp,
  GrammarError,
  type GrammarMode,
  type Loosened,
  limits,
  locate,
  noting,
  type Part,
  refuse,
  scalarType,
  type TypeName,
  withoutDemand,
} from './schema.ts';
import { counts, type Shape, shapeOf, typesOf } from './shape.ts';
import { stringBody } from './strings.ts';

/** By the schema itself: decoders check it before its request is queued, and its reply needs the same grammar. */
const grammars = new WeakMap<object, string>();

/** The grammar of the values of a schema. Throws a GrammarError (an AppError) that names the keyword and its location. */
export function schemaToGrammar(schema: unknown): string {
  if (typeof schema !== 'object' || schema === null) return newGrammar(schema);
  const grammar = grammars.get(schema) ?? newGrammar(schema);
  grammars.set(schema, grammar);
  return grammar;
}

function newGrammar(schema: unknown): string {
  const rules = new Rules();
  const { body } = converted({ schema, mode: 'strict' }, 'schema', rules);
  return `root ::= ${body}\n${rules.text()}`;
}

/** A schema within a larger grammar; its references start at its own root. */
export interface EmbeddedSchema {
  readonly schema: unknown;
  readonly mode: GrammarMode;
  /** The value is an object, whatever the schema says. */
  readonly only?: 'object';
}

/** A grammar around several schemas, as `composeRules` makes them. `root` is the body of the root rule. */
export function composeGrammar(root: string, schemas: Readonly<Record<string, EmbeddedSchema>>) {
  const { rules, loosened } = whole(composeRules(schemas, []));
  return { grammar: `root ::= ${root}\n${rules}`, loosened };
}

/**
 * The rules of several schemas, each a rule under its name, which rules around them may use, for example
 * `"<call>" arguments "</call>"`; `reserved` are the names of those. `loosened` is what the rules do not enforce, by the name of
 * the schema.
 */
export function* composeRules(
  schemas: Readonly<Record<string, EmbeddedSchema>>,
  reserved: readonly string[],
): Sliced<{ readonly rules: string; readonly loosened: ReadonlyMap<string, readonly Loosened[]> }> {
  const names = [...Object.keys(schemas), ...reserved];
  const wrong = names.find((name) => !/^[a-zA-Z][a-zA-Z0-9-]*$/.test(name) || name === 'root');
  if (wrong !== undefined) throw new RangeError(`${JSON.stringify(wrong)} cannot be the name of a rule`);
  const rules = new Rules(names);
  const loosened = new Map<string, readonly Loosened[]>();
  const bodies: string[] = [];
  for (const [name, embedded] of Object.entries(schemas)) {
    const made = converted(embedded, name, rules);
    if (made.loosened.length > 0) loosened.set(name, made.loosened);
    bodies.push(`${name} ::= ${made.body}\n`);
    yield;
  }
  return { rules: rules.text() + bodies.join(''), loosened };
}

function converted({ schema, mode, only }: EmbeddedSchema, name: string, rules: Rules) {
  const json = new JsonRules(rules);
  const { giveUp, notes } = mode === 'strict' ? { giveUp: refuse, notes: () => [] } : noting();
  // The rules of the fallback must exist before the limit is reached.
  if (mode === 'loose') {
    json.value();
    json.integer();
  }
  rules.grant();
  const context = { document: schema, name, json, depth: 0, unwritten: new Set<string>(), giveUp, only };
  const body = orAnything(() => valueRule([locate(schema, '#')], context), '#', context);
  return { body, loosened: notes() };
}

/** What a schema costs to look at, compared with a character of the grammar. */
const schemaWork = 40;

interface Context {
  readonly document: unknown;
  readonly name: string;
  readonly json: JsonRules;
  readonly depth: number;
  /** Rules under construction that are still empty: a reference to one of them would be endless. */
  readonly unwritten: ReadonlySet<string>;
  readonly giveUp: GiveUp;
  /** The only type that the value may have, in addition to the schema. */
  readonly only: 'object' | undefined;
}

/** The rule of the values that a conjunction allows; in loose mode any value if there is no such rule. */
function valueRule(conjunction: Conjunction, context: Context): string {
  return orAnything(() => exactRule(conjunction, context), conjunction[0]?.pointer, context);
}

function orAnything(rule: () => string, pointer: string | undefined, context: Context): string {
  try {
    return rule();
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error;
    context.giveUp(error, pointer);
    return anything(context);
  }
}

function anything({ json, only }: Context): string {
  return only ? json[only]() : json.value();
}

function exactRule(conjunction: Conjunction, context: Context): string {
  const { document, json, name, only } = context;
  const parts = expand(document, conjunction, context.giveUp, () => json.rules.spend(schemaWork));
  const [first] = parts;
  if (!first) return anything(context);
  const plain = parts.length === 1 && !only ? scalarType(first.schema) : undefined;
  // Most schemas are of this kind and need no rule.
  if (plain !== undefined) return anyOfType(plain, json);
  const keys = parts.map((part) => part.key);
  const key = keys.sort().join(' & ');
  if (context.unwritten.has(key))
    throw new GrammarError('the schema refers to itself and to nothing else', first.pointer);
  if (context.depth > limits.depth) {
    throw new GrammarError(`schemas are nested deeper than ${limits.depth}`, first.pointer);
  }
  const deeper = { ...context, depth: context.depth + 1, unwritten: new Set([...context.unwritten, key]) };
  return json.rules.named(`${name} ${only ?? ''} ${key}`, hint(first, name), () => ruleBody(parts, deeper));
}

/** In loose mode demands that cannot be expressed are removed one by one. */
function ruleBody(parts: readonly Part[], context: Context): string {
  let remaining = parts;
  for (;;) {
    try {
      const options = alternatives(remaining);
      const body = options
        ? choice(options.map((option) => valueRule(option, context)))
        : valueBody(remaining, context);
      context.json.rules.check(body);
      return body;
    } catch (error) {
      if (!(error instanceof GrammarError)) throw error;
      context.giveUp(error, remaining[0]?.pointer);
      const looser = withoutDemand(remaining, error);
      if (!looser) return ofType(remaining, context);
      remaining = looser;
    }
  }
}

/** Any value of the right type. */
function ofType(parts: readonly Part[], context: Context): string {
  const { json, only } = context;
  try {
    const types = only ? [only] : distinct(typesOf(parts));
    return types.length === 0 ? anything(context) : choice(types.map((type) => anyOfType(type, json)));
  } catch (error) {
    if (error instanceof GrammarError) return anything(context);
    throw error;
  }
}

function anyOfType(type: TypeName, json: JsonRules): string {
  if (type === 'boolean') return booleanBody;
  return type === 'null' ? nullBody : json[type]();
}

/** Without `integer` if `number` is allowed too. */
function distinct(types: ReadonlySet<TypeName>): readonly TypeName[] {
  return [...types].filter((type) => type !== 'integer' || !types.has('number'));
}

function valueBody(parts: readonly Part[], context: Context): string {
  const { json, only } = context;
  const shape = shapeOf(parts, only);
  if (shape.values) return choice(shape.values.map((value) => json.exactly(value)));
  const inside = { ...context, unwritten: new Set<string>(), only: undefined };
  const rule = (conjunction: Conjunction) => valueRule(conjunction, inside);
  const bodies: Readonly<Record<TypeName, () => string>> = {
    object: () => objectBody(parts, json, rule),
    array: () => arrayBody(parts, json, rule),
    string: () => stringBody(shape, json),
    number: () => numberBody(parts, shape, 'number', json),
    integer: () => numberBody(parts, shape, 'integer', json),
    boolean: () => booleanBody,
    null: () => nullBody,
  };
  return choice(distinct(shape.types).map((type) => bodies[type]()));
}

function numberBody(parts: readonly Part[], { bounds }: Shape, type: 'number' | 'integer', json: JsonRules): string {
  if (bounds.minimum === undefined && bounds.maximum === undefined) return json[type]();
  const range = type === 'integer' ? integerRange(bounds) : numberRange(bounds);
  if (range !== undefined) return range;
  throw new GrammarError('no number lies within the bounds', (parts[0] as Part).pointer, 'maximum');
}

/** A readable name for the rule: the last name in the pointer. */
function hint({ pointer }: Part, name: string): string {
  return pointer.split('/').findLast((segment) => /[a-zA-Z]/.test(segment)) ?? name;
}

/** An array. `prefixItems` without `minItems` and `items` is a tuple: exactly these items. */
function arrayBody(parts: readonly Part[], json: JsonRules, rule: (items: Conjunction) => string): string {
  const { pointer } = parts[0] as Part;
  const { first, others } = itemsOf(parts);
  const count = counts(parts, 'minItems', 'maxItems');
  const hasMinimum = parts.some(({ schema }) => schema.minItems !== undefined);
  const minimum = hasMinimum ? count.minimum : Math.min(first.length, count.maximum ?? first.length);
  const maximum = others === false ? Math.min(count.maximum ?? first.length, first.length) : count.maximum;
  if (maximum !== undefined && maximum < minimum) {
    throw new GrammarError('there are fewer items than it demands', pointer, 'minItems');
  }
  refuseUnique(parts, maximum);

  const empty = `${json.open('[')} "]"`;
  if (maximum === 0) return empty;
  const filled = `${json.open('[')} ${itemList(first, others, minimum, maximum, json, rule)} ${json.close(']')}`;
  return minimum === 0 ? `(${empty} | ${filled})` : filled;
}

/** At least one item: from the last to the first, each with what may follow it. */
function itemList(
  first: readonly Conjunction[],
  others: Conjunction | false,
  minimum: number,
  maximum: number | undefined,
  json: JsonRules,
  rule: (items: Conjunction) => string,
): string {
  const listed = first.slice(0, maximum);
  let following = '';
  if (others !== false && (maximum === undefined || maximum > listed.length)) {
    const item = rule(others);
    const min = Math.max(0, minimum - listed.length);
    const max = maximum === undefined ? undefined : maximum - listed.length;
    if (listed.length === 0) {
      const more = json.rules.repeat(`(${json.comma} ${item})`, Math.max(0, min - 1), max && max - 1);
      return more === '""' ? item : `${item} ${more}`;
    }
    following = json.rules.repeat(`(${json.comma} ${item})`, min, max);
  }
  for (let index = listed.length - 1; index >= 0; index -= 1) {
    const separator = index === 0 ? '' : `${json.comma} `;
    const item = `${separator}${rule(listed[index] as Conjunction)}${following === '' ? '' : ` ${following}`}`;
    following = index === 0 || index < minimum ? item : `${json.rules.shared('rest', item)}?`;
  }
  return following;
}

/** The schemas of the first items of an array, and of all others; `false`: there are no others. */
function itemsOf(parts: readonly Part[]) {
  const each = parts.map(itemsOfPart);
  const longest = Math.max(...each.map(({ first }) => first.length));
  const restricting = each.filter(({ others }) => others !== undefined);
  const first = Array.from({ length: longest }, (_, index) =>
    each.flatMap((items) => items.first[index] ?? (items.others || [])),
  );
  const closedAt = Math.min(...restricting.filter(({ others }) => others === false).map((items) => items.first.length));
  const closed = restricting.some(({ others }) => others === false) || (restricting.length === 0 && longest > 0);
  const others: Conjunction | false = closed ? false : restricting.flatMap((items) => items.others || []);
  return { first: first.slice(0, closedAt), others };
}

/** Older schemas write the prefix as a list under `items` and the rest as `additionalItems`. */
function itemsOfPart(part: Part): { first: readonly Conjunction[]; others: Conjunction | false | undefined } {
  const { prefixItems, items, additionalItems, unevaluatedItems } = part.schema;
  if (unevaluatedItems !== undefined && typeof unevaluatedItems !== 'boolean') {
    throw new GrammarError('only true or false can be honoured', part.pointer, 'unevaluatedItems');
  }
  const older = Array.isArray(items);
  const [prefixKeyword, restKeyword] = older ? ['items', 'additionalItems'] : ['prefixItems', 'items'];
  const prefix = older ? items : (prefixItems ?? []);
  if (!Array.isArray(prefix) || prefix.length > limits.alternatives) {
    throw new GrammarError('there must be a list of schemas', part.pointer, prefixKeyword);
  }
  const first = prefix.map((schema, index) => [child(part, schema, prefixKeyword as string, index)]);
  const rest = older ? additionalItems : items;
  if (rest === false) return { first, others: false };
  const others =
    rest === undefined ? (unevaluatedItems === false ? false : undefined) : [child(part, rest, restKeyword as string)];
  return { first, others };
}

function refuseUnique(parts: readonly Part[], maximum: number | undefined): void {
  const part = parts.find(({ schema }) => schema.uniqueItems === true);
  if (part && (maximum === undefined || maximum > 1)) {
    throw new GrammarError('a grammar cannot keep items apart', part.pointer, 'uniqueItems');
  }
}
