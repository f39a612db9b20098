import { GrammarError } from './error.ts';
import type { Part } from './expand.ts';
import type { JsonRules } from './json.ts';
import { limits } from './limits.ts';
import { type Conjunction, child } from './located.ts';
import { counts } from './shape.ts';

/** The demands on the items of an array: the first ones each on its own, the others alike; `false`: no others. */
interface Items {
  readonly first: readonly Conjunction[];
  readonly others: Conjunction | false;
}

/**
 * An array. With `prefixItems` and no `minItems` the whole prefix is written, and nothing behind it unless `items` says
 * what: a tuple is what such schemas mean.
 */
export function arrayBody(parts: readonly Part[], json: JsonRules, rule: (items: Conjunction) => string): string {
  const place = parts[0] as Part;
  const { first, others } = itemsOf(parts);
  const asked = counts(parts, 'minItems', 'maxItems');
  const saysLeast = parts.some(({ schema }) => schema.minItems !== undefined);
  const minimum = saysLeast ? asked.minimum : Math.min(first.length, asked.maximum ?? first.length);
  const maximum = others === false ? Math.min(asked.maximum ?? first.length, first.length) : asked.maximum;
  if (maximum !== undefined && maximum < minimum) {
    throw new GrammarError('there are fewer items than it demands', place.pointer, 'minItems');
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
    const least = Math.max(0, minimum - listed.length);
    const most = maximum === undefined ? undefined : maximum - listed.length;
    if (listed.length === 0) {
      const more = json.rules.repeat(`(${json.comma()} ${item})`, Math.max(0, least - 1), most && most - 1);
      return more === '""' ? item : `${item} ${more}`;
    }
    following = json.rules.repeat(`(${json.comma()} ${item})`, least, most);
  }
  for (let index = listed.length - 1; index >= 0; index -= 1) {
    const separator = index === 0 ? '' : `${json.comma()} `;
    const item = `${separator}${rule(listed[index] as Conjunction)}${following === '' ? '' : ` ${following}`}`;
    following = index === 0 || index < minimum ? item : `${json.rules.shared('rest', item)}?`;
  }
  return following;
}

function itemsOf(parts: readonly Part[]): Items {
  const each = parts.map(itemsOfPart);
  const longest = Math.max(...each.map(({ first }) => first.length));
  const given = each.filter(({ others }) => others !== undefined);
  const first = Array.from({ length: longest }, (_, index) =>
    each.flatMap((items) => items.first[index] ?? (items.others || [])),
  );
  const closedAt = Math.min(...given.filter(({ others }) => others === false).map((items) => items.first.length));
  const closed = given.some(({ others }) => others === false) || (given.length === 0 && longest > 0);
  return { first: first.slice(0, closedAt), others: closed ? false : given.flatMap(({ others }) => others || []) };
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
