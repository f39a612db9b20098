/**
 * Three-way merge of records: `base` is the last state that both sides know. What only one side changed is taken from it;
 * objects are merged by field, lists of strings or of objects with an id by item, long texts by range. If both sides changed
 * the same value, `mine` wins; an object with an id that one side deleted and the other changed is kept.
 *
 * Parts that are equal stay the same objects as in `mine`, so that the page renders only what is new.
 */
export function merge<Value>(base: Value | undefined, mine: Value, theirs: Value): Value {
  return merged(base, mine, theirs, '') as Value;
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields with text that people write at length; changes of different ranges are both kept. */
const texts = new Set(['text', 'memory', 'content', 'system', 'description', 'personality', 'scenario', 'examples']);

function merged(base: unknown, mine: unknown, theirs: unknown, field: string): unknown {
  if (isSame(mine, theirs)) return mine;
  if (isSame(mine, base)) return theirs;
  if (isSame(theirs, base)) return mine;
  if (isFields(mine) && isFields(theirs)) return mergedFields(isFields(base) ? base : {}, mine, theirs);
  if (isKeyed(mine) && isKeyed(theirs)) return mergedLists(isKeyed(base) ? base : [], mine, theirs);
  if (texts.has(field) && typeof base === 'string' && typeof mine === 'string' && typeof theirs === 'string')
    return mergedTexts(base, mine, theirs) ?? mine;
  return mine === undefined && idOf(theirs) !== undefined ? theirs : mine;
}

function mergedFields(base: Fields, mine: Fields, theirs: Fields): Fields {
  const result: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
    const value = merged(base[name], mine[name], theirs[name], name);
    if (value !== undefined) result[name] = value;
  }
  return result;
}

/** A string, or an object with an id. */
type Item = string | { readonly id: string };
const keyOf = (item: Item): string => (typeof item === 'string' ? item : item.id);

/** Added items come after the item that was before them; those of `theirs` first. */
function mergedLists(base: readonly Item[], mine: readonly Item[], theirs: readonly Item[]): readonly Item[] {
  const [before, own, other] = [base, mine, theirs].map((list) => new Map(list.map((item) => [keyOf(item), item])));
  if (!before || !own || !other) return mine;
  const items = new Map<string, Item>();
  for (const key of new Set([...other.keys(), ...own.keys()])) {
    const item = merged(before.get(key), own.get(key), other.get(key), '') as Item | undefined;
    if (item !== undefined) items.set(key, item);
  }
  // The side that changed the order of the known items decides about it.
  const common = (list: readonly Item[]): string[] =>
    list.map(keyOf).filter((key) => before.has(key) && items.has(key));
  const reordered = !isSame(
    common(mine),
    common(base).filter((key) => own.has(key)),
  );
  const [first, second] = reordered ? [mine, theirs] : [theirs, mine];
  const keys = first.map(keyOf).filter((key) => items.has(key));
  let at = 0;
  for (const key of second.map(keyOf)) {
    if (!items.has(key)) continue;
    const index = keys.indexOf(key);
    if (index !== -1) {
      at = index + 1;
      continue;
    }
    while (at < keys.length && !before.has(keys[at] ?? '')) at += 1;
    keys.splice(at, 0, key);
    at += 1;
  }
  return keys.flatMap((key) => items.get(key) ?? []);
}

/** Both changes, if they are in different ranges. */
function mergedTexts(base: string, mine: string, theirs: string): string | undefined {
  const [one, other] = [changedRange(base, mine), changedRange(base, theirs)];
  const [first, second] = one.start <= other.start ? [one, other] : [other, one];
  if (first.end > second.start || first.start === second.start) return undefined;
  return (
    base.slice(0, first.start) + first.text + base.slice(first.end, second.start) + second.text + base.slice(second.end)
  );
}

function changedRange(base: string, now: string): { start: number; end: number; text: string } {
  const shorter = Math.min(base.length, now.length);
  let start = 0;
  while (start < shorter && base[start] === now[start]) start += 1;
  let tail = 0;
  while (tail < shorter - start && base[base.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  return { start, end: base.length - tail, text: now.slice(start, now.length - tail) };
}

/** Deep equality of stored data. Blobs are equal if their size and type are: the database returns copies. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (one === null || other === null || typeof one !== 'object' || typeof other !== 'object')
    return Number.isNaN(one) && Number.isNaN(other);
  if (one instanceof Blob || other instanceof Blob)
    return one instanceof Blob && other instanceof Blob && one.size === other.size && one.type === other.type;
  if (Array.isArray(one) || Array.isArray(other))
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSame(item, other[index]))
    );
  if (!isFields(one) || !isFields(other)) return false;
  for (const name in one) if (!isSame(one[name], other[name])) return false;
  for (const name in other) if (other[name] !== undefined && one[name] === undefined) return false;
  return true;
}

/** `next`, with the objects of `old` where they are equal. */
export function withSharedParts<Value>(old: unknown, next: Value): Value {
  if (isSame(old, next)) return old as Value;
  if (Array.isArray(next)) {
    const known = new Map(Array.isArray(old) ? old.map((item, index) => [idOf(item) ?? index, item]) : []);
    return next.map((item, index) => withSharedParts(known.get(idOf(item) ?? index), item)) as Value;
  }
  if (!isFields(old) || !isFields(next)) return next;
  return Object.fromEntries(
    Object.entries(next).map(([name, value]) => [name, withSharedParts(old[name], value)]),
  ) as Value;
}

function isFields(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isKeyed(value: unknown): value is readonly Item[] {
  return (
    Array.isArray(value) &&
    value.every((item) => typeof item === 'string' || idOf(item) !== undefined) &&
    new Set(value.map(keyOf)).size === value.length
  );
}

function idOf(value: unknown): string | undefined {
  return isFields(value) && typeof value.id === 'string' ? value.id : undefined;
}

/** A record in parts that are stored apart, so that a change writes only what changed. */
export type Parts = Readonly<Record<string, unknown>>;

/** How the records of a collection are stored and merged. */
export interface Shape<Kept> {
  /** The part `head` has everything that is not in other parts. Unchanged parts must stay the same objects. */
  readonly split: (record: Kept) => Parts;
  readonly join: (parts: Parts) => Kept;
  /** See `merge`; without a base, `mine` is the newer one. */
  readonly merge: (base: Kept | undefined, mine: Kept, theirs: Kept) => Kept;
}

/** Name of the part with the other fields; ids have no dots. */
export const head = '.head';

/** Stored as a whole, merged by field. */
export function plainShape<Kept>(): Shape<Kept> {
  return {
    split: (record) => ({ [head]: record }),
    join: (parts) => parts[head] as Kept,
    merge,
  };
}

/** The parts that were changed or added, and those that were removed. */
export interface Patch {
  readonly set: Parts;
  readonly gone: readonly string[];
}

export function patchOf(before: Parts, after: Parts): Patch {
  const set: Record<string, unknown> = {};
  for (const name in after) if (!isSame(before[name], after[name])) set[name] = after[name];
  return { set, gone: Object.keys(before).filter((name) => after[name] === undefined) };
}

export function patched(parts: Parts, { set, gone }: Patch): Parts {
  const next: Record<string, unknown> = { ...parts, ...set };
  for (const name of gone) delete next[name];
  return next;
}

export function patchSize({ set, gone }: Patch): number {
  return Object.keys(set).length + gone.length;
}
