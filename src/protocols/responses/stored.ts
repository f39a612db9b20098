import { AppError } from '../../core/errors.ts';
import { type EndpointFidelity, ignoredFields } from '../../core/fidelity.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, type Headers, json, type Reply } from '../../http/call.ts';
import { keepAliveMs } from '../../http/keep-alive.ts';
import { commentFrame, sseHeaders } from '../../http/sse.ts';
import type { ResponseStore, StoredItem, StoredResponse } from '../../store/responses.ts';
import { ignoredHeader } from '../dialect.ts';
import { wrong } from '../fields/readers.ts';
import { type Fields, readFields } from '../fields/table.ts';
import type { BackgroundRuns } from './background.ts';
import { inputItemsFidelity, inputItemsFields, retrieveFidelity, retrieveFields } from './fields.ts';
import { replay } from './replay.ts';
import type { ResponseObject } from './response.ts';

export interface StoredParts {
  readonly store: ResponseStore;
  readonly background: BackgroundRuns;
}

/** What stands after `/responses/` in the path. */
interface Target {
  readonly id: string;
  readonly action: string | undefined;
}

export function retrieve(call: Call, parts: StoredParts): Reply {
  const target = targetOf(call);
  const stored = storedOf(target, parts);
  const query = Object.fromEntries(call.query);
  if (target.action === 'input_items') {
    const fields = readFields(inputItemsFields, query);
    return json(inputItems(fields, stored.input), 200, notices(query, inputItemsFidelity));
  }
  if (target.action !== undefined) throw notFound(call);
  const response = stored.response as ResponseObject;
  const headers = notices(query, retrieveFidelity);
  const { stream, starting_after: refusal } = readFields(retrieveFields, query);
  if (!stream) return json(response, 200, headers);
  if (refusal) throw refusal;
  const finished = async (): Promise<ResponseObject | undefined> => {
    await parts.background.finished(target.id);
    return parts.store.get(target.id)?.response as ResponseObject | undefined;
  };
  const keepAlive = { milliseconds: keepAliveMs, filler: commentFrame('keepalive') };
  return { status: 200, headers: { ...sseHeaders, ...headers }, stream: replay(response, finished), keepAlive };
}

export function forget(call: Call, parts: StoredParts): Reply {
  const target = targetOf(call);
  const { id } = storedOf(target, parts);
  if (target.action !== undefined) throw notFound(call);
  parts.store.delete(id);
  void parts.background.cancel(id);
  return json({ id, object: 'response', deleted: true });
}

export async function cancel(call: Call, parts: StoredParts): Promise<Reply> {
  const target = targetOf(call);
  if (target.action !== 'cancel') throw notFound(call);
  const stored = storedOf(target, parts);
  if (stored.response.background !== true) throw wrong('response_id', 'that of a response in the background');
  await parts.background.cancel(target.id);
  return json(parts.store.get(target.id)?.response ?? stored.response);
}

function targetOf({ path }: Call): Target {
  const [id = '', action, ...more] = path.slice(path.lastIndexOf('/responses/') + '/responses/'.length).split('/');
  return { id: decoded(id), action: more.length > 0 ? path : action };
}

function storedOf({ id }: Target, { store }: StoredParts): StoredResponse {
  const stored = store.get(id);
  if (!stored) throw new AppError('not-stored', { what: 'stored response', id });
  return stored;
}

function notFound({ method, path }: Call): AppError {
  return new AppError('not-found', { method, path });
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

function notices(query: JsonObject, table: EndpointFidelity): Headers {
  return ignoredHeader(ignoredFields(query, table));
}

/** The newest first unless asked otherwise; `after` is the last item of the page before. */
function inputItems({ order, after, limit }: Fields<typeof inputItemsFields>, input: readonly StoredItem[]): object {
  const items = order === 'asc' ? input : input.toReversed();
  const start = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) throw wrong('after', 'the id of an input item of this response');
  const data = items.slice(start, start + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + limit < items.length,
  };
}
