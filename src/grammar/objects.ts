import { isObject } from '../core/json.ts';
import { complement, single, union } from '../patterns/characters.ts';
import { type JsonRules, jsonLiteral, type Rules } from './gbnf.ts';
import { type Conjunction, child, GrammarError, type Part } from './schema.ts';
import { type Counts, counts } from './shape.ts';
import { inner, insideString } from './strings.ts';

type Properties = ReturnType<typeof propertiesOf>;

/** An object: listed properties in order, then others. A schema that lists properties and does not mention others has none. */
export function objectBody(parts: readonly Part[], json: JsonRules, rule: (value: Conjunction) => string): string {
  const place = parts[0] as Part;
  const properties = propertiesOf(parts);
  const asked = counts(parts, 'minProperties', 'maxProperties');
  const names = [...properties.listed.keys()];
  checkToolNames(parts, names);
  const member = (name: string) =>
    `${jsonLiteral(name)} ${json.colon} ${rule(properties.listed.get(name) as Conjunction)}`;
  const key = properties.others === false ? '' : keyOf(parts, names, json, rule);
  const other = properties.others === false ? undefined : `${key} ${json.colon} ${rule(properties.others)}`;
  const empty = `${json.open('{')} "}"`;
  const isFree = asked.minimum === 0 && asked.maximum === undefined;

  if (names.length === 0) {
    if (other === undefined || asked.maximum === 0) {
      if (asked.minimum > 0) throw new GrammarError('there are no properties to write', place.pointer, 'minProperties');
      return empty;
    }
    if (key === json.string() && properties.others !== false && properties.others.length === 0 && isFree) {
      return json.object();
    }
    const more = json.rules.repeat(
      `(${json.comma} ${other})`,
      Math.max(0, asked.minimum - 1),
      asked.maximum && asked.maximum - 1,
    );
    const filled = `${json.open('{')} ${other} ${more} ${json.close('}')}`;
    return asked.minimum === 0 ? `(${empty} | ${filled})` : filled;
  }
  requireImplied(place, asked, properties);
  const others = other === undefined ? undefined : json.rules.shared('others', other);
  return memberList(
    names.map((name) => ({ text: member(name), optional: !properties.required.has(name) })),
    others,
    json,
  );
}

/** Two chains of rules: before and after the first property, which needs no comma. So each optional property costs two rules. */
function memberList(
  members: readonly { text: string; optional: boolean }[],
  others: string | undefined,
  json: JsonRules,
): string {
  const comma = json.comma;
  let after = others === undefined ? '' : `(${comma} ${others})*`;
  let before = others === undefined ? undefined : `${others} ${after}`;
  for (const [index, { text, optional }] of [...members.entries()].reverse()) {
    const written = json.rules.shared('member', text);
    const tail = after === '' ? '' : ` ${after}`;
    before = optional && before !== undefined ? `(${written}${tail} | ${before})` : `${written}${tail}`;
    after = optional
      ? tail === ''
        ? `(${comma} ${written})?`
        : `(${comma} ${written})? ${after}`
      : `${comma} ${written}${tail}`;
    // As rules, so that the size is not quadratic in the number of optional properties.
    if (index > 0) {
      before = nested(before, 'first', json);
      after = nested(after, 'next', json);
    }
  }
  const filled = `${before} ${json.blank}`;
  return `${json.open('{')} ${members.every(({ optional }) => optional) ? `(${filled})?` : filled} "}"`;
}

function nested(body: string, hint: string, json: JsonRules): string {
  return body.length > 40 ? json.rules.shared(hint, body) : body;
}

/** `others` are the schemas of properties that are not listed; `false`: there are none. */
function propertiesOf(parts: readonly Part[]) {
  const each = parts.map((part) => ({ part, ...propertiesOfPart(part) }));
  const required = new Set(each.flatMap((one) => one.required));
  const mentioned = each.some(({ others }) => others !== undefined);
  const lists = each.some(({ listed }) => listed.size > 0);
  const unevaluated = parts.some(({ schema }) => schema.unevaluatedProperties === false);
  const closed = each.some(({ others }) => others === false) || (!mentioned && (lists || unevaluated));
  const listed = new Map<string, Conjunction>();
  for (const name of new Set([...each.flatMap((one) => [...one.listed.keys()]), ...required])) {
    const demands = each.map((one) => one.listed.get(name) ?? (one.others === undefined ? [] : one.others));
    const forbidden = demands.some((demand) => demand === false || demand.some(({ schema }) => schema === false));
    if (!forbidden) listed.set(name, (demands as Conjunction[]).flat());
    else if (required.has(name)) {
      const { part } = each.find((one) => one.required.includes(name)) as { part: Part };
      throw new GrammarError(`${JSON.stringify(name)} is required but not allowed`, part.pointer, 'required');
    }
  }
  const others: Conjunction | false = closed ? false : each.flatMap((one) => one.others || []);
  return { listed, required, others };
}

function propertiesOfPart(part: Part): {
  listed: ReadonlyMap<string, Conjunction>;
  required: readonly string[];
  others: Conjunction | false | undefined;
} {
  const { properties = {}, required = [], additionalProperties, unevaluatedProperties } = part.schema;
  if (!isObject(properties)) throw new GrammarError('there must be an object of schemas', part.pointer, 'properties');
  if (!Array.isArray(required) || required.some((name) => typeof name !== 'string')) {
    throw new GrammarError('there must be a list of names', part.pointer, 'required');
  }
  if (unevaluatedProperties !== undefined && typeof unevaluatedProperties !== 'boolean') {
    throw new GrammarError('only true or false can be honoured', part.pointer, 'unevaluatedProperties');
  }
  const listed = new Map(
    Object.entries(properties).map(([name, schema]) => [name, [child(part, schema, 'properties', name)]]),
  );
  if (additionalProperties === undefined || additionalProperties === false) {
    return { listed, required, others: additionalProperties };
  }
  return { listed, required, others: [child(part, additionalProperties, 'additionalProperties')] };
}

/** A key that is not listed. */
function keyOf(parts: readonly Part[], names: readonly string[], json: JsonRules, rule: (key: Conjunction) => string) {
  const demanding = parts.filter(demandsNames);
  const [part] = demanding;
  if (!part) return names.length === 0 ? json.string() : otherKey(names, json.rules);
  const isString = child(part, { type: 'string' }, 'propertyNames', 'type');
  return rule([...demanding.map((one) => child(one, one.schema.propertyNames, 'propertyNames')), isString]);
}

function demandsNames({ schema }: Part): boolean {
  return schema.propertyNames !== undefined && schema.propertyNames !== true;
}

function checkToolNames(parts: readonly Part[], names: readonly string[]): void {
  const part = parts.find(demandsNames);
  if (part && names.length > 0) {
    throw new GrammarError('it cannot be combined with listed properties', part.pointer, 'propertyNames');
  }
}

/** A grammar of reasonable size cannot count optional properties. */
function requireImplied(place: Part, asked: Counts, { listed, required, others }: Properties): void {
  if (asked.minimum > required.size) {
    throw new GrammarError('more properties than the required ones cannot be demanded', place.pointer, 'minProperties');
  }
  if (asked.maximum !== undefined && (others !== false || asked.maximum < listed.size)) {
    throw new GrammarError('fewer properties than the listed ones cannot be demanded', place.pointer, 'maxProperties');
  }
}

/** A key, without the opening quote, that is none of `taken`. Each character has one spelling, so that escapes cannot evade it. */
function otherKey(taken: readonly string[], rules: Rules): string {
  const anyCharacter = rules.shared('key-character', insideString(complement([])) as string);
  const names = taken.map((name) => [...name]);
  return `"\\"" ${unlike(names, anyCharacter, rules)}`;
}

function unlike(names: readonly (readonly string[])[], anyCharacter: string, rules: Rules): string {
  const byFirst = new Map<string, (readonly string[])[]>();
  for (const [first, ...rest] of names) {
    if (first !== undefined) byFirst.set(first, [...(byFirst.get(first) ?? []), rest]);
  }
  const options = [...byFirst].map(([first, rests]) => `${inner(first)} ${unlike(rests, anyCharacter, rules)}`);
  const otherwise = insideString(complement(union(...[...byFirst.keys()].map(single))));
  if (otherwise !== undefined) options.push(`${otherwise} ${anyCharacter}* "\\""`);
  if (!names.some((name) => name.length === 0)) options.push('"\\""');
  return rules.shared('other-key', options.join(' | '));
}
