import type { Collection, CollectionFile, DocumentLibrary, IndexStatus } from '../../../core/documents.ts';
import { AppError } from '../../../core/errors.ts';
import { libraryOf } from '../../../core/owner.ts';
import { percentDecoded } from '../../../core/percent-decoded.ts';
import { type Call, json, type Reply } from '../../../http/call.ts';
import { BoundedMap } from '../../../store/bounded-map.ts';
import { read, write } from '../../access.ts';
import type { DialectServices } from '../../dialect.ts';
import { type DocumentServices, documentsOf } from '../../documents/library.ts';
import { bodyOf, endpointRow, type PlainEndpoint, withShortPath } from '../../endpoint.ts';
import * as f from '../../fields.ts';
import { openaiFamily } from '../errors.ts';
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
import { countsObject, cursorPage, fileObject, resultObject, storeObject } from './objects.ts';

/** Files that were added together. It is known until the server ends; the files stay. */
interface Batch {
  readonly id: string;
  readonly store: string;
  readonly createdAt: number;
  readonly files: readonly string[];
  isCancelled: boolean;
}

type VectorStoreServices = DocumentServices & Pick<DialectServices, 'now' | 'newId'>;

interface Context {
  readonly library: DocumentLibrary;
  readonly services: VectorStoreServices;
  /** Of whoever calls. */
  readonly batches: {
    readonly get: (id: string) => Batch | undefined;
    readonly add: (batch: Batch) => void;
  };
}

const maxBatches = 1000;
/** Clients ask again after so many milliseconds; by default they wait for 5 seconds. */
const pollHeaders = { 'openai-poll-after-ms': '200' };

const path = '/v1/vector_stores';

/** Collections of documents in the form of OpenAI's vector stores. */
export function vectorStoreEndpoints(services: VectorStoreServices): readonly PlainEndpoint[] {
  const batches = new BoundedMap<Batch>({ entries: maxBatches, bytes: Number.POSITIVE_INFINITY });
  const context = (call: Call): Context => {
    const owner = libraryOf(call);
    return {
      library: documentsOf(call, services),
      services,
      batches: {
        get: (id) => batches.get(`${owner} ${id}`),
        add: (batch) => batches.set(`${owner} ${batch.id}`, batch, 1, owner),
      },
    };
  };
  const row = endpointRow(write('documents'), {
    method: 'POST',
    family: openaiFamily,
    // The `name` of a body is that of the store.
    modelNamed: () => undefined,
  });
  const below = (
    summary: string,
    handle: (call: Call, context: Context) => Promise<Reply>,
    own: Parameters<typeof row>[3],
  ) => row(`${path}/`, summary, (call) => handle(call, context(call)), { match: 'prefix', ...own });
  return [
    row(path, 'Create a vector store.', (call) => create(call, context(call)), { fields: createFields }),
    row(
      path,
      'The vector stores.',
      async (call) => {
        const fields = f.readFields(pageFields, Object.fromEntries(call.query));
        return json(cursorPage(await context(call).library.collections(), fields, storeObject));
      },
      { ...read('documents'), method: 'GET', fields: pageFields },
    ),
    below('A vector store, its files, the text of a file, a batch of files.', show, {
      ...read('documents'),
      method: 'GET',
      below: {
        '{id}': undefined,
        '{id}/files': filePageFields,
        '{id}/files/{file_id}': undefined,
        '{id}/files/{file_id}/content': undefined,
        '{id}/file_batches/{batch_id}': undefined,
        '{id}/file_batches/{batch_id}/files': filePageFields,
      },
    }),
    below('Change or search a vector store, attach files, change the attributes of a file.', change, {
      below: {
        '{id}': changeFields,
        '{id}/search': searchFields,
        '{id}/files': attachFields,
        '{id}/files/{file_id}': attributeFields,
        '{id}/file_batches': batchFields,
        '{id}/file_batches/{batch_id}/cancel': undefined,
      },
    }),
    below('Delete a vector store, or detach a file from it.', remove, {
      method: 'DELETE',
      below: { '{id}': undefined, '{id}/files/{file_id}': undefined },
    }),
  ].flatMap(withShortPath);
}

/** The parts of the path below the stores. */
function targetOf({ path: own }: Call): readonly string[] {
  const name = '/vector_stores/';
  const parts = own.slice(own.indexOf(name) + name.length).split('/');
  return parts.map(percentDecoded);
}

function unknownPath({ method, path: own }: Call): AppError {
  return new AppError('not-found', { method, path: own });
}

/** Only by its id: names are for our own endpoints. */
async function storeOf({ library }: Context, id: string): Promise<Collection> {
  const collection = await library.collection(id);
  if (collection?.id !== id) throw new AppError('not-stored', { what: 'vector store', id });
  return collection;
}

async function fileOf({ library }: Context, store: string, id: string): Promise<CollectionFile> {
  const file = await library.file(store, id);
  if (!file) throw new AppError('not-stored', { what: 'file in this vector store', id });
  return file;
}

function batchOf({ batches }: Context, store: string, id: string): Batch {
  const batch = batches.get(id);
  if (batch?.store !== store) throw new AppError('not-stored', { what: 'file batch', id });
  return batch;
}

async function create(call: Call, context: Context): Promise<Reply> {
  const fields = f.readFields(createFields, await bodyOf(call, 'object'));
  const {
    name,
    description,
    metadata,
    expires_after: days,
    file_ids: files = [],
    chunking_strategy: chunking,
  } = fields;
  const { id } = await context.library.create({
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(metadata && { metadata }),
    ...(typeof days === 'number' && { expiresAfterDays: days }),
  });
  try {
    if (files.length > 0) {
      await context.library.addFiles(
        id,
        files.map((file) => ({ file, ...(chunking && { chunking }) })),
      );
    }
  } catch (error) {
    // The client does not know its id.
    await context.library.delete(id);
    throw error;
  }
  return json(storeObject(await storeOf(context, id)));
}

async function show(call: Call, context: Context): Promise<Reply> {
  const [store = '', what, id, form, ...more] = targetOf(call);
  if (more.length > 0) throw unknownPath(call);
  const collection = await storeOf(context, store);
  if (what === undefined) return json(storeObject(collection), 200, pollHeaders);
  if (what === 'files') {
    if (id === undefined) return filesPage(call, store, await context.library.files(store));
    const file = await fileOf(context, store, id);
    if (form === undefined) return json(fileObject(store, file), 200, pollHeaders);
    if (form !== 'content') throw unknownPath(call);
    const text = await context.library.text(store, id);
    const data = [{ type: 'text', text }];
    return json({ object: 'vector_store.file_content.page', data, has_more: false, next_page: null });
  }
  if (what !== 'file_batches' || id === undefined || (form !== undefined && form !== 'files')) throw unknownPath(call);
  const batch = batchOf(context, store, id);
  const files = await filesOf(context, batch);
  if (form === 'files') return filesPage(call, store, files);
  return json(batchObject(batch, files), 200, pollHeaders);
}

function filesPage(call: Call, store: string, files: readonly CollectionFile[]): Reply {
  const { filter, ...page } = f.readFields(filePageFields, Object.fromEntries(call.query));
  const listed = files.filter(({ status }) => filter === undefined || status === filter);
  return json(cursorPage(listed, page, (file) => fileObject(store, file)));
}

async function change(call: Call, context: Context): Promise<Reply> {
  const [store = '', what, id, form, ...more] = targetOf(call);
  if (more.length > 0) throw unknownPath(call);
  await storeOf(context, store);
  if (what === undefined) return changeStore(call, store, context);
  if (what === 'search' && id === undefined) return search(call, store, context);
  if (what === 'files' && form === undefined) {
    return id === undefined ? attach(call, store, context) : changeFile(call, store, id, context);
  }
  if (what === 'file_batches' && id === undefined) return createBatch(call, store, context);
  if (what !== 'file_batches' || id === undefined || form !== 'cancel') throw unknownPath(call);
  const batch = batchOf(context, store, id);
  await context.library.cancel(store, batch.files);
  batch.isCancelled = true;
  return json(batchObject(batch, await filesOf(context, batch)));
}

async function changeStore(call: Call, store: string, { library }: Context): Promise<Reply> {
  const { name, description, metadata, expires_after: days } = f.readFields(changeFields, await bodyOf(call, 'object'));
  const changed = await library.update(store, {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(metadata && { metadata }),
    ...(days !== undefined && { expiresAfterDays: days }),
  });
  return json(storeObject(changed));
}

async function attach(call: Call, store: string, { library }: Context): Promise<Reply> {
  const { file_id: file, ...options } = f.readFields(attachFields, await bodyOf(call));
  const [added] = await library.addFiles(store, [newFile(file, options)]);
  if (!added) throw new AppError('not-stored', { what: 'file', id: file });
  return json(fileObject(store, added));
}

async function changeFile(call: Call, store: string, id: string, context: Context): Promise<Reply> {
  const { attributes } = f.readFields(attributeFields, await bodyOf(call));
  await fileOf(context, store, id);
  return json(fileObject(store, await context.library.setAttributes(store, id, attributes)));
}

function newFile(file: string, { attributes, chunking_strategy: chunking }: f.Fields<typeof fileOptions>) {
  return { file, ...(attributes && { attributes }), ...(chunking && { chunking }) };
}

async function createBatch(call: Call, store: string, context: Context): Promise<Reply> {
  const { file_ids, files, ...options } = f.readFields(batchFields, await bodyOf(call));
  if ((file_ids === undefined) === (files === undefined))
    throw f.wrong('file_ids', 'given, or else files, but not both');
  const added = file_ids
    ? file_ids.map((file) => newFile(file, options))
    : (files ?? []).map((each, index) => {
        const { file_id: file, ...own } = f.readFields(attachFields, each, `files[${index}]`);
        return newFile(file, own);
      });
  if (added.length === 0) throw f.wrong(file_ids ? 'file_ids' : 'files', 'not empty');
  refuseManyFiles(added.length);
  const found = await context.library.addFiles(store, added);
  const { now, newId } = context.services;
  const batch: Batch = {
    id: newId('vsfb_'),
    store,
    createdAt: Math.floor(now() / 1000),
    files: found.map(({ id }) => id),
    isCancelled: false,
  };
  context.batches.add(batch);
  return json(batchObject(batch, found));
}

/** Those that were removed since are left out. */
async function filesOf({ library }: Context, { store, files }: Batch): Promise<readonly CollectionFile[]> {
  const own = new Set(files);
  return (await library.files(store)).filter(({ id }) => own.has(id));
}

/** It is complete with some failed files, too: the counts tell. */
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

async function search(call: Call, store: string, { library }: Context): Promise<Reply> {
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

async function remove(call: Call, context: Context): Promise<Reply> {
  const [store = '', what, file, ...more] = targetOf(call);
  if (more.length > 0) throw unknownPath(call);
  await storeOf(context, store);
  if (what === undefined) {
    await context.library.delete(store);
    return json({ id: store, object: 'vector_store.deleted', deleted: true });
  }
  if (what !== 'files' || file === undefined) throw unknownPath(call);
  await fileOf(context, store, file);
  await context.library.removeFile(store, file);
  return json({ id: file, object: 'vector_store.file.deleted', deleted: true });
}
