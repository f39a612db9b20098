import { basename } from 'node:path';
import type { Collection, DocumentLibrary, ExtractedDocument, WatchedFolder } from '../core/documents.ts';
import type { EmbeddingService } from '../core/embedding.ts';
import { AppError } from '../core/errors.ts';
import type { FileLibrary } from '../core/stored-files.ts';
import type { Clock } from '../core/timers.ts';
import type { DocumentStore, StoredCollection } from './document-store.ts';
import type { StoreMethod } from './messages.ts';
import { fileContent, fileState } from './open-file.ts';
import { searchDocuments } from './search-documents.ts';
import type { StoreHost } from './store-host.ts';

interface LibraryOptions extends Pick<Clock, 'now'> {
  readonly store: Pick<StoreHost, 'call' | 'callWith'>;
  readonly embedding: () => EmbeddingService | undefined;
  /** The uploaded files of this owner; undefined where there are none. */
  readonly files: () => FileLibrary | undefined;
  readonly extract: (name: string, bytes: Uint8Array, signal: AbortSignal) => Promise<ExtractedDocument>;
  /** Its folder. */
  readonly owner: string;
  readonly newId: () => string;
}

const defaultName = 'Untitled';
const defaultMaxFileBytes = 64 * 2 ** 20;

/** The collections of one owner, on the store of all. */
export function documentLibrary(options: LibraryOptions): DocumentLibrary {
  const { store, embedding, files: filesOfOwner, extract, owner, newId, now } = options;
  const ownCall: OwnCall = (method, ...args) =>
    // biome-ignore lint/suspicious/noExplicitAny: the types of both are those of the method.
    store.call(method, ...([owner, ...args] as any)) as any;
  /** A method of the store for this owner. */
  const own =
    <Method extends OwnMethod>(method: Method) =>
    (...args: OwnArguments<Method>) =>
      ownCall(method, ...args);
  const model = (): string => embedding()?.name ?? '';
  const seconds = (): number => Math.floor(now() / 1000);
  const storedCollections = own('collections');
  const collectionOf = (stored: StoredCollection): Collection => ({
    ...stored,
    isOutdated: stored.passages > 0 && stored.embedding !== model(),
  });

  return {
    collections: async () => (await storedCollections()).map(collectionOf),
    collection: async (name) => {
      const stored = named(await storedCollections(), name);
      return stored && collectionOf(stored);
    },
    create: async ({ name = defaultName, description = '', metadata = {}, ...expiry }) => {
      const createdAt = seconds();
      const own = { id: newId(), name, description, metadata, createdAt, lastActiveAt: createdAt, ...expiry };
      return collectionOf(await ownCall('create', { ...own, embedding: model(), dimensions: 0 }));
    },
    update: async (id, change) => collectionOf(await ownCall('update', id, { ...change, lastActiveAt: seconds() })),
    delete: own('delete'),
    addFiles: async (id, files) => {
      const library = filesOfOwner();
      const createdAt = seconds();
      const rows = files.map(async ({ file, attributes, chunking }) => {
        const upload = await library?.get(file);
        if (!library || !upload) throw new AppError('not-stored', { what: 'file', id: file });
        const source = await library.path(file);
        return {
          id: upload.id,
          name: upload.name,
          source,
          ...(await fileState(source)),
          createdAt,
          ...(attributes && { attributes }),
          ...(chunking && { chunking }),
        };
      });
      return ownCall('addFiles', id, await Promise.all(rows));
    },
    addFolder: async (id, { path, include = [], exclude = [], maxFileBytes = defaultMaxFileBytes }) => {
      const folder: WatchedFolder = { path, include, exclude, maxFileBytes };
      return collectionOf(await ownCall('addFolder', id, folder));
    },
    removeFolder: async (id, path) => collectionOf(await ownCall('removeFolder', id, path)),
    files: own('files'),
    file: own('file'),
    setAttributes: own('setAttributes'),
    cancel: own('cancel'),
    removeFile: own('removeFile'),
    forgetFile: own('forgetFile'),
    reindex: (id) => ownCall('reindex', id, model()),
    text: own('text'),
    content: async (id, file) => {
      const { name, path, inFolder } = await ownCall('source', id, file);
      return fileContent(name, path, inFolder);
    },
    search: async (query, signal) => {
      const all = await storedCollections();
      const collections = query.collections.map((name) => {
        const collection = named(all, name);
        if (!collection) throw new AppError('not-stored', { what: 'collection', id: name });
        return collection;
      });
      return searchDocuments(options, query, [...new Set(collections)], signal);
    },
    passage: own('passage'),
    extract: (name, bytes, signal) => extract(basename(name), bytes, signal),
  };
}

/** A method of the store whose first argument is the owner. */
type OwnMethod = Exclude<StoreMethod, 'totals' | 'scanned' | 'next' | 'read' | 'setVectors' | 'search'>;
type OwnArguments<Method extends OwnMethod> =
  Parameters<DocumentStore[Method]> extends [string, ...infer Rest] ? Rest : never;
type OwnCall = <Method extends OwnMethod>(
  method: Method,
  ...args: OwnArguments<Method>
) => Promise<Awaited<ReturnType<DocumentStore[Method]>>>;

/** By id, or else by name: the newest of several. */
function named(collections: readonly StoredCollection[], name: string): StoredCollection | undefined {
  return collections.find(({ id }) => id === name) ?? collections.find((one) => one.name === name);
}
