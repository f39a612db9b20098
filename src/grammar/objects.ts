import { isObject } from '../core/json.ts';
import { complement, single, union } from '../patterns/characters.ts';
import { type JsonRules, jsonLiteral, type Rules } from './gbnf.ts';
import { type Conjunction, child, GrammarError, GrammarLimitError, limits, type Part, shortened } from './schema.ts';
import { type Counts, counts } from './shape.ts';
import { inner, insideString } from './strings.ts';

type Properties = ReturnType<typeof propertiesOf>;

/** An object: listed properties in order, then others. A schema that lists properties and does not mention others has none. */
export function objectBody(parts: readonly Part[], json: JsonRules, rule: (value: Conjunction) => string): string {
  const part = parts[0] as Part;
  const properties = propertiesOf(parts, json.rules);
  const count = counts(parts, 'minProperties', 'maxProperties');
  const names = [...properties.listed.keys()];
  checkPropertyNames(parts, names);
  const member = (name: string) =>
    `${jsonLiteral(name)} ${json.colon} ${rule(properties.listed.get(name) as Conjunction)}`;
  const key = properties.others === false ? '' : keyOf(parts, names, json, rule);
  const other = properties.others === false ? undefined : `${key} ${json.colon} ${rule(properties.others)}`;
  const empty = `${json.open('{')} "}"`;
  const isFree = count.minimum === 0 && count.maximum === undefined;

  if (names.length === 0) {
    if (other === undefined || count.maximum === 0) {
      if (count.minimum > 0) throw new GrammarError('there are no properties to write', part.pointer, 'minProperties');
      return empty;
    }
    if (key === json.string() && properties.others !== false && properties.others.length === 0 && isFree) {
      return json.object();
    }
    const more = json.rules.repeat(
      `(${json.comma} ${other})`,
      Math.max(0, count.minimum - 1),
      count.maximum && count.maximum - 1,
    );
    const filled = `${json.open('{')} ${other} ${more} ${json.close('}')}`;
    return count.minimum === 0 ? `(${empty} | ${filled})` : filled;
  }
  requireImplied(part, count, properties);
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
function propertiesOf(parts: readonly Part[], rules: Rules) {
  const each = parts.map((part) => ({ part, ...propertiesOfPart(part, rules) }));
  const required = new Set(each.flatMap((one) => one.required));
  const mentioned = each.some(({ others }) => others !== undefined);
  const lists = each.some(({ listed }) => listed.size > 0);
  const unevaluated = parts.some(({ schema }) => schema.unevaluatedProperties === false);
  const closed = each.some(({ others }) => others === false) || (!mentioned && (lists || unevaluated));
  const listed = new Map<string, Conjunction>();
  const names = new Set([...each.flatMap((one) => [...one.listed.keys()]), ...required]);
  const listing = new Map<string, typeof each>();
  for (const one of each) for (const name of one.listed.keys()) listing.set(name, [...(listing.get(name) ?? []), one]);
  rules.spend(mentioned ? names.size * parts.length : names.size);
  for (const name of names) {
    const demanding = mentioned ? each : (listing.get(name) ?? []);
    const demands = demanding.map((one) => one.listed.get(name) ?? (one.others === undefined ? [] : one.others));
    const forbidden = demands.some((demand) => demand === false || demand.some(({ schema }) => schema === false));
    if (!forbidden) listed.set(name, (demands as Conjunction[]).flat());
    else if (required.has(name)) {
      const { part } = each.find((one) => one.required.includes(name)) as { part: Part };
      throw new GrammarError(
        `${shortened(JSON.stringify(name))} is required but not allowed`,
        part.pointer,
        'required',
      );
    }
  }
  const others: Conjunction | false = closed ? false : each.flatMap((one) => one.others || []);
  return { listed, required, others };
}

function propertiesOfPart(
  part: Part,
  rules: Rules,
): {
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
  checkSize(part, Object.keys(properties), rules);
  checkSize(part, required, rules);
  const listed = new Map(
    Object.entries(properties).map(([name, schema]) => [name, [child(part, schema, 'properties', name)]]),
  );
  if (additionalProperties === undefined || additionalProperties === false) {
    return { listed, required, others: additionalProperties };
  }
  return { listed, required, others: [child(part, additionalProperties, 'additionalProperties')] };
}

/** What a property costs, compared with a character of the grammar. */
const propertyWork = 40;

function checkSize({ pointer }: Part, names: readonly string[], rules: Rules): void {
  if (names.length > limits.rules) {
    throw new GrammarLimitError(`there are more than ${limits.rules} properties`, pointer);
  }
  const characters = names.reduce((sum, name) => sum + name.length, 0);
  if (characters > limits.names) {
    throw new GrammarLimitError(`the property names have more than ${limits.names} characters together`, pointer);
  }
  rules.spend(characters + names.length * propertyWork);
}

/** A key that is not listed. */
function keyOf(parts: readonly Part[], names: readonly string[], json: JsonRules, rule: (key: Conjunction) => string) {
  const first = parts[0] as Part;
  const demanding = parts.filter(demandsNames);
  const [part] = demanding;
  if (!part) return names.length === 0 ? json.string() : otherKey(names, first, json.rules);
  const isString = child(part, { type: 'string' }, 'propertyNames', 'type');
  return rule([...demanding.map((one) => child(one, one.schema.propertyNames, 'propertyNames')), isString]);
}

function demandsNames({ schema }: Part): boolean {
  return schema.propertyNames !== undefined && schema.propertyNames !== true;
}

function checkPropertyNames(parts: readonly Part[], names: readonly string[]): void {
  const part = parts.find(demandsNames);
  if (part && names.length > 0) {
    throw new GrammarError('it cannot be combined with listed properties', part.pointer, 'propertyNames');
  }
}

/** A grammar of reasonable size cannot count optional properties. */
function requireImplied({ pointer }: Part, count: Counts, { listed, required, others }: Properties): void {
  if (count.minimum > required.size) {
    throw new GrammarError('more properties than the required ones cannot be demanded', pointer, 'minProperties');
  }
  if (count.maximum !== undefined && (others !== false || count.maximum < listed.size)) {
    throw new GrammarError('fewer properties than the listed ones cannot be demanded', pointer, 'maxProperties');
  }
}

/** A node of the prefix tree of names. */
interface NameNode {
  readonly next: Map<string, NameNode>;
  isName: boolean;
}

/** A key that is none of `taken`. Each character has one spelling, so that escapes cannot evade it. */
function otherKey(taken: readonly string[], part: Part, rules: Rules): string {
  const anyCharacter = rules.shared('key-character', insideString(complement([])) as string);
  const end = rules.shared('key-end', `${anyCharacter}* "\\""`);
  const named = new Map<NameNode, string>();
  // A node is listed before those below it.
  for (const node of nameTree(taken, part).reverse()) {
    const { next, isName } = node;
    const options = [...next].map(([character, below]) => `${inner(character)} ${named.get(below)}`);
    const otherwise = rules.cached(`not ${[...next.keys()].join('')}`, () => {
      const set = insideString(complement(union(...[...next.keys()].map(single))));
      return set === undefined ? '' : rules.shared('class', set);
    });
    if (otherwise !== '') options.push(`${otherwise} ${end}`);
    if (!isName) options.push('"\\""');
    named.set(node, rules.shared('other-key', options.join(' | ')));
  }
  return `"\\"" ${[...named.values()].at(-1)}`;
}

/** All nodes, the root first. Each becomes a rule. */
function nameTree(names: readonly string[], { pointer }: Part): NameNode[] {
  const root: NameNode = { next: new Map(), isName: false };
  const nodes = [root];
  for (const name of names) {
    let node = root;
    for (const character of name) {
      let below = node.next.get(character);
      if (!below) {
        below = { next: new Map(), isName: false };
        node.next.set(character, below);
        if (nodes.push(below) > limits.rules) {
          const reason = `to tell additional properties from the listed names takes more than ${limits.rules} rules`;
          throw new GrammarLimitError(reason, pointer);
        }
      }
      node = below;
    }
    node.isName = true;
  }
  return nodes;
}
