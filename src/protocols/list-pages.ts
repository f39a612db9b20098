import * as f from './fields.ts';

/** A number of a query. */
export function queryCount(max: number, fallback: number): f.Read<number> {
  return f.described({ type: 'integer', minimum: 1, maximum: max, default: fallback }, (value, path) => {
    const count = f.orElse(f.looseWhole, fallback)(value, path);
    if (count < 1 || count > max) throw f.wrong(path, `a whole number from 1 to ${max}`);
    return count;
  });
}

interface Listed {
  readonly id: string;
}

interface PageOptions {
  readonly limit: number;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

/**
 * A page of a list that is in the order of the ids, in either direction. It begins after an id, whether or not that entry is still
 * there, so that a list that changes is read without gaps.
 */
export function pageOf<Entry extends Listed>(entries: readonly Entry[], { limit, after, before }: PageOptions) {
  const [first, last] = [entries[0]?.id ?? '', entries.at(-1)?.id ?? ''];
  const sign = first <= last ? 1 : -1;
  const isAfter = (id: string, mark: string): boolean => (id > mark ? sign : id < mark ? -sign : 0) > 0;
  const rest = after === undefined ? entries : entries.filter(({ id }) => isAfter(id, after));
  const earlier = before === undefined ? rest : rest.filter(({ id }) => isAfter(before, id));
  const data = before === undefined ? earlier.slice(0, limit) : earlier.slice(-limit);
  return { data, hasMore: earlier.length > data.length };
}

/**
 * A page of a list in any order, between two of its entries. Ids that are not in it are refused. Without `after`, it is the page that
 * ends before the other entry.
 */
export function pageBetween<Entry extends Listed>(
  entries: readonly Entry[],
  { limit, after, before }: PageOptions,
  what = 'an item of this list',
) {
  const indexOf = (id: string, field: string): number => {
    const index = entries.findIndex((entry) => entry.id === id);
    if (index === -1) throw f.wrong(field, `the id of ${what}`);
    return index;
  };
  const start = after === undefined ? 0 : indexOf(after, 'after') + 1;
  const end = before === undefined ? entries.length : indexOf(before, 'before');
  const endsBefore = before !== undefined && after === undefined;
  const first = endsBefore ? Math.max(start, end - limit) : start;
  const data = entries.slice(first, Math.min(end, first + limit));
  return { data, hasMore: endsBefore ? first > 0 : first + limit < end };
}

/** A page in the form of the OpenAI APIs. */
export function listObject({ data, hasMore }: { readonly data: readonly Listed[]; readonly hasMore: boolean }) {
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}
