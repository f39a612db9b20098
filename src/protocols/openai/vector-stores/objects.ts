import type { Chunking, Collection, CollectionFile, DocumentHit, IndexCounts } from '../../../core/documents.ts';
import { passageAttributes } from '../../documents/library.ts';
import type { Fields } from '../../fields.ts';
import { wrong } from '../../fields.ts';
import type { pageFields } from './fields.ts';

const secondsPerDay = 86_400;

export function storeObject(collection: Collection): object {
  const { id, createdAt, lastActiveAt, name, description, bytes, files, expiresAfterDays: days, metadata } = collection;
  return {
    id,
    object: 'vector_store',
    created_at: createdAt,
    name,
    description: description === '' ? null : description,
    usage_bytes: bytes,
    file_counts: countsObject(files),
    status: files.inProgress > 0 ? 'in_progress' : 'completed',
    expires_after: days === undefined ? null : { anchor: 'last_active_at', days },
    expires_at: days === undefined ? null : lastActiveAt + days * secondsPerDay,
    last_active_at: lastActiveAt,
    metadata,
  };
}

export function countsObject({ inProgress, completed, failed, cancelled, total }: IndexCounts): object {
  return { in_progress: inProgress, completed, failed, cancelled, total };
}

export function fileObject(store: string, file: CollectionFile): object {
  const { id, bytes, createdAt, status, error, attributes, chunking } = file;
  return {
    id,
    object: 'vector_store.file',
    created_at: createdAt,
    usage_bytes: bytes,
    vector_store_id: store,
    status,
    last_error: error ?? null,
    attributes,
    chunking_strategy: chunkingObject(chunking),
  };
}

function chunkingObject(chunking: Chunking): object {
  if (chunking.type === 'structure') return { type: 'other' };
  const { maxTokens, overlapTokens } = chunking;
  return { type: 'static', static: { max_chunk_size_tokens: maxTokens, chunk_overlap_tokens: overlapTokens } };
}

export function resultObject({ passage, score }: DocumentHit): object {
  const { file, name, text } = passage;
  return {
    file_id: file,
    filename: name,
    score,
    attributes: passageAttributes(passage),
    content: [{ type: 'text', text }],
  };
}

interface Listed {
  readonly id: string;
  readonly createdAt: number;
}

/** One page of a list that has the newest first. */
export function cursorPage<Item extends Listed>(
  newestFirst: readonly Item[],
  { limit, order, after, before }: Fields<typeof pageFields>,
  objectOf: (item: Item) => object,
): object {
  const sorted = newestFirst.toSorted((a, b) => b.createdAt - a.createdAt);
  const items = order === 'desc' ? sorted : sorted.toReversed();
  const indexOf = (id: string, field: string): number => {
    const index = items.findIndex((item) => item.id === id);
    if (index === -1) throw wrong(field, 'the id of an item of this list');
    return index;
  };
  const start = after === undefined ? 0 : indexOf(after, 'after') + 1;
  const end = before === undefined ? items.length : indexOf(before, 'before');
  // Without `after`, the page is the one that ends before that item.
  const first = before !== undefined && after === undefined ? Math.max(start, end - limit) : start;
  const page = items.slice(first, Math.min(end, first + limit));
  const hasMore = before !== undefined && after === undefined ? first > 0 : first + limit < end;
  return {
    object: 'list',
    data: page.map(objectOf),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}
