import { read } from '../api/call.ts';
import type { HubFiles, HubModel, HubOrder } from './hub.ts';

/** One page of models on the hub. */
export function searchHub(words: string, order: HubOrder, cursor: string | null, signal: AbortSignal) {
  const query = new URLSearchParams({ q: words, sort: order, ...(cursor === null ? {} : { cursor }) });
  return read<{ readonly models: readonly HubModel[]; readonly next: string | null }>(`api/admin/search?${query}`, {
    signal,
  });
}

export function filesOf(model: string, signal: AbortSignal): Promise<HubFiles> {
  return read(`api/admin/search/files?${new URLSearchParams({ model })}`, { signal });
}
