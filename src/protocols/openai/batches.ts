import { type Batch, batchHasEnded } from '../../core/batches.ts';
import { AppError } from '../../core/errors.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { read, write } from '../access.ts';
import { type BatchServices, batchable, batchesOf, ownBatch, senderOfBatch } from '../batches.ts';
import { ignoredHeader } from '../dialect.ts';
import { readMetadata } from '../documents/filters.ts';
import { bodyOf, type ModelEndpoint, rowBelow, withServices, withShortPath } from '../endpoint.ts';
import * as f from '../fields.ts';
import { listObject, pageOf, queryCount } from '../list-pages.ts';
import { type FileServices, filesOf } from '../stored-files.ts';
import { openaiRow } from './errors.ts';
import { lifetimeField } from './files.ts';

const createFields = {
  input_file_id: f.honoured(f.readName, 'A stored file with a request in each line, up to 50,000.'),
  endpoint: f.honoured(f.readText, 'Chat completions, completions, embeddings, responses, images.'),
  completion_window: f.honoured(f.orElse(f.word('24h'), '24h')),
  metadata: f.honoured(f.optional(readMetadata), 'Up to 16 pairs.'),
  output_expires_after: lifetimeField(
    'anchor created_at, seconds 3600 to 2592000. Without it the output files stay until they are deleted.',
  ),
};

const listFields = {
  limit: f.honoured(queryCount(100, 20), '1 to 100, 20 by default.'),
  after: f.honoured(f.optionalText, 'The id after which the page begins.'),
};

type Services = BatchServices & Pick<FileServices, 'files'>;

const path = '/v1/batches';
const reading = { queued: false, ...read('documents'), method: 'GET' } as const;
const changing = { queued: false, ...write('documents') };

const endpoints: readonly ModelEndpoint<Services>[] = [
  openaiRow(path, 'Run the requests of a file when nothing else runs.', create, {
    ...changing,
    fields: createFields,
    response: 'batch',
  }),
  openaiRow(path, 'The batches.', list, { ...reading, fields: listFields, response: 'batches' }),
  rowBelow(openaiRow, path, `A batch (${path}/{id}).`, { '{id}': { handle: retrieve, response: 'batch' } }, reading),
  rowBelow(
    openaiRow,
    path,
    `Cancel a batch (${path}/{id}/cancel).`,
    { '{id}/cancel': { handle: cancel, response: 'batch' } },
    changing,
  ),
];

/** Requests that run while the server has nothing else to do (`/v1/batches`). */
export const batchEndpoints = (services: Services) => withServices(endpoints.flatMap(withShortPath), services);

async function create(call: Call, services: Services): Promise<Reply> {
  const body = await bodyOf(call);
  const { input_file_id: sent, endpoint, metadata, output_expires_after: seconds } = f.readFields(createFields, body);
  const targets = batchable(services).filter(({ dialect }) => dialect.name !== 'messages');
  const target = targets.find((one) => one.path === endpoint);
  if (!target) throw f.wrong('endpoint', `one of ${targets.map((one) => one.path).join(', ')}`);
  const { scope } = target;
  if (call.key && scope && !call.key.scopes.includes(scope)) throw new AppError('scope-missing', { scope });
  const file = await filesOf(call, services).get(sent);
  if (!file) throw f.wrong('input_file_id', 'the id of a stored file');
  const batch = await batchesOf(call, services).create({
    api: 'openai',
    endpoint,
    input: { file: file.id },
    sender: senderOfBatch(call),
    ...(metadata && { metadata }),
    ...(seconds !== undefined && { outputSeconds: seconds }),
  });
  return json(batchObject(batch), 200, ignoredHeader(createFields, body));
}

async function list(call: Call, services: Services): Promise<Reply> {
  const { limit, after } = f.readFields(listFields, Object.fromEntries(call.query));
  const { data, hasMore } = pageOf(await batchesOf(call, services).list('openai'), { limit, after });
  return json(listObject({ data: data.map(batchObject), hasMore }));
}

async function retrieve(call: Call, services: Services, id: string): Promise<Reply> {
  const { batch } = await ownBatch(call, services, id, 'batch_');
  return json(batchObject(batch));
}

async function cancel(call: Call, services: Services, id: string): Promise<Reply> {
  const { library } = await ownBatch(call, services, id, 'batch_');
  return json(batchObject(await library.cancel(id)));
}

function batchObject(batch: Batch) {
  const { status, endedAt = null, counts, usage, problems } = batch;
  const ended = (outcome: Batch['status']) => (status === outcome ? endedAt : null);
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    model: batch.model ?? null,
    errors: problems
      ? {
          object: 'list',
          data: problems.map(({ code, message, param = null, line = null }) => ({ code, message, param, line })),
        }
      : null,
    input_file_id: batch.inputFile ?? null,
    completion_window: '24h',
    status,
    output_file_id: batch.outputFile ?? null,
    error_file_id: batch.errorFile ?? null,
    created_at: batch.createdAt,
    in_progress_at: batch.startedAt ?? null,
    expires_at: batch.expiresAt,
    finalizing_at: batch.finalizingAt ?? null,
    completed_at: ended('completed'),
    failed_at: ended('failed'),
    expired_at: ended('expired'),
    cancelling_at: batch.cancelledAt ?? null,
    cancelled_at: ended('cancelled'),
    request_counts: { total: counts.total, completed: counts.succeeded, failed: counts.failed },
    usage:
      batchHasEnded(batch) && counts.succeeded > 0
        ? {
            input_tokens: usage.input,
            input_tokens_details: { cached_tokens: usage.cached },
            output_tokens: usage.output,
            output_tokens_details: { reasoning_tokens: usage.reasoning },
            total_tokens: usage.input + usage.output,
          }
        : null,
    metadata: batch.metadata ?? null,
  };
}
