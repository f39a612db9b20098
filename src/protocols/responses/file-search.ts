import type { HostedDocuments } from '../../chat/server-tools/hosted.ts';
import { sourcesOf } from '../../chat/server-tools/web-tools.ts';
import type { DocumentQuery } from '../../core/documents.ts';
import type { ServerCall, ServerOutcome, Source } from '../../core/server-tools.ts';
import type { StoredItem } from '../../store/responses.ts';
import { readAttributes, readFilter } from '../documents/filters.ts';
import { collectionOf, type OwnDocuments } from '../documents/library.ts';
import * as f from '../fields.ts';
import { pastSearch } from './web-search.ts';

export const isFileSearch = (type: unknown): boolean => type === 'file_search';

const maxStores = 16;
const readStores: f.Read<readonly string[]> = (value, path) => {
  const names = f.listOf(f.readName)(value, path);
  if (names.length === 0 || names.length > maxStores) throw f.wrong(path, `the ids of 1 to ${maxStores} vector stores`);
  return names;
};
const readScore = f.reader<number>(
  'a number from 0 to 1',
  (value) => typeof value === 'number' && value >= 0 && value <= 1,
);
const readWeight = f.reader<number>('a number, 0 or more', (value) => typeof value === 'number' && value >= 0);
const readRanker = f.optional(f.oneOf('auto', 'none', 'default-2024-11-15'));

const defaultResults = 20;

/** The file search of a request: where and how it searches. */
export type FileSearch = Omit<DocumentQuery, 'queries'>;

export function readFileSearch(tools: readonly unknown[]): FileSearch | undefined {
  const searches = tools.flatMap((tool, index) => {
    return f.isObject(tool) && isFileSearch(tool.type) ? [{ tool, at: `tools[${index}]` }] : [];
  });
  const [first, second] = searches;
  if (second) throw f.wrong(second.at, 'another tool: there is a file_search already, and it can name several stores');
  if (!first) return undefined;
  const { tool, at } = first;
  const filter = f.readAt(tool, 'filters', at, f.optional(readFilter));
  const ranking = f.readAt(tool, 'ranking_options', at, f.optionalObject) ?? {};
  const within = `${at}.ranking_options`;
  const threshold = f.readAt(ranking, 'score_threshold', within, f.optional(readScore));
  const hybrid = f.readAt(ranking, 'hybrid_search', within, f.optionalObject);
  const weight = (name: string): number => f.readAt(hybrid ?? {}, name, `${within}.hybrid_search`, readWeight);
  const ranker = f.readAt(ranking, 'ranker', within, readRanker);
  return {
    collections: f.readAt(tool, 'vector_store_ids', at, readStores),
    limit: f.readAt(tool, 'max_num_results', at, f.optional(f.wholeBetween(1, 50))) ?? defaultResults,
    ...(filter && { filter }),
    ...(threshold !== undefined && { threshold }),
    ...(ranker === 'none' && { rerank: false }),
    ...(hybrid && { weights: { vector: weight('embedding_weight'), keywords: weight('text_weight') } }),
  };
}

export function hostedDocuments(
  search: FileSearch,
  { library, sourceOf }: OwnDocuments,
): Pick<HostedDocuments, 'find'> {
  return {
    find: async (query, signal) => (await library().search({ ...search, queries: [query] }, signal)).hits.map(sourceOf),
  };
}

/** Before the reply begins, so that the error has its status. */
export async function refuseUnknownStores(search: FileSearch | undefined, { library }: OwnDocuments): Promise<void> {
  if (!search) return;
  const own = library();
  await Promise.all(search.collections.map((name) => collectionOf(own, name, 'vector store')));
}

/** The item of a search that runs; its query is in the closed item. */
export function fileSearchItem(id: string): StoredItem & { readonly type: 'file_search_call' } {
  return { id, type: 'file_search_call', status: 'in_progress', queries: [], results: null };
}

export function finishedFileSearch(
  item: StoredItem,
  call: ServerCall | undefined,
  { outcome, withResults }: { readonly outcome: ServerOutcome | undefined; readonly withResults: boolean },
): StoredItem {
  const status = !outcome ? 'incomplete' : outcome.type === 'error' ? 'failed' : 'completed';
  const results = outcome && withResults ? sourcesOf(outcome).flatMap(resultOf) : null;
  return { ...item, status, queries: [String(call?.input.query ?? '')], results };
}

function resultOf({ text, location: place }: Source): readonly object[] {
  if (place?.type !== 'passage') return [];
  const { file, name, score, attributes } = place;
  return [{ file_id: file, filename: name, score, text, attributes }];
}

/** `index` is where the mark ends, in UTF-16 units. */
export function fileCitation({ location: place }: Source, index: number): object | undefined {
  if (place?.type !== 'passage') return undefined;
  return { type: 'file_citation', index, file_id: place.file, filename: place.name };
}

/** A search of an earlier reply in the input: its query, and its results if the item has them. Undefined without a query. */
export function readFileSearchCall({ queries, results, status }: StoredItem, at: string, sources: Source[]) {
  const query: unknown = Array.isArray(queries) ? queries[0] : undefined;
  if (typeof query !== 'string') return undefined;
  const passages = (f.readAt({ results }, 'results', at, f.optionalList) ?? []).map((value, index): Source => {
    const path = `${at}.results[${index}]`;
    const result = f.readObject(value, path);
    const name = f.readAt(result, 'filename', path, f.optionalText) ?? '';
    const place = {
      type: 'passage',
      file: f.readAt(result, 'file_id', path, f.optionalText) ?? '',
      name,
      score: f.readAt(result, 'score', path, f.optionalNumber) ?? 0,
      attributes: f.readAt(result, 'attributes', path, f.optional(readAttributes)) ?? {},
    } as const;
    return { url: '', title: name, text: f.readAt(result, 'text', path, f.optionalText) ?? '', location: place };
  });
  return pastSearch({ name: 'file_search', query, status }, passages, sources);
}
