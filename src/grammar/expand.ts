import { GrammarError, GrammarLimitError, limits } from './limits.ts';
import {
  asserts,
  type Conjunction,
  child,
  impliedTypes,
  isRecord,
  type Keywords,
  type Located,
  opened,
  refusedKeyword,
  resolveReference,
  unescapeSegment,
} from './schema.ts';

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

/** What becomes of a demand that no grammar can keep: `strict` refuses the schema, `loose` notes it and goes on without. */
export type GrammarMode = 'strict' | 'loose';

/** A demand of a schema that its grammar does not keep. */
export interface Loosened {
  readonly pointer: string;
  /** Undefined where a whole part of the schema became anything. */
  readonly keyword: string | undefined;
}

/** Called with a demand that cannot be kept: returns where it may be left out, and throws it where it may not. */
export type GiveUp = (error: GrammarError, at?: string) => void;

export const refuse: GiveUp = (error) => {
  throw error;
};

/** Far more than anybody reads; a hostile schema could give as many as it has parts. */
const mostNotes = 100;

/** Notes each demand once, in the order in which they were given up. */
export function noting(): { readonly giveUp: GiveUp; readonly notes: () => readonly Loosened[] } {
  const notes = new Map<string, Loosened>();
  return {
    giveUp: (error, at) => {
      if (notes.size >= mostNotes) return;
      const { keyword } = error;
      const pointer = error instanceof GrammarLimitError ? (at ?? error.pointer) : error.pointer;
      notes.set(`${pointer} ${keyword ?? ''}`, { pointer, keyword });
    },
    notes: () => [...notes.values()],
  };
}

/** The parts without what the error complains of; undefined where that is not a single keyword or place of theirs. */
export function withoutDemand(parts: readonly Part[], error: GrammarError): readonly Part[] | undefined {
  if (error instanceof GrammarLimitError) return undefined;
  const { keyword, pointer } = error;
  if (keyword === undefined) return withoutPlace(parts, pointer);
  const having = parts.filter(({ schema }) => Object.hasOwn(schema, keyword));
  if (having.length === 0) return undefined;
  // What several parts ask for together is told of the first of them, whichever has the keyword.
  const blamed = having.filter((part) => part.pointer === pointer);
  const changed = new Set(blamed.length > 0 ? blamed : having);
  return parts.map((part) => (changed.has(part) ? without(typed(part), keyword) : part));
}

/** With the type that its keywords stand for, which would be lost with them. */
function typed(part: Part): Part {
  const types = part.schema.type === undefined ? impliedTypes(part.schema) : [];
  return types.length === 0 ? part : { ...part, schema: { ...part.schema, type: types } };
}

/** A schema inside one of the parts that is none becomes one that allows everything. */
function withoutPlace(parts: readonly Part[], pointer: string): readonly Part[] | undefined {
  const around = parts.find((part) => pointer.startsWith(`${part.pointer}/`));
  const changed = around && replaced(around, pointer.slice(around.pointer.length + 1), true);
  return changed && parts.map((part) => (part === around ? changed : part));
}
