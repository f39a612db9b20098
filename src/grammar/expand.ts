import { GrammarError } from './error.ts';
import { asserts, opened, refusedKeyword } from './keywords.ts';
import { limits } from './limits.ts';
import {
  type Conjunction,
  child,
  isRecord,
  type Keywords,
  type Located,
  resolveReference,
  unescapeSegment,
} from './located.ts';

/** A located schema that is an object. */
export interface Part extends Located {
  readonly schema: Keywords;
}

/**
 * The conjunction with references followed and `allOf` taken apart, without what says nothing. Equal demands come out as
 * equal lists whichever way they were written, so their keys together name a rule. What cannot be kept is handed to
 * `giveUp`, and left out where that returns.
 */
export function expand(document: unknown, conjunction: Conjunction, giveUp: (error: GrammarError) => void): Part[] {
  const parts = new Map<string, Part>();
  const waiting = [...conjunction];
  const followed = new Set<string>();
  for (let place = waiting.shift(); place !== undefined; place = waiting.shift()) {
    if (!asserts(place) || parts.has(place.key) || followed.has(place.key)) continue;
    if (parts.size + waiting.length > limits.alternatives) {
      throw new GrammarError('too many schemas are combined', place.pointer);
    }
    if (!isPart(place)) {
      giveUp(new GrammarError('false allows no value', place.pointer));
      continue;
    }
    const keyword = refusedKeyword(place.schema);
    if (keyword !== undefined) {
      giveUp(new GrammarError('a grammar cannot express this keyword', place.pointer, keyword));
      waiting.unshift(without({ ...place, schema: opened(place.schema, keyword) }, keyword));
      continue;
    }
    const { $ref: reference, allOf } = place.schema;
    if (reference === undefined && allOf === undefined) {
      parts.set(place.key, place);
      continue;
    }
    followed.add(place.key);
    const inside = reference === undefined ? [] : referred(document, reference, place, giveUp);
    if (allOf !== undefined) inside.push(...branches(place, 'allOf'));
    // In place of the schema they stood in, so that properties keep the order in which a reader meets them.
    waiting.unshift(...inside, without(place, '$ref', 'allOf'));
  }
  return [...parts.values()];
}

function referred(
  document: unknown,
  reference: unknown,
  place: Part,
  giveUp: (error: GrammarError) => void,
): Located[] {
  try {
    return [resolveReference(document, reference, place)];
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error;
    giveUp(error);
    return [];
  }
}

/**
 * The alternatives of the first `anyOf` or `oneOf` among the parts, each joined with everything else; undefined when
 * there is no choice. `oneOf` counts as `anyOf`: that only one branch fits cannot be told while writing.
 */
export function alternatives(parts: readonly Part[]): Conjunction[] | undefined {
  for (const keyword of ['anyOf', 'oneOf'] as const) {
    const part = parts.find(({ schema }) => schema[keyword] !== undefined);
    if (!part) continue;
    const rest = parts.map((other) => (other === part ? without(part, keyword) : other));
    const options = branches(part, keyword).filter(({ schema }) => schema !== false);
    if (options.length === 0) throw new GrammarError('no alternative allows a value', part.pointer, keyword);
    return options.map((branch) => [...rest, branch]);
  }
  return undefined;
}

function branches(part: Part, keyword: 'allOf' | 'anyOf' | 'oneOf'): Located[] {
  const list = part.schema[keyword];
  if (!Array.isArray(list) || list.length === 0) {
    throw new GrammarError('there must be a list of schemas', part.pointer, keyword);
  }
  if (list.length > limits.alternatives) {
    throw new GrammarError(`there are more than ${limits.alternatives} schemas`, part.pointer, keyword);
  }
  return list.map((schema, index) => child(part, schema, keyword, index));
}

export function without(part: Part, ...keywords: string[]): Part {
  const schema = Object.fromEntries(Object.entries(part.schema).filter(([keyword]) => !keywords.includes(keyword)));
  return { ...part, schema, key: `${part.key} without ${keywords.join(' ')}` };
}

/** The part with another value at a place inside it; undefined where there is none. */
export function replaced(part: Part, path: string, value: unknown): Part | undefined {
  const put = (target: unknown, [segment, ...rest]: readonly string[]): unknown => {
    if (segment === undefined) return value;
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, segment)) return undefined;
    const inner = put((target as Record<string, unknown>)[segment], rest);
    if (inner === undefined) return undefined;
    return Array.isArray(target)
      ? target.map((one, index) => (String(index) === segment ? inner : one))
      : { ...target, [segment]: inner };
  };
  const schema = put(part.schema, path.split('/').map(unescapeSegment));
  return isRecord(schema) ? { ...part, schema, key: `${part.key} but ${path}` } : undefined;
}

function isPart(place: Located): place is Part {
  return isRecord(place.schema);
}
