import { type Batch, type BatchRequest, type BatchResult, batchHasEnded } from '../../core/batches.ts';
import { AppError } from '../../core/errors.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { read, write } from '../access.ts';
import { type BatchServices, batchable, batchesOf, ownBatch, senderOfBatch } from '../batches.ts';
import { ignoredHeader } from '../dialect.ts';
import { bodyOf, endpointRow, type ModelEndpoint, rowBelow, withServices } from '../endpoint.ts';
import * as f from '../fields.ts';
import { pageOf, queryCount } from '../list-pages.ts';
import { timestamp } from '../timestamp.ts';
import { messagesDialect, withRequestIds } from './errors.ts';

const maxRequests = 100_000;

const readRequests: f.Read<readonly BatchRequest[]> = f.described(
  {
    type: 'array',
    minItems: 1,
    items: {
      type: 'object',
      properties: { custom_id: { type: 'string', pattern: '^[a-zA-Z0-9_-]{1,64}$' }, params: f.objectSchema },
      required: ['custom_id', 'params'],
    },
  },
  (value, path) => {
    const sent = f.readList(value, path);
    if (sent.length === 0 || sent.length > maxRequests) throw f.wrong(path, `a list of 1 to ${maxRequests} requests`);
    const seen = new Set<string>();
    return sent.map((entry, index) => {
      const own = `${path}.${index}`;
      const { custom_id: customId, params } = f.readObject(entry, own);
      if (typeof customId !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(customId))
        throw f.wrong(`${own}.custom_id`, 'made of 1 to 64 letters, digits, hyphens and underscores');
      if (seen.has(customId)) throw f.wrong(`${own}.custom_id`, 'unique within the batch');
      seen.add(customId);
      return { customId, body: f.readObject(params, `${own}.params`) };
    });
  },
);

const createFields = {
  requests: f.honoured(readRequests, 'Up to 100,000, each a custom_id and the params of a message without stream.'),
};

const listFields = {
  limit: f.honoured(queryCount(1000, 20), '1 to 1000, 20 by default.'),
  after_id: f.honoured(f.optionalText, 'The last id of the page before.'),
  before_id: f.honoured(f.optionalText, 'The first id of the page after.'),
  beta: f.aside('honoured', 'Of older clients, without effect.'),
};

const path = '/v1/messages/batches';
const shared = { queued: false, match: 'ending', dialect: messagesDialect } as const;
const get = endpointRow(read('chat'), { ...shared, method: 'GET' });
const change = endpointRow(write('chat'), { ...shared, method: 'POST' });

const endpoints: readonly ModelEndpoint<BatchServices>[] = [
  change(path, 'Answer messages when nothing else runs.', create, { fields: createFields, response: 'batch' }),
  get(path, 'The batches.', list, { fields: listFields, response: 'batches' }),
  rowBelow(get, path, 'A batch, or its results.', {
    '{id}': { handle: retrieve, response: 'batch' },
    '{id}/results': { handle: results, response: 'batchResults' },
  }),
  rowBelow(change, path, 'Cancel a batch.', { '{id}/cancel': { handle: cancel, response: 'batch' } }),
  rowBelow(
    change,
    path,
    'Delete a batch that has ended, with its results.',
    { '{id}': { handle: remove, response: 'deletedBatch' } },
    { method: 'DELETE' },
  ),
];

/** Messages that are answered while the server has nothing else to do. */
export const messageBatchEndpoints = (services: BatchServices) => withServices(withRequestIds(endpoints), services);

async function create(call: Call, services: BatchServices): Promise<Reply> {
  const body = await bodyOf(call);
  const { requests } = f.readFields(createFields, body);
  const target = batchable(services).find(({ dialect }) => dialect.name === 'messages');
  const batch = await batchesOf(call, services).create({
    api: 'messages',
    endpoint: target?.path ?? '',
    input: { requests },
    sender: senderOfBatch(call),
  });
  return json(batchObject(batch), 200, ignoredHeader(createFields, body));
}

async function list(call: Call, services: BatchServices): Promise<Reply> {
  const { limit, after_id: after, before_id: before } = f.readFields(listFields, Object.fromEntries(call.query));
  const all = await batchesOf(call, services).list('messages');
  const { data, hasMore } = pageOf(all, { limit, after, before });
  const [first_id = null, last_id = null] = [data[0]?.id, data.at(-1)?.id];
  return json({ data: data.map(batchObject), has_more: hasMore, first_id, last_id });
}

async function retrieve(call: Call, services: BatchServices, id: string): Promise<Reply> {
  const { batch } = await ownBatch(call, services, id, 'msgbatch_');
  return json(batchObject(batch));
}

async function results(call: Call, services: BatchServices, id: string): Promise<Reply> {
  const { library, batch } = await ownBatch(call, services, id, 'msgbatch_');
  if (batch.archivedAt !== undefined) throw new AppError('not-stored', { what: 'result of the batch', id });
  const stream = lines(await library.results(id));
  return { status: 200, headers: { 'content-type': 'application/x-jsonl' }, stream };
}

async function cancel(call: Call, services: BatchServices, id: string): Promise<Reply> {
  const { library } = await ownBatch(call, services, id, 'msgbatch_');
  return json(batchObject(await library.cancel(id)));
}

async function remove(call: Call, services: BatchServices, id: string): Promise<Reply> {
  const { library } = await ownBatch(call, services, id, 'msgbatch_');
  await library.delete(id);
  return json({ id, type: 'message_batch_deleted' });
}

async function* lines(results: AsyncIterable<BatchResult>): AsyncGenerator<string> {
  for await (const result of results)
    yield `${JSON.stringify({ custom_id: result.customId, result: outcome(result) })}\n`;
}

function outcome(result: BatchResult): object {
  if (result.type !== 'reply') return { type: result.type === 'cancelled' ? 'canceled' : 'expired' };
  const { status, body } = result;
  return status < 400 ? { type: 'succeeded', message: body } : { type: 'errored', error: body };
}

/** Counts other than `processing` stay 0 until the batch has ended. */
function batchObject(batch: Batch) {
  const { id, counts, createdAt, expiresAt, endedAt, cancelledAt, archivedAt } = batch;
  const { total, succeeded, failed } = counts;
  const hasEnded = batchHasEnded(batch);
  const missing = total - succeeded - failed;
  const isCancelled = cancelledAt !== undefined;
  const time = (seconds: number | undefined) => (seconds === undefined ? null : timestamp(seconds));
  return {
    id,
    type: 'message_batch',
    processing_status: hasEnded ? 'ended' : isCancelled ? 'canceling' : 'in_progress',
    request_counts: hasEnded
      ? {
          processing: 0,
          succeeded,
          errored: failed,
          canceled: isCancelled ? missing : 0,
          expired: isCancelled ? 0 : missing,
        }
      : { processing: total, succeeded: 0, errored: 0, canceled: 0, expired: 0 },
    created_at: timestamp(createdAt),
    expires_at: timestamp(expiresAt),
    ended_at: time(endedAt),
    cancel_initiated_at: time(cancelledAt),
    archived_at: time(archivedAt),
    // A path, which is right behind every proxy.
    results_url: hasEnded && archivedAt === undefined ? `${path}/${id}/results` : null,
  };
}
