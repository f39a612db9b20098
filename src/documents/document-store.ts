import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type {
  Attributes,
  Collection,
  CollectionFile,
  DocumentHit,
  DocumentTotals,
  ExtractedDocument,
  WatchedFolder,
} from '../core/documents.ts';
import { AppError } from '../core/errors.ts';
import { inSlices } from '../core/slices.ts';
import type { Clock, StartTimer } from '../core/timers.ts';
import { maxDocumentBytes } from './extraction/messages.ts';
import { CollectionFolders } from './folders/collection-folders.ts';
import { contentHash, fileState, type ReadDocument, readingError } from './open-file.ts';
import { maxPassages, OpenCollection, type PassageCandidate, type SearchRules } from './storage/collection.ts';
import { CollectionDatabase } from './storage/collection-database.ts';
import type { CollectionFacts, FileRow, NewFileRow } from './storage/rows.ts';

/** A collection as it is stored; the server knows whether its vectors are outdated. */
export type StoredCollection = Omit<Collection, 'isOutdated'>;

/** The next piece of work on the indexes. */
export type IndexStep =
  | { readonly type: 'read'; readonly collection: string; readonly file: number; readonly name: string }
  | {
      readonly type: 'embed';
      readonly collection: string;
      readonly passages: readonly { readonly id: number; readonly text: string }[];
    };

/** Passed to a method after its arguments: vectors, which are sent as bytes, and the abort signal. */
export interface CallTools {
  readonly vectors: readonly Float32Array[];
  readonly signal: AbortSignal;
}

interface StoreOptions extends Clock {
  readonly folder: string;
  readonly read: ReadDocument;
  readonly warn: (sentence: string) => void;
  /** There is something to index. */
  readonly onWork: () => void;
  readonly startTimer: StartTimer;
  /** Of a collection. */
  readonly maxFiles?: number;
}

const suffix = '.collection';
/** Further uploads are refused, and further files of folders left out. */
const maxFiles = 100_000;
/** No further file is read while this many passages wait for their vectors. Up to then reading comes first: keywords take a hundredth of the time. */
const maxToEmbed = 8192;
/** Attempts to read a file that changes while it is read, as logs do. */
const maxReads = 3;
/** Vectors of several collections are kept in memory up to this size. */
const maxVectorBytes = 200 * 2 ** 20;
/** Vectors that were not searched for this long are dropped from memory. */
const idleMs = 10 * 60_000;
/** The last use is stored at most this often. */
const useEveryMs = 60_000;
const dayMs = 24 * 60 * 60_000;

/** The collections of all owners, each in a file. Runs in the worker process, which has the files to itself. */
export class DocumentStore {
  readonly #collections = new Map<string, OpenCollection>();
  /** The collection that was served last: collections take turns. */
  #lastWork = '';
  readonly #folders: CollectionFolders;

  constructor(private readonly options: StoreOptions) {
    const remove = (collection: OpenCollection, row: FileRow) => this.#removeRow(collection, row);
    this.#folders = new CollectionFolders({ maxFiles, ...options, remove });
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    for (const owner of foldersIn(options.folder)) this.#openAll(owner);
    for (const collection of this.#collections.values()) this.#folders.open(collection);
  }

  async close(): Promise<void> {
    await this.#folders.close();
    for (const collection of this.#collections.values()) collection.close();
    this.#collections.clear();
  }

  totals(): DocumentTotals {
    let [files, passages, waiting] = [0, 0, 0];
    for (const { database } of this.#collections.values()) {
      const counts = database.counts();
      files += counts.files.total;
      passages += counts.passages;
      waiting += counts.files.inProgress;
    }
    return { collections: this.#collections.size, files, passages, waiting };
  }

  async collections(owner: string): Promise<readonly StoredCollection[]> {
    await this.#expire();
    return this.#of(owner)
      .map(collectionOf)
      .sort((one, other) => other.createdAt - one.createdAt);
  }

  create(owner: string, facts: CollectionFacts): StoredCollection {
    const folder = join(this.options.folder, owner);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const database = CollectionDatabase.create(join(folder, `${facts.id}${suffix}`), facts);
    const collection = new OpenCollection(owner, facts.id, database);
    this.#collections.set(facts.id, collection);
    return collectionOf(collection);
  }

  /** `expiresAfterDays: null` removes the expiry. */
  update(
    owner: string,
    id: string,
    change: Omit<Partial<CollectionFacts>, 'expiresAfterDays'> & { readonly expiresAfterDays?: number | null },
  ): StoredCollection {
    const collection = this.#get(owner, id);
    collection.database.change((facts) => {
      const { expiresAfterDays, ...rest } = { ...facts, ...change };
      return typeof expiresAfterDays === 'number' ? { ...rest, expiresAfterDays } : rest;
    });
    return collectionOf(collection);
  }

  async delete(owner: string, id: string): Promise<void> {
    await this.#remove(this.#get(owner, id));
  }

  /** Returns at once: its files are found in the background. */
  async addFolder(owner: string, id: string, folder: WatchedFolder): Promise<StoredCollection> {
    const collection = this.#get(owner, id);
    await this.#folders.add(collection, folder);
    return collectionOf(collection);
  }

  async removeFolder(owner: string, id: string, path: string): Promise<StoredCollection> {
    const collection = this.#get(owner, id);
    await this.#folders.remove(collection, path);
    return collectionOf(collection);
  }

  addFiles(owner: string, id: string, files: readonly NewFileRow[]): readonly CollectionFile[] {
    const { database } = this.#get(owner, id);
    const max = this.options.maxFiles ?? maxFiles;
    if (database.fileCount + files.length > max) {
      const instead = `a collection has at most ${max} files; make another one`;
      throw new AppError('unsupported', { feature: 'Adding these files', instead });
    }
    const added = database.addFiles(files).map(collectionFile);
    this.options.onWork();
    return added;
  }

  files(owner: string, id: string): readonly CollectionFile[] {
    return this.#get(owner, id).database.files().map(collectionFile);
  }

  file(owner: string, id: string, file: string): CollectionFile | undefined {
    const row = this.#get(owner, id).database.file(file);
    return row && collectionFile(row);
  }

  source(owner: string, id: string, file: string) {
    const { name, source, folder } = this.#file(owner, id, file).row;
    return { name, path: source, inFolder: folder !== undefined };
  }

  setAttributes(owner: string, id: string, file: string, attributes: Attributes): CollectionFile {
    const { collection } = this.#file(owner, id, file);
    collection.database.setAttributes(file, attributes);
    return collectionFile(collection.database.file(file) as FileRow);
  }

  cancel(owner: string, id: string, files: readonly string[]): void {
    const { database } = this.#get(owner, id);
    for (const file of files) {
      const row = database.file(file);
      if (row && (row.state === 'new' || row.state === 'embedding')) database.setState(row.key, 'cancelled');
    }
  }

  async removeFile(owner: string, id: string, file: string): Promise<void> {
    const { collection, row } = this.#file(owner, id, file);
    // The next scan would bring it back.
    if (collection.database.folders().some(({ path }) => path === row.folder)) {
      const instead =
        'its folder is watched; delete it there, exclude it in the rules of the folder, or end the watching';
      throw new AppError('unsupported', { feature: `Removing ${row.path}`, instead });
    }
    await this.#removeRow(collection, row);
  }

  /** From every collection of its owner. */
  async forgetFile(owner: string, file: string): Promise<void> {
    for (const collection of this.#of(owner)) {
      const row = collection.database.file(file);
      if (row) await this.#removeRow(collection, row);
    }
  }

  reindex(owner: string, id: string, embedding: string): void {
    const collection = this.#get(owner, id);
    collection.dropVectors();
    collection.database.restart(embedding);
    this.options.onWork();
  }

  text(owner: string, id: string, file: string): string {
    const { collection, row } = this.#file(owner, id, file);
    return collection.database.text(row.key);
  }

  passage(owner: string, id: string): ReturnType<OpenCollection['passage']> {
    const [collection = '', number = ''] = id.split('.');
    const open = this.#collections.get(collection);
    return open?.owner === owner && /^\d{1,15}$/.test(number) ? open.passage(Number(number)) : undefined;
  }

  /** Files are read first, as far as their passages do not wait long for their vectors. `embedding`: the present model. */
  next(embedding: string, limit: number): IndexStep | undefined {
    const all = [...this.#collections.values()];
    const start = all.findIndex(({ id }) => id === this.#lastWork) + 1;
    for (const collection of [...all.slice(start), ...all.slice(0, start)]) {
      const step = this.#nextIn(collection, embedding, limit);
      if (!step) continue;
      this.#lastWork = collection.id;
      return step;
    }
    return undefined;
  }

  #nextIn(collection: OpenCollection, embedding: string, limit: number): IndexStep | undefined {
    const { id, database } = collection;
    // One that was filled where there was no model takes the first that it gets.
    if (database.facts().embedding === '' && embedding !== '') database.restart(embedding);
    const isCurrent = database.facts().embedding === embedding && embedding !== '';
    if (!isCurrent) database.completeWithoutVectors();
    const file = !isCurrent || collection.hasRoom(maxToEmbed) ? database.nextNew() : undefined;
    if (file) return { type: 'read', collection: id, file: file.key, name: file.name };
    const passages = isCurrent ? collection.toEmbed(limit) : [];
    return passages.length > 0 ? { type: 'embed', collection: id, passages } : undefined;
  }

  /** Reads a file and stores its text; what is wrong with it is stored with it. Throws if the disk is full. */
  async read(id: string, key: number, embedding: string, { signal }: CallTools): Promise<void> {
    const collection = this.#collections.get(id);
    const row = collection?.database.fileByKey(key);
    if (!collection || row?.state !== 'new') return;
    const { database } = collection;
    try {
      let state = await fileState(row.source);
      const rules = database.folders().find(({ path }) => path === row.folder);
      const maxBytes = Math.min(rules?.maxFileBytes ?? maxDocumentBytes, maxDocumentBytes);
      let hash = '';
      let document: ExtractedDocument | undefined;
      for (let reads = 1; reads <= maxReads; reads += 1) {
        hash = await contentHash(row, maxBytes, signal);
        if (row.hash === hash) {
          database.unchanged(key, state);
          return;
        }
        document = await this.options.read(row.name, row.source, signal);
        const after = await fileState(row.source);
        if (after.bytes === state.bytes && after.modified === state.modified) break;
        // The text may be of either content. After the last try it is stored with the old state, so that the next scan sees the change.
        hash = '';
        if (reads < maxReads) state = after;
      }
      if (!document) return;
      const hasVectors = embedding !== '' && database.facts().embedding === embedding;
      const written = await inSlices(collection.write(row, document, { hash, ...state }, hasVectors), { signal });
      if (written === 'full') {
        const message = `The collection is full: it has at most ${maxPassages} passages.`;
        database.setState(key, 'failed', { code: 'server_error', message });
      }
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = readingError(error);
      if (failure === 'missing' && row.folder !== undefined) await this.#removeRow(collection, row);
      else {
        await inSlices(collection.clear(key));
        const missing = { code: 'invalid_file', message: `${row.name} is not there any more.` } as const;
        database.setState(key, 'failed', failure === 'missing' ? missing : failure);
      }
    }
  }

  setVectors(id: string, ids: readonly number[], { vectors }: CallTools): void {
    this.#collections.get(id)?.setVectors(ids, vectors);
  }

  /** Candidates of all these collections, the best first. There is a vector for each query, or none. */
  search(
    owner: string,
    ids: readonly string[],
    queries: readonly string[],
    rules: SearchRules,
    { vectors }: CallTools,
  ): readonly PassageCandidate[] {
    const questions = queries.map((query, index) => ({ query, vector: vectors[index] }));
    const collections = ids.map((id) => this.#get(owner, id));
    const candidates = collections.flatMap((collection) => {
      collection.usedAt = this.options.now();
      return collection.search(questions, rules);
    });
    setImmediate(() => this.#used(collections));
    return candidates.sort((one, other) => other.score - one.score).slice(0, rules.limit);
  }

  /** Neighbours as one. */
  joined(owner: string, hits: readonly DocumentHit[]): readonly DocumentHit[] {
    const ids = new Set(hits.map(({ passage }) => passage.collection));
    return [...ids]
      .flatMap((id) => this.#get(owner, id).joined(hits.filter(({ passage }) => passage.collection === id)))
      .sort((one, other) => other.score - one.score);
  }

  /** All watched folders, now. */
  async scan(): Promise<void> {
    await this.#folders.scan();
  }

  /** Resolves when no folder is being scanned. */
  async scanned(): Promise<void> {
    await this.#folders.idle();
  }

  /** Drops vectors that are not used. */
  tidy(): void {
    const loaded = [...this.#collections.values()].filter(({ bytes }) => bytes > 0);
    loaded.sort((one, other) => other.usedAt - one.usedAt);
    let bytes = 0;
    for (const [index, collection] of loaded.entries()) {
      bytes += collection.bytes;
      const isOver = index > 0 && bytes > maxVectorBytes;
      if (isOver || this.options.now() - collection.usedAt > idleMs) collection.dropVectors();
    }
  }

  #used(collections: readonly OpenCollection[]): void {
    this.tidy();
    const seconds = Math.floor(this.options.now() / 1000);
    for (const { id, database } of collections) {
      if (!this.#collections.has(id) || (seconds - database.facts().lastActiveAt) * 1000 < useEveryMs) continue;
      try {
        database.change((facts) => ({ ...facts, lastActiveAt: seconds }));
      } catch (error) {
        this.options.warn(`The last use of ${database.path} could not be stored: ${(error as Error).message}.`);
      }
    }
  }

  async #expire(): Promise<void> {
    for (const collection of this.#collections.values()) {
      const { expiresAfterDays, lastActiveAt } = collection.database.facts();
      if (expiresAfterDays === undefined) continue;
      if (this.options.now() > lastActiveAt * 1000 + expiresAfterDays * dayMs) await this.#remove(collection);
    }
  }

  async #remove(collection: OpenCollection): Promise<void> {
    this.#collections.delete(collection.id);
    await this.#folders.close(collection);
    collection.close();
    const { path } = collection.database;
    for (const file of [path, `${path}-journal`]) rmSync(file, { force: true });
  }

  async #removeRow(collection: OpenCollection, { key }: FileRow): Promise<void> {
    // A reading that is under way ends.
    collection.database.setState(key, 'cancelled');
    await inSlices(collection.clear(key));
    collection.database.deleteFile(key);
  }

  #of(owner: string): readonly OpenCollection[] {
    return [...this.#collections.values()].filter((collection) => collection.owner === owner);
  }

  #get(owner: string, id: string): OpenCollection {
    const collection = this.#collections.get(id);
    if (collection?.owner !== owner) throw new AppError('not-stored', { what: 'collection', id });
    return collection;
  }

  #file(owner: string, id: string, file: string): { readonly collection: OpenCollection; readonly row: FileRow } {
    const collection = this.#get(owner, id);
    const row = collection.database.file(file);
    if (!row) throw new AppError('not-stored', { what: 'file', id: file });
    return { collection, row };
  }

  /** A file that cannot be read is left alone and named. */
  #openAll(owner: string): void {
    const folder = join(this.options.folder, owner);
    for (const name of readdirSync(folder)) {
      if (!name.endsWith(suffix)) continue;
      const path = join(folder, name);
      try {
        const database = CollectionDatabase.open(path);
        const { id } = database.facts();
        this.#collections.set(id, new OpenCollection(owner, id, database));
      } catch (error) {
        this.options.warn(`${path} is left alone: ${(error as Error).message}.`);
      }
    }
  }
}

function foldersIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.endsWith('.lock'))
    .map(({ name }) => name);
}

function collectionOf({ database }: OpenCollection): StoredCollection {
  const { dimensions: _, ...facts } = database.facts();
  return { ...facts, ...database.counts(), folders: database.folders() };
}

function collectionFile(row: FileRow): CollectionFile {
  const { id, name, path, bytes, createdAt, state, error, attributes, chunking, passages, embedded } = row;
  const status = state === 'new' || state === 'embedding' ? 'in_progress' : state;
  return {
    id,
    name,
    bytes,
    createdAt,
    status,
    attributes,
    chunking,
    passages,
    ...(path !== undefined && { path }),
    progress: state === 'completed' ? 1 : passages === 0 ? 0 : 0.1 + (0.9 * embedded) / passages,
    ...(error && { error }),
  };
}
