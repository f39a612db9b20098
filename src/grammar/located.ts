import { GrammarError } from './error.ts';

export type Keywords = Readonly<Record<string, unknown>>;

/** A schema and where it stands. `key` names its meaning: parts of a schema have a key of their own. */
export interface Located {
  readonly schema: Keywords | boolean;
  readonly pointer: string;
  readonly key: string;
}

/** Schemas that all hold at once; none at all allows everything. */
export type Conjunction = readonly Located[];

export function locate(schema: unknown, pointer: string): Located {
  if (typeof schema !== 'boolean' && !isRecord(schema)) {
    throw new GrammarError('there must be an object or a boolean', pointer);
  }
  return { schema, pointer, key: pointer };
}

export function child(parent: { readonly pointer: string }, schema: unknown, ...path: (string | number)[]): Located {
  return locate(schema, [parent.pointer, ...path.map(escapeSegment)].join('/'));
}

export function isRecord(value: unknown): value is Keywords {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The schema that a reference within the same document points to. */
export function resolveReference(document: unknown, reference: unknown, from: Located): Located {
  const refuse = (reason: string) => new GrammarError(reason, from.pointer, '$ref');
  if (typeof reference !== 'string') throw refuse('the reference must be a string');
  const fragment =
    isRecord(document) && typeof document.$id === 'string' ? withoutBase(reference, document.$id) : reference;
  if (fragment !== '#' && !fragment.startsWith('#/'))
    throw refuse('only references within the schema (#/…) can be followed');
  let target: unknown = document;
  const segments = fragment.split('/').slice(1).map(unescapeSegment);
  for (const segment of segments) {
    const inside = typeof target === 'object' && target !== null && Object.hasOwn(target, segment);
    if (!inside) throw refuse(`${fragment} points to nothing`);
    target = (target as Record<string, unknown>)[segment];
  }
  return locate(target, ['#', ...segments.map(escapeSegment)].join('/'));
}

function withoutBase(reference: string, base: string): string {
  const bare = base.replace(/#$/, '');
  if (reference === bare) return '#';
  return bare !== '' && reference.startsWith(`${bare}#`) ? reference.slice(bare.length) : reference;
}

function escapeSegment(segment: string | number): string {
  return String(segment).replaceAll('~', '~0').replaceAll('/', '~1');
}

export function unescapeSegment(segment: string): string {
  let text = segment;
  try {
    text = decodeURIComponent(segment);
  } catch {
    // A bare percent sign is not valid in a URI, but people write it, and it can only mean itself.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}
