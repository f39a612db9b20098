import type {
  Chunking,
  Collection,
  CollectionFile,
  DocumentHit,
  DocumentLibrary,
  IndexCounts,
  IndexStatus,
} from '../../../core/documents.ts';
import { AppError } from '../../../core/errors.ts';
import { libraryOf } from '../../../core/owner.ts';
import { type Call, json, type Reply } from '../../../http/call.ts';
import { BoundedMap } from '../../../store/bounded-map.ts';
import { read, write } from '../../access.ts';
import type { DialectServices } from '../../dialect.ts';
import { type DocumentServices, documentsOf, passageAttributes } from '../../documents/library.ts';
import { bodyOf, endpointRow, type ModelEndpoint, rowBelow, withServices, withShortPath } from '../../endpoint.ts';
import * as f from '../../fields.ts';
import { listObject, pageBetween } from '../../list-pages.ts';
import { openaiDialect } from '../errors.ts';
import {
  attachFields,
  attributeFields,
  batchFields,
  changeFields,
  createFields,
  type fileOptions,
  filePageFields,
  pageFields,
  refuseManyFiles,
  searchFields,
} from './fields.ts';

/** Files that were added together. It is known until the server ends; the files stay. */
interface Batch {
  readonly id: string;
  readonly store: string;
  readonly createdAt: number;
  readonly files: readonly string[];
  isCancelled: boolean;
}

interface Services extends DocumentServices, Pick<DialectServices, 'now' | 'newId'> {
  /** By the library of the client and the id. */
  readonly batches: BoundedMap<Batch>;
}

/** The vector store that the path of a request names, and where it is stored. */
interface OwnStore extends Services {
  readonly store: string;
  readonly collection: Collection;
  readonly library: DocumentLibrary;
}

const maxBatches = 1000;
/** Clients ask again after so many milliseconds; by default they wait for 5 seconds. */
const pollHeaders = { 'openai-poll-after-ms': '200' };

const path = '/v1/vector_stores';
const row = endpointRow(write('documents'), {
  method: 'POST',
  dialect: openaiDialect,
  // The `name` of a body is that of the store.
  modelNamed: () => undefined,
});
const reading = { ...read('documents'), method: 'GET' } as const;

/** Stores are found only by their ids: names are for our own endpoints. `id`: of a file or batch in the store. */
const inStore =
  (answer: (call: Call, own: OwnStore, id: string) => Promise<Reply> | Reply) =>
  async (call: Call, services: Services, store: string, id = ''): Promise<Reply> => {
    const library = documentsOf(call, services);
    const collection = await library.collection(store);
    if (collection?.id !== store) throw new AppError('not-stored', { what: 'vector store', id: store });
    return answer(call, { ...services, store, collection, library }, id);
  };

const endpoints: readonly ModelEndpoint<Services>[] = [
  row(path, 'Create a vector store.', create, { fields: createFields, response: 'vectorStore' }),
  row(path, 'The vector stores.', list, { ...reading, fields: pageFields, response: 'vectorStores' }),
  rowBelow(
    row,
    path,
    'A vector store, its files, the text of a file, a batch of files.',
    {
      '{id}': {
        handle: inStore((_, { collection }) => json(storeObject(collection), 200, pollHeaders)),
        response: 'vectorStore',
      },
      '{id}/files': { handle: inStore(listFiles), fields: filePageFields, response: 'vectorStoreFiles' },
      '{id}/files/{file_id}': { handle: inStore(showFile), response: 'vectorStoreFile' },
      '{id}/files/{file_id}/content': { handle: inStore(showContent), response: 'vectorStoreFileContent' },
      '{id}/file_batches/{batch_id}': { handle: inStore(showBatch), response: 'vectorStoreBatch' },
      '{id}/file_batches/{batch_id}/files': {
        handle: inStore(listBatchFiles),
        fields: filePageFields,
        response: 'vectorStoreFiles',
      },
    },
    reading,
  ),
  rowBelow(row, path, 'Change or search a vector store, attach files, change the attributes of a file.', {
    '{id}': { handle: inStore(changeStore), fields: changeFields, response: 'vectorStore' },
    '{id}/search': { handle: inStore(search), fields: searchFields, response: 'vectorStoreSearch' },
    '{id}/files': { handle: inStore(attach), fields: attachFields, response: 'vectorStoreFile' },
    '{id}/files/{file_id}': { handle: inStore(changeFile), fields: attributeFields, response: 'vectorStoreFile' },
    '{id}/file_batches': { handle: inStore(createBatch), fields: batchFields, response: 'vectorStoreBatch' },
    '{id}/file_batches/{batch_id}/cancel': { handle: inStore(cancelBatch), response: 'vectorStoreBatch' },
  }),
  rowBelow(
    row,
    path,
    'Delete a vector store, or detach a file from it.',
    {
      '{id}': { handle: inStore(removeStore), response: 'deletedVectorStore' },
      '{id}/files/{file_id}': { handle: inStore(detach), response: 'deletedVectorStoreFile' },
    },
    { method: 'DELETE' },
  ),
];

/** Collections of documents in the form of OpenAI's vector stores. */
export function vectorStoreEndpoints(services: Omit<Services, 'batches'>) {
  const batches = new BoundedMap<Batch>({ entries: maxBatches, bytes: Number.POSITIVE_INFINITY });
  return withServices(endpoints.flatMap(withShortPath), { ...services, batches });
}

async function list(call: Call, services: Services): Promise<Reply> {
  const page = f.readFields(pageFields, Object.fromEntries(call.query));
  return json(cursorPage(await documentsOf(call, services).collections(), page, storeObject));
}

/** The newest first, or the oldest. */
function cursorPage<Item extends { readonly id: string; readonly createdAt: number }>(
  items: readonly Item[],
  { order, ...options }: f.Fields<typeof pageFields>,
  objectOf: (item: Item) => { readonly id: string },
) {
  const newestFirst = items.toSorted((a, b) => b.createdAt - a.createdAt);
  const { data, hasMore } = pageBetween(order === 'desc' ? newestFirst : newestFirst.toReversed(), options);
  return listObject({ data: data.map(objectOf), hasMore });
}

async function create(call: Call, services: Services): Promise<Reply> {
  const fields = f.readFields(createFields, await bodyOf(call, 'object'));
  const { expires_after: days, file_ids: files = [], chunking_strategy: chunking } = fields;
  const library = documentsOf(call, services);
  const { id } = await library.create({
    ...ownFields(fields),
    ...(typeof days === 'number' && { expiresAfterDays: days }),
  });
  try {
    if (files.length > 0) {
      await library.addFiles(
        id,
        files.map((file) => ({ file, ...(chunking && { chunking }) })),
      );
    }
  } catch (error) {
    // The client does not know its id.
    await library.delete(id);
    throw error;
  }
  const collection = await library.collection(id);
  if (!collection) throw new AppError('not-stored', { what: 'vector store', id });
  return json(storeObject(collection));
}

function ownFields({ name, description, metadata }: f.Fields<typeof changeFields>) {
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(metadata && { metadata }),
  };
}

async function changeStore(call: Call, { library, store }: OwnStore): Promise<Reply> {
  const fields = f.readFields(changeFields, await bodyOf(call, 'object'));
  const { expires_after: days } = fields;
  const expiry = days === undefined ? {} : { expiresAfterDays: days };
  return json(storeObject(await library.update(store, { ...ownFields(fields), ...expiry })));
}

async function removeStore(_: Call, { library, store }: OwnStore): Promise<Reply> {
  await library.delete(store);
  return json({ id: store, object: 'vector_store.deleted', deleted: true });
}

async function listFiles(call: Call, { library, store }: OwnStore): Promise<Reply> {
  return filesPage(call, store, await library.files(store));
}

function filesPage(call: Call, store: string, files: readonly CollectionFile[]): Reply {
  const { filter, ...page } = f.readFields(filePageFields, Object.fromEntries(call.query));
  const listed = files.filter(({ status }) => filter === undefined || status === filter);
  return json(cursorPage(listed, page, (file) => fileObject(store, file)));
}

async function fileOf({ library, store }: OwnStore, id: string): Promise<CollectionFile> {
  const file = await library.file(store, id);
  if (!file) throw new AppError('not-stored', { what: 'file in this vector store', id });
  return file;
}

async function showFile(_: Call, own: OwnStore, id: string): Promise<Reply> {
  return json(fileObject(own.store, await fileOf(own, id)), 200, pollHeaders);
}

async function showContent(_: Call, own: OwnStore, id: string): Promise<Reply> {
  await fileOf(own, id);
  const data = [{ type: 'text', text: await own.library.text(own.store, id) }];
  return json({ object: 'vector_store.file_content.page', data, has_more: false, next_page: null });
}

async function attach(call: Call, { library, store }: OwnStore): Promise<Reply> {
  const { file_id: file, ...options } = f.readFields(attachFields, await bodyOf(call));
  const [added] = await library.addFiles(store, [newFile(file, options)]);
  if (!added) throw new AppError('not-stored', { what: 'file', id: file });
  return json(fileObject(store, added));
}

async function changeFile(call: Call, own: OwnStore, id: string): Promise<Reply> {
  const { attributes } = f.readFields(attributeFields, await bodyOf(call));
  await fileOf(own, id);
  return json(fileObject(own.store, await own.library.setAttributes(own.store, id, attributes)));
}

async function detach(_: Call, own: OwnStore, id: string): Promise<Reply> {
  await fileOf(own, id);
  await own.library.removeFile(own.store, id);
  return json({ id, object: 'vector_store.file.deleted', deleted: true });
}

function newFile(file: string, { attributes, chunking_strategy: chunking }: f.Fields<typeof fileOptions>) {
  return { file, ...(attributes && { attributes }), ...(chunking && { chunking }) };
}

async function createBatch(call: Call, { library, store, batches, now, newId }: OwnStore): Promise<Reply> {
  const { file_ids, files, ...options } = f.readFields(batchFields, await bodyOf(call));
  if ((file_ids === undefined) === (files === undefined))
    throw f.wrong('file_ids', 'given, or else files, but not both');
  const sent = file_ids
    ? file_ids.map((file) => newFile(file, options))
    : (files ?? []).map((each, index) => {
        const { file_id: file, ...own } = f.readFields(attachFields, each, `files[${index}]`);
        return newFile(file, own);
      });
  if (sent.length === 0) throw f.wrong(file_ids ? 'file_ids' : 'files', 'not empty');
  refuseManyFiles(sent.length);
  const added = await library.addFiles(store, sent);
  const batch: Batch = {
    id: newId('vsfb_'),
    store,
    createdAt: Math.floor(now() / 1000),
    files: added.map(({ id }) => id),
    isCancelled: false,
  };
  const owner = libraryOf(call);
  batches.set(`${owner} ${batch.id}`, batch, 1, owner);
  return json(batchObject(batch, added));
}

/** A batch and its files, without those that were removed since. */
function batchOf(call: Call, { batches, store, library }: OwnStore, id: string) {
  const batch = batches.get(`${libraryOf(call)} ${id}`);
  if (batch?.store !== store) throw new AppError('not-stored', { what: 'file batch', id });
  const added = new Set(batch.files);
  return { batch, files: async () => (await library.files(store)).filter((file) => added.has(file.id)) };
}

async function showBatch(call: Call, own: OwnStore, id: string): Promise<Reply> {
  const { batch, files } = batchOf(call, own, id);
  return json(batchObject(batch, await files()), 200, pollHeaders);
}

async function listBatchFiles(call: Call, own: OwnStore, id: string): Promise<Reply> {
  const { files } = batchOf(call, own, id);
  return filesPage(call, own.store, await files());
}

async function cancelBatch(call: Call, own: OwnStore, id: string): Promise<Reply> {
  const { batch, files } = batchOf(call, own, id);
  await own.library.cancel(own.store, batch.files);
  batch.isCancelled = true;
  return json(batchObject(batch, await files()));
}

/** It is complete with some failed files, too: the counts say so. */
function batchObject({ id, store, createdAt, isCancelled }: Batch, files: readonly CollectionFile[]): object {
  const count = (status: IndexStatus): number => files.filter((file) => file.status === status).length;
  const counts = {
    inProgress: count('in_progress'),
    completed: count('completed'),
    failed: count('failed'),
    cancelled: count('cancelled'),
    total: files.length,
  };
  const isFailed = counts.failed > 0 && counts.failed === counts.total;
  const ended = isCancelled ? 'cancelled' : isFailed ? 'failed' : 'completed';
  return {
    id,
    object: 'vector_store.files_batch',
    created_at: createdAt,
    vector_store_id: store,
    status: counts.inProgress > 0 ? 'in_progress' : ended,
    file_counts: countsObject(counts),
  };
}

async function search(call: Call, { library, store }: OwnStore): Promise<Reply> {
  const { query, filters, max_num_results: limit, ranking_options } = f.readFields(searchFields, await bodyOf(call));
  const { ranker, score_threshold: threshold } = ranking_options;
  const { queries, hits } = await library.search(
    {
      queries: query,
      collections: [store],
      limit,
      ...(filters && { filter: filters }),
      ...(threshold !== undefined && { threshold }),
      ...(ranker === 'none' && { rerank: false }),
    },
    call.signal,
  );
  return json({
    object: 'vector_store.search_results.page',
    search_query: queries,
    data: hits.map(resultObject),
    has_more: false,
    next_page: null,
  });
}

const secondsPerDay = 86_400;

function storeObject(collection: Collection) {
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

function countsObject({ inProgress, completed, failed, cancelled, total }: IndexCounts): object {
  return { in_progress: inProgress, completed, failed, cancelled, total };
}

function fileObject(store: string, file: CollectionFile) {
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

function resultObject({ passage, score }: DocumentHit): object {
  const { file, name, text } = passage;
  return {
    file_id: file,
    filename: name,
    score,
    attributes: passageAttributes(passage),
    content: [{ type: 'text', text }],
  };
}
