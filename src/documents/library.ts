import { basename } from 'node:path';
import type {
  Attributes,
  Collection,
  CollectionFile,
  DocumentHits,
  DocumentLibrary,
  DocumentQuery,
  ExtractedDocument,
  FileContent,
  WatchedFolder,
} from '../core/documents.ts';
import type { EmbeddingService } from '../core/embedding.ts';
import { AppError } from '../core/errors.ts';
import type { FileLibrary } from '../core/stored-files.ts';
import type { StoredCollection } from './document-store.ts';
import { fileContent } from './open-file.ts';
import { fileState } from './read-file.ts';
import { searchDocuments } from './search-documents.ts';
import type { StoreHost } from './store-host.ts';

export interface LibraryParts {
  readonly store: Pick<StoreHost, 'call' | 'search'>;
  readonly embedding: () => EmbeddingService | undefined;
  /** The uploaded files of this owner; undefined where there are none. */
  readonly files: () => FileLibrary | undefined;
  readonly extract: (name: string, bytes: Uint8Array, signal: AbortSignal) => Promise<ExtractedDocument>;
  /** Its folder. */
  readonly owner: string;
  readonly newId: () => string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

type Create = Parameters<DocumentLibrary['create']>[0];
type Update = Parameters<DocumentLibrary['update']>[1];
type NewFiles = Parameters<DocumentLibrary['addFiles']>[1];
type NewFolder = Parameters<DocumentLibrary['addFolder']>[1];

const defaultName = 'Untitled';
const maxFileBytes = 64 * 2 ** 20;

/** The collections of one owner, on the store of all. */
export class OwnDocuments implements DocumentLibrary {
  readonly #parts: LibraryParts;

  constructor(parts: LibraryParts) {
    this.#parts = parts;
  }

  async collections(): Promise<readonly Collection[]> {
    return (await this.#stored()).map((stored) => this.#collection(stored));
  }

  async collection(name: string): Promise<Collection | undefined> {
    const stored = named(await this.#stored(), name);
    return stored && this.#collection(stored);
  }

  async create({ name = defaultName, description = '', metadata = {}, expiresAfterDays }: Create): Promise<Collection> {
    const { store, owner, newId } = this.#parts;
    const createdAt = this.#seconds();
    const stored = await store.call('create', owner, {
      ...{ id: newId(), name, description, metadata, createdAt, lastActiveAt: createdAt },
      ...(expiresAfterDays !== undefined && { expiresAfterDays }),
      ...{ embedding: this.#model(), dimensions: 0 },
    });
    return this.#collection(stored);
  }

  async update(id: string, { name, description, metadata, expiresAfterDays }: Update): Promise<Collection> {
    const stored = await this.#parts.store.call('update', this.#parts.owner, id, {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(metadata !== undefined && { metadata }),
      ...(typeof expiresAfterDays === 'number' && { expiresAfterDays }),
      ...(expiresAfterDays === null && { neverExpires: true }),
      lastActiveAt: this.#seconds(),
    });
    return this.#collection(stored);
  }

  async delete(id: string): Promise<void> {
    await this.#call('delete', id);
  }

  async addFiles(id: string, files: NewFiles): Promise<readonly CollectionFile[]> {
    const library = this.#parts.files();
    const createdAt = this.#seconds();
    const rows = await Promise.all(
      files.map(async ({ file, attributes, chunking }) => {
        const stored = await library?.get(file);
        if (!library || !stored) throw new AppError('not-stored', { what: 'file', id: file });
        const source = await library.path(file);
        return {
          ...{ id: stored.id, name: stored.name, source, ...(await fileState(source)), createdAt },
          ...(attributes && { attributes }),
          ...(chunking && { chunking }),
        };
      }),
    );
    return this.#call('addFiles', id, rows);
  }

  async addFolder(id: string, { path, include = [], exclude = [], maxFileBytes: bytes = maxFileBytes }: NewFolder) {
    const folder: WatchedFolder = { path, include, exclude, maxFileBytes: bytes };
    return this.#collection(await this.#call('addFolder', id, folder));
  }

  async removeFolder(id: string, path: string): Promise<Collection> {
    return this.#collection(await this.#call('removeFolder', id, path));
  }

  async files(id: string): Promise<readonly CollectionFile[]> {
    return this.#call('files', id);
  }

  async file(id: string, file: string): Promise<CollectionFile | undefined> {
    return this.#call('file', id, file);
  }

  async setAttributes(id: string, file: string, attributes: Attributes): Promise<CollectionFile> {
    return this.#call('setAttributes', id, file, attributes);
  }

  async cancel(id: string, files: readonly string[]): Promise<void> {
    await this.#call('cancel', id, files);
  }

  async removeFile(id: string, file: string): Promise<void> {
    await this.#call('removeFile', id, file);
  }

  async forgetFile(file: string): Promise<void> {
    await this.#call('forgetFile', file);
  }

  async reindex(id: string): Promise<void> {
    await this.#call('reindex', id, this.#model());
  }

  async text(id: string, file: string): Promise<string> {
    return this.#call('text', id, file);
  }

  async content(id: string, file: string): Promise<FileContent> {
    const { name, path, inFolder } = await this.#call('source', id, file);
    return fileContent(name, path, inFolder);
  }

  async search(query: DocumentQuery, signal: AbortSignal): Promise<DocumentHits> {
    const stored = await this.#stored();
    const collections = query.collections.map((name) => {
      const collection = named(stored, name);
      if (!collection) throw new AppError('not-stored', { what: 'collection', id: name });
      return collection;
    });
    return searchDocuments(this.#parts, query, [...new Set(collections)], signal);
  }

  async passage(id: string) {
    return this.#call('passage', id);
  }

  async extract(name: string, bytes: Uint8Array, signal: AbortSignal): Promise<ExtractedDocument> {
    return this.#parts.extract(basename(name), bytes, signal);
  }

  #call: OwnCall = (method, ...args) =>
    // biome-ignore lint/suspicious/noExplicitAny: the types of both are those of the method.
    this.#parts.store.call(method, ...([this.#parts.owner, ...args] as any)) as any;

  #stored(): Promise<readonly StoredCollection[]> {
    return this.#parts.store.call('collections', this.#parts.owner);
  }

  #collection(stored: StoredCollection): Collection {
    return { ...stored, isOutdated: stored.passages > 0 && stored.embedding !== this.#model() };
  }

  #model(): string {
    return this.#parts.embedding()?.name ?? '';
  }

  #seconds(): number {
    return Math.floor(this.#parts.now() / 1000);
  }
}

/** A method of the store, without its first argument. */
type OwnMethod = Exclude<Parameters<StoreHost['call']>[0], 'totals' | 'scanned' | 'next'>;
type Store = import('./document-store.ts').DocumentStore;
type OwnCall = <Method extends OwnMethod>(
  method: Method,
  ...args: Parameters<Store[Method]> extends [string, ...infer Rest] ? Rest : never
) => Promise<Awaited<ReturnType<Store[Method]>>>;

/** By id, or else by name; of several the one that was made last. */
function named(collections: readonly StoredCollection[], name: string): StoredCollection | undefined {
  return collections.find(({ id }) => id === name) ?? collections.find((one) => one.name === name);
}
