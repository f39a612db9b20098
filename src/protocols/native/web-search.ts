import type { WebSearch } from '../../core/web-search.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { readText } from '../fields/readers.ts';
import { honoured, readFields } from '../fields/table.ts';
import { noteHeaders } from '../spoken-reply.ts';
import { nativeFamily } from './errors.ts';
import { readInput } from './input.ts';

/** With `--websearch` only; the path answers without results otherwise. */
export function webSearchEndpoint(search: WebSearch | undefined): PlainEndpoint {
  return {
    method: 'POST',
    match: 'ending',
    path: '/api/extra/websearch',
    access: 'guarded',
    queued: false,
    summary: 'Search the web through this server (--websearch).',
    family: nativeFamily,
    handle: (call) => (search ? find(call, search) : json([])),
  };
}

const searchFields = { q: honoured(readText) };

async function find(call: Call, search: WebSearch): Promise<Reply> {
  const input = await readInput(call, (body) => readFields(searchFields, body));
  if (!input) return json([], 400);
  const { pages, problem } = await search.find(input.q, call.signal);
  const found = pages.map(({ title, url, description, content }) => ({ title, url, desc: description, content }));
  // Clients know a list and nothing else, so that the reason has to stand beside it.
  return json(found, 200, noteHeaders(problem === undefined ? [] : [problem]));
}
