import { Readable } from 'node:stream';
import {
  type Attributes,
  type Collection,
  type CollectionFile,
  type DocumentHit,
  type DocumentLibrary,
  maxCollectionName,
  type Passage,
  passageUrl,
} from '../../core/documents.ts';
import { AppError } from '../../core/errors.ts';
import { tryParseJson } from '../../core/json.ts';
import { percentDecoded } from '../../core/percent-decoded.ts';
import type { FileLibrary } from '../../core/stored-files.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import type { FormOptions } from '../../http/form.ts';
import { read, write } from '../access.ts';
import type { DialectServices } from '../dialect.ts';
import { readAttributes, readFilter, readMetadata } from '../documents/filters.ts';
import { collectionOf, type DocumentServices, documentsOf, filesOf } from '../documents/library.ts';
import { bodyOf, endpointRow, type PlainEndpoint, rowBelow } from '../endpoint.ts';
import * as f from '../fields.ts';
import { fetchPublic } from '../media.ts';
import { attachment, sentName } from '../stored-files.ts';
import { nativeDialect } from './errors.ts';

export interface DocumentDeps extends DocumentServices, Pick<DialectServices, 'fetchMedia'> {
  /** Administrators: folders of this machine are theirs to share. */
  readonly mayAddFolders?: (call: Call) => boolean;
  /** Of uploads: where they are received, and how much one may have. */
  readonly fileForm?: FormOptions;
}

const readTitle: f.Read<string> = f.described({ type: 'string', maxLength: maxCollectionName }, (value, path) => {
  const name = f.readName(value, path).trim();
  if (name === '' || name.length > maxCollectionName)
    throw f.wrong(path, `a name of 1 to ${maxCollectionName} characters`);
  return name;
});

const createFields = {
  name: f.honoured(readTitle),
  description: f.honoured(f.orElse(f.readText, '')),
  metadata: f.honoured(f.optional(readMetadata), 'Up to 16 pairs of texts.'),
};
const changeFields = {
  name: f.honoured(f.optional(readTitle)),
  description: f.honoured(f.optionalText),
  metadata: f.honoured(f.optional(readMetadata)),
};

interface OwnCollection {
  readonly id: string;
  readonly collection: Collection;
  readonly library: DocumentLibrary;
}

const maxFiles = 100;
const addFields = {
  file_ids: f.honoured(f.optional(f.listOf(f.readName)), 'Files of /v1/files.'),
  url: f.honoured(
    f.optionalName,
    'A web page or a file on the public internet, which the server fetches (10 MB, 10 seconds).',
  ),
  name: f.honoured(f.optional(readTitle), 'With text: the name of the new file.'),
  text: f.honoured(f.optionalText),
  attributes: f.honoured(f.optional(readAttributes), 'For filters: up to 16 pairs. In a form: JSON.'),
  ...f.positions({
    'file (multipart)': f.aside('honoured', `One or more files, up to ${maxFiles}.`),
  }),
};

const folderFields = {
  path: f.honoured(f.readName, 'An absolute path on the machine of the server.'),
  include: f.honoured(
    f.optional(f.listOf(f.readName)),
    'Globs of relative paths; by default every file that can be read.',
  ),
  exclude: f.honoured(f.optional(f.listOf(f.readName))),
  max_file_bytes: f.honoured(f.optional(f.readPositive)),
};
const removeFolderFields = { path: f.honoured(f.readName) };

const maxQueries = 8;
const maxQuery = 4000;
const maxResults = 50;
const searchFields = {
  query: f.honoured(f.optionalText),
  queries: f.honoured(f.optional(f.listOf(f.readText)), 'Several are searched together.'),
  collections: f.honoured(f.optional(f.listOf(f.readName)), 'Ids or names; by default all.'),
  limit: f.honoured(f.orElse(f.wholeBetween(1, maxResults), 10)),
  filter: f.honoured(f.optional(readFilter), 'Of attributes, in the grammar of /v1/vector_stores.'),
  rerank: f.honoured(
    f.optionalFlag,
    'Default with a reranking model; without one a note says that nothing was reranked.',
  ),
  conversation: f.honoured(
    f.optional(f.listOf(f.readText)),
    'Earlier messages, the newest last: a follow-up question is completed from them.',
  ),
};

/** Commands send their requests to a running server there. */
export const documentsPath = '/api/extra/documents';
const path = documentsPath;

/** Collections of documents, for the pages of this server and for scripts. */
export function documentEndpoints(deps: DocumentDeps): PlainEndpoint[] {
  // The `name` of a body is that of a collection or file.
  const row = endpointRow(write('documents'), { method: 'POST', dialect: nativeDialect, modelNamed: () => undefined });
  const library = (call: Call) => documentsOf(call, deps);
  /** The collection that the path names, by id or name. */
  const about =
    (answer: (own: OwnCollection, call: Call, file: string) => Reply | Promise<Reply>) =>
    async (call: Call, _: unknown, name: string, file = ''): Promise<Reply> => {
      const library = documentsOf(call, deps);
      const collection = await collectionOf(library, name);
      return answer({ id: collection.id, collection, library }, call, file);
    };
  return [
    row(
      path,
      'The collections of documents, and whether the caller may add folders.',
      async (call) =>
        json({
          collections: (await library(call).collections()).map(collectionBody),
          can_add_folders: deps.mayAddFolders?.(call) ?? false,
        }),
      { ...read('documents'), method: 'GET', response: 'collections' },
    ),
    row(
      path,
      'Create a collection.',
      async (call) => {
        const { name, ...sent } = f.readFields(createFields, await bodyOf(call));
        return json(collectionBody(await library(call).create({ name, ...f.sentMembers(sent) })));
      },
      { fields: createFields, response: 'collection' },
    ),
    row(`${path}/search`, 'Find passages in collections, the best first.', (call) => search(call, library(call)), {
      ...read('documents'),
      fields: searchFields,
      response: 'searchDocuments',
    }),
    rowBelow(
      row,
      path,
      'A passage, and what collections hold.',
      {
        '{id}': { handle: about(({ collection }) => json(collectionBody(collection))), response: 'collection' },
        '{id}/files': {
          handle: about(async ({ id, library }) => filesReply(await library.files(id))),
          response: 'documentFiles',
        },
        '{id}/files/{file}/text': {
          handle: about(async ({ id, library }, _, file) => textReply(await library.text(id, file))),
          response: 'documentText',
        },
        '{id}/files/{file}/content': {
          handle: about(({ id, library }, _, file) => contentReply(library, id, file)),
          response: 'documentContent',
        },
        'passages/{passage}': {
          handle: (call, _, id) => passageReply(documentsOf(call, deps), id),
          response: 'passage',
        },
      },
      { ...read('documents'), method: 'GET' },
    ),
    rowBelow(
      row,
      path,
      'Change a collection, add files or a folder, index it again.',
      {
        '{id}': {
          handle: about(async ({ id, library }, call) => {
            const sent = f.sentMembers(f.readFields(changeFields, await bodyOf(call)));
            return json(collectionBody(await library.update(id, sent)));
          }),
          fields: changeFields,
          response: 'collection',
        },
        '{id}/files': {
          handle: about(async ({ id }, call) => filesReply(await addFiles(call, id, deps))),
          fields: addFields,
          response: 'documentFiles',
        },
        '{id}/folders': {
          handle: about(async ({ id, library }, call) => {
            refuseFolder(call, deps);
            const { path: folder, max_file_bytes, ...globs } = f.readFields(folderFields, await bodyOf(call));
            const options = f.sentMembers({ ...globs, maxFileBytes: max_file_bytes });
            return json(collectionBody(await library.addFolder(id, { path: folder, ...options })));
          }),
          fields: folderFields,
          response: 'collection',
        },
        '{id}/reindex': {
          handle: about(async ({ id, library }) => {
            await library.reindex(id);
            return json(collectionBody(await collectionOf(library, id)));
          }),
          response: 'collection',
        },
      },
      { form: { ...deps.fileForm, files: maxFiles } },
    ),
    rowBelow(
      row,
      path,
      'Delete a collection, or remove a file or a folder from it.',
      {
        '{id}': {
          handle: about(async ({ id, library }, call) => {
            const files = await library.files(id);
            await library.delete(id);
            return deleteUnused(library, filesOf(call, deps), files);
          }),
          response: 'success',
        },
        '{id}/files/{file}': {
          handle: about(async ({ id, library }, call, file) => {
            const own = await library.file(id, file);
            await library.removeFile(id, file);
            return deleteUnused(library, filesOf(call, deps), own ? [own] : []);
          }),
          response: 'success',
        },
        '{id}/folders': {
          handle: about(async ({ id, library }, call) => {
            refuseFolder(call, deps);
            const folder = f.readFields(removeFolderFields, Object.fromEntries(call.query));
            return json(collectionBody(await library.removeFolder(id, folder.path)));
          }),
          fields: removeFolderFields,
          response: 'collection',
        },
      },
      { method: 'DELETE' },
    ),
  ];
}

const filesReply = (files: readonly CollectionFile[]): Reply => json({ files: files.map(fileBody) });

async function passageReply(library: DocumentLibrary, id: string): Promise<Reply> {
  const match = await library.passage(id);
  if (!match) throw new AppError('not-stored', { what: 'passage', id });
  const { passage, before, after } = match;
  return json({ ...passageBody(passage), before, after });
}

/** Files of clients may be anything: a browser must neither run nor show them as a page of this server. */
const safeHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'cache-control': 'private, no-store',
};

function textReply(text: string): Reply {
  return { status: 200, headers: { ...safeHeaders, 'content-type': 'text/plain; charset=utf-8' }, body: text };
}

async function contentReply(library: DocumentLibrary, id: string, file: string): Promise<Reply> {
  const own = await library.file(id, file);
  if (!own) throw new AppError('not-stored', { what: 'file', id: file });
  const { bytes, stream } = await library.content(id, file);
  const headers = {
    ...safeHeaders,
    'content-type': 'application/octet-stream',
    'content-length': String(bytes),
    'content-disposition': attachment(own.name),
  };
  return { status: 200, headers, stream };
}

async function addFiles(call: Call, id: string, deps: DocumentDeps): Promise<readonly CollectionFile[]> {
  const library = documentsOf(call, deps);
  const uploads = filesOf(call, deps);
  const added: string[] = [];
  const upload = async (name: string, bytes: Uint8Array): Promise<void> => {
    const file = { name, purpose: 'assistants' } as const;
    added.push((await uploads.add(file, Readable.from([bytes]), call.signal)).id);
  };
  const attach = (attributes: Attributes, files: readonly string[] = added) => {
    const entries = files.map((file) => ({ file, attributes }));
    return library.addFiles(id, entries);
  };
  try {
    if (call.form) {
      const sent = call.form.fields.get('attributes')?.at(-1);
      const parsed = tryParseJson(sent ?? '{}');
      if (parsed === undefined) throw f.wrong('attributes', 'a JSON object');
      const attributes = readAttributes(parsed, 'attributes');
      const files = call.form.files.filter(({ field }) => /^files?(?:\[\d*\])?$/.test(field));
      if (files.length === 0) throw f.wrong('file', 'one or more files');
      const named = files.map((file) => ({ ...sentName(file, 'file'), path: file.path }));
      for (const { path: source, ...own } of named) {
        added.push((await uploads.move({ ...own, purpose: 'assistants' }, source)).id);
      }
      return await attach(attributes);
    }
    const { file_ids, url, name, text, attributes = {} } = f.readFields(addFields, await bodyOf(call));
    const kinds = [file_ids, url, text].filter((each) => each !== undefined);
    if (kinds.length !== 1) throw f.wrong('body', 'a form with files, or an object with file_ids, url or text');
    if (file_ids) return await attach(attributes, file_ids);
    if (url === undefined) {
      await upload(name ?? 'note.txt', Buffer.from(text ?? ''));
      return await attach(attributes);
    }
    const page = await fetchedPage(url, call, deps);
    await upload(page.name, page.bytes);
    return await attach({ url: url.slice(0, 512), ...attributes });
  } catch (error) {
    // No collection has them.
    await Promise.all(added.map((file) => uploads.delete(file)));
    throw error;
  }
}

/** A page is named by its address, with the ending of its kind. */
async function fetchedPage(url: string, { signal }: Call, { fetchMedia = fetchPublic }: DocumentDeps) {
  const fetched = await fetchMedia(url, signal);
  if (fetched.type === 'refused')
    throw f.wrong('url', `an address that can be fetched, and this one ${fetched.reason}`);
  const { host, pathname } = new URL(url);
  const last = percentDecoded(pathname.split('/').filter(Boolean).at(-1) ?? '');
  const isPage = /html/i.test(fetched.contentType ?? '');
  if (!isPage) return { name: last || host, bytes: fetched.bytes };
  const title = [host, last.replace(/\.(?:x?html?|php|aspx?)$/i, '')].filter(Boolean).join(' - ');
  return { name: `${title}.html`, bytes: fetched.bytes };
}

/** Deletes the uploads that are in no other collection. */
async function deleteUnused(
  library: DocumentLibrary,
  uploads: FileLibrary,
  removed: readonly CollectionFile[],
): Promise<Reply> {
  const left = new Set(removed.filter((file) => file.path === undefined).map((file) => file.id));
  for (const { id } of left.size > 0 ? await library.collections() : []) {
    for (const file of await library.files(id)) left.delete(file.id);
  }
  await Promise.all([...left].map((file) => uploads.delete(file)));
  return json({ success: true });
}

function refuseFolder(call: Call, { mayAddFolders }: DocumentDeps): void {
  if (mayAddFolders?.(call) !== true) throw new AppError('admin-only', {});
}

async function search(call: Call, library: DocumentLibrary): Promise<Reply> {
  const { limit, ...sent } = f.readFields(searchFields, await bodyOf(call));
  const { filter, rerank, conversation } = sent;
  const queries = (sent.queries ?? [sent.query ?? '']).map((query) => query.trim()).filter((query) => query !== '');
  const field = sent.queries ? 'queries' : 'query';
  if (queries.length === 0) throw f.wrong(field, 'a text that is not empty');
  if (queries.length > maxQueries) throw f.wrong(field, `at most ${maxQueries} texts`);
  if (queries.some((query) => query.length > maxQuery)) throw f.wrong(field, `at most ${maxQuery} characters`);
  const collections = await idsOf(library, sent.collections);
  const matches = await library.search(
    { queries, collections, limit, ...f.sentMembers({ filter, rerank, conversation }) },
    call.signal,
  );
  return json({ queries: matches.queries, results: matches.hits.map(hitBody), notes: matches.notes });
}

/** Of the named collections, or of all. */
async function idsOf(library: DocumentLibrary, names: readonly string[] | undefined): Promise<readonly string[]> {
  if (!names) return (await library.collections()).map(({ id }) => id);
  const collections = await Promise.all(names.map((name) => collectionOf(library, name)));
  return [...new Set(collections.map(({ id }) => id))];
}

function collectionBody(collection: Collection): object {
  const { id, name, description, createdAt, lastActiveAt, bytes, passages, files, folders } = collection;
  const { embedding, isOutdated, metadata, expiresAfterDays } = collection;
  const { inProgress, completed, failed, cancelled, total } = files;
  return {
    id,
    name,
    description,
    created_at: createdAt,
    last_active_at: lastActiveAt,
    bytes,
    passages,
    files: { in_progress: inProgress, completed, failed, cancelled, total },
    folders: folders.map(({ path: folder, include, exclude, maxFileBytes, note }) => {
      return { path: folder, include, exclude, max_file_bytes: maxFileBytes, note: note ?? null };
    }),
    embedding,
    is_outdated: isOutdated,
    metadata,
    expires_after_days: expiresAfterDays ?? null,
  };
}

function fileBody(file: CollectionFile): object {
  const { id, name, path: relative, bytes, createdAt, status, progress, error, attributes, passages } = file;
  return {
    id,
    name,
    ...(relative !== undefined && { path: relative }),
    bytes,
    created_at: createdAt,
    status,
    progress,
    error: error ?? null,
    attributes,
    passages,
  };
}

function passageBody(passage: Passage) {
  const { id, collection, file, name, page, headings, line, start, end, text, attributes } = passage;
  return {
    passage: id,
    collection,
    file,
    name,
    ...(page !== undefined && { page }),
    headings,
    ...(line !== undefined && { line }),
    start,
    end,
    text,
    attributes,
    url: passageUrl(id),
  };
}

function hitBody({ passage, score, found }: DocumentHit): object {
  return { ...passageBody(passage), score, found };
}
