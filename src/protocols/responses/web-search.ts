import type { HostedTools } from '../../chat/server-tools/hosted.ts';
import { outcomeText, sourcesOf } from '../../chat/server-tools/web-tools.ts';
import type { ServerCall, ServerOutcome, Source } from '../../core/server-tools.ts';
import type { JsonObject } from '../../http/body.ts';
import type { StoredItem } from '../../store/responses.ts';
import * as f from '../fields.ts';
import { contextSizeOf, domainLists, readContextSize, userLocation } from '../hosted-tools.ts';

/** `web_search` and its earlier names. */
export function isSearchType(type: unknown): boolean {
  return typeof type === 'string' && /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/.test(type);
}

/** Undefined for another tool, and for a search without access to the web: agents send that by default. */
export function readSearchTool(sent: JsonObject, at: string): HostedTools['search'] | undefined {
  if (!isSearchType(sent.type) || f.readAt(sent, 'external_web_access', at, f.optionalFlag) === false) return undefined;
  const filters = f.readAt(sent, 'filters', at, f.optionalObject) ?? {};
  const location = f.readAt(sent, 'user_location', at, f.optionalObject);
  return {
    field: `${at} (${String(sent.type)})`,
    ...domainLists(filters, `${at}.filters`),
    ...contextSizeOf(f.readAt(sent, 'search_context_size', at, readContextSize)),
    ...userLocation(location, `${at}.user_location`),
  };
}

const readUrls = f.optional(f.listOf(f.readObject));

/** The titles of the pages that answers of the conversation cite, by address: items of searches have none. */
export function citedTitles(items: readonly { readonly item: StoredItem }[]): ReadonlyMap<unknown, string> {
  const parts = items.flatMap(({ item: { content } }) => (Array.isArray(content) ? content.filter(f.isObject) : []));
  const cited = parts.flatMap(({ annotations }) => (Array.isArray(annotations) ? annotations.filter(f.isObject) : []));
  return new Map(cited.flatMap(({ url, title }) => (typeof title === 'string' ? [[url, title]] : [])));
}

/** A search of an earlier reply in the input: its query, and its sources if the item has them. Undefined without a query. */
export function readSearchCall(
  { action, status }: StoredItem,
  at: string,
  { sources, titles }: { readonly sources: Source[]; readonly titles: ReadonlyMap<unknown, string> },
) {
  if (!f.isObject(action)) return undefined;
  const [first] = Array.isArray(action.queries) ? action.queries : [];
  const query: unknown = action.query ?? first;
  if (typeof query !== 'string') return undefined;
  const pages = (f.readAt(action, 'sources', `${at}.action`, readUrls) ?? []).map(({ url }): Source => {
    return { url: String(url), title: titles.get(url) ?? '', text: '' };
  });
  return pastSearch({ name: 'web_search', query, status }, pages, sources);
}

/** A search of an earlier response, as the model reads it again. Its results are added to the sources of the conversation. */
export function pastSearch(
  { name, query, status }: { readonly name: string; readonly query: string; readonly status: unknown },
  results: readonly Source[],
  sources: Source[],
) {
  const number = sources.length + 1;
  sources.push(...results);
  const failed: ServerOutcome = { type: 'error', code: 'unavailable', reason: '' };
  const outcome: ServerOutcome = status === 'failed' ? failed : { type: 'sources', sources: results };
  const isStored = results.length > 0 || status === 'failed';
  const result = isStored ? outcomeText(outcome, number) : 'The results are not part of the conversation any more.';
  return { name, json: JSON.stringify({ query }), result };
}

/** The item of a search that runs. */
export function searchItem(id: string, { input }: ServerCall): StoredItem & { readonly type: 'web_search_call' } {
  const query = String(input.query ?? '');
  return { id, type: 'web_search_call', status: 'in_progress', action: { type: 'search', query, queries: [query] } };
}

export function finishedSearch(item: StoredItem, outcome: ServerOutcome, withSources: boolean): StoredItem {
  const urls = sourcesOf(outcome).map(({ url }) => ({ type: 'url', url }));
  const action = { ...(item.action as object), ...(withSources && { sources: urls }) };
  return { ...item, status: outcome.type === 'error' ? 'failed' : 'completed', action };
}
