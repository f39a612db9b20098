import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  Attributes,
  Chunking,
  Collection,
  CollectionFile,
  DocumentHit,
  DocumentLibrary,
  ExtractedDocument,
  IndexStatus,
  Passage,
  WatchedFolder,
} from '../../core/documents.ts';
import { AppError } from '../../core/errors.ts';
import { Libraries, type LibrariesOf, senderOf } from '../../core/owner.ts';
import type { FileLibrary, NewStoredFile, StoredFile } from '../../core/stored-files.ts';
import { fileContent } from '../open-file.ts';
import { matches } from '../search/filter.ts';

interface HeldFile {
  id: string;
  name: string;
  bytes: number;
  text: string;
  path: string;
  status: IndexStatus;
  attributes: Attributes;
  chunking: Chunking;
}

interface HeldCollection {
  id: string;
  name: string;
  description: string;
  metadata: Readonly<Record<string, string>>;
  expiresAfterDays?: number | undefined;
  folders: WatchedFolder[];
  files: Map<string, HeldFile>;
}

export interface MemoryOptions {
  /** For the content of files. */
  readonly folder: string;
  /** How often a file is asked for until it is indexed; 0 by default. */
  readonly asksUntilIndexed?: number;
  /** Other files than those in memory. */
  readonly files?: LibrariesOf<FileLibrary>;
}

/** Uploaded files and collections in memory: paragraphs are passages, and words are searched. */
export function memoryLibraries({ folder, asksUntilIndexed = 0, files: others }: MemoryOptions) {
  let number = 0;
  const next = (prefix: string): string => `${prefix}${++number}`;
  const files = others ?? new Libraries((): FileLibrary => memoryFiles(folder, next));
  const documents = new Libraries(
    (owner): DocumentLibrary => memoryDocuments(files.of(senderOf(owner)), next, asksUntilIndexed),
  );
  return { files, documents };
}

function memoryFiles(folder: string, next: (prefix: string) => string): FileLibrary {
  const held = new Map<string, StoredFile>();
  const found = (id: string): StoredFile => held.get(id) ?? missing('file', id);
  const keep = ({ id = next('file-'), ...file }: NewStoredFile, bytes: Uint8Array): StoredFile => {
    writeFileSync(join(folder, id), bytes);
    const stored = { mime: 'application/octet-stream', ...file, id, bytes: bytes.length, createdAt: 1000 };
    held.set(id, stored);
    return stored;
  };
  return {
    list: async () => [...held.values()].toReversed(),
    get: async (id) => held.get(id),
    add: async (file, content, signal) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of content) pieces.push(piece);
      signal.throwIfAborted();
      return keep(file, Buffer.concat(pieces));
    },
    move: async (file, path) => keep(file, readFileSync(path)),
    newId: () => next('file-'),
    path: async (id) => join(folder, found(id).id),
    delete: async (id) => held.delete(id),
  };
}

function memoryDocuments(
  uploads: FileLibrary,
  next: (prefix: string) => string,
  asksUntilIndexed: number,
): DocumentLibrary {
  const held = new Map<string, HeldCollection>();
  const waiting = new Map<HeldFile, number>();
  const collectionOf = (id: string): HeldCollection => held.get(id) ?? missing('collection', id);
  const fileOf = (id: string, file: string): HeldFile => collectionOf(id).files.get(file) ?? missing('file', file);
  const named = (name: string) => held.get(name) ?? [...held.values()].find((each) => each.name === name);

  async function read(file: string): Promise<{ readonly stored: StoredFile; readonly text: string }> {
    const { readFile } = await import('node:fs/promises');
    const stored = (await uploads.get(file)) ?? missing('file', file);
    return { stored, text: await readFile(await uploads.path(file), 'utf8') };
  }

  async function add(id: string, file: string, attributes: Attributes, chunking: Chunking): Promise<CollectionFile> {
    const collection = collectionOf(id);
    const { stored, text } = await read(file);
    const status = text.trim() === '' ? 'failed' : asksUntilIndexed > 0 ? 'in_progress' : 'completed';
    const path = await uploads.path(file);
    const own: HeldFile = { ...stored, text, path, status, attributes, chunking };
    collection.files.set(stored.id, own);
    if (status === 'in_progress') waiting.set(own, asksUntilIndexed);
    return fileFacts(own);
  }

  function asked(file: HeldFile): CollectionFile {
    const left = waiting.get(file);
    if (left !== undefined && file.status === 'in_progress') {
      if (left <= 0) file.status = 'completed';
      waiting.set(file, left - 1);
    }
    return fileFacts(file);
  }

  const library: DocumentLibrary = {
    collections: async () => [...held.values()].toReversed().map(collectionFacts),
    collection: async (name) => {
      const collection = named(name);
      if (!collection) return undefined;
      for (const file of collection.files.values()) asked(file);
      return collectionFacts(collection);
    },
    create: async ({ name = '', description = '', metadata = {}, expiresAfterDays }) => {
      const id = next('vs_');
      held.set(id, { id, name, description, metadata, expiresAfterDays, folders: [], files: new Map() });
      return collectionFacts(collectionOf(id));
    },
    update: async (id, { expiresAfterDays, ...change }) => {
      const collection = collectionOf(id);
      Object.assign(collection, change);
      if (expiresAfterDays !== undefined) collection.expiresAfterDays = expiresAfterDays ?? undefined;
      return collectionFacts(collection);
    },
    delete: async (id) => {
      collectionOf(id);
      held.delete(id);
    },
    addFiles: (id, files) =>
      Promise.all(
        files.map(({ file, attributes = {}, chunking = { type: 'structure' } }) => add(id, file, attributes, chunking)),
      ),
    addFolder: async (id, { path, include = [], exclude = [], maxFileBytes = 1e6 }) => {
      const collection = collectionOf(id);
      collection.folders.push({ path, include, exclude, maxFileBytes });
      return collectionFacts(collection);
    },
    removeFolder: async (id, path) => {
      const collection = collectionOf(id);
      collection.folders = collection.folders.filter((folder) => folder.path !== path);
      return collectionFacts(collection);
    },
    files: async (id) => [...collectionOf(id).files.values()].toReversed().map(fileFacts),
    file: async (id, file) => {
      const own = collectionOf(id).files.get(file);
      return own && asked(own);
    },
    setAttributes: async (id, file, attributes) => {
      const own = fileOf(id, file);
      own.attributes = attributes;
      return fileFacts(own);
    },
    cancel: async (id, files) => {
      for (const file of files) {
        const own = collectionOf(id).files.get(file);
        if (own?.status === 'in_progress') own.status = 'cancelled';
      }
    },
    removeFile: async (id, file) => {
      fileOf(id, file);
      collectionOf(id).files.delete(file);
    },
    forgetFile: async (file) => {
      for (const { files } of held.values()) files.delete(file);
    },
    reindex: async (id) => void collectionOf(id),
    text: async (id, file) => fileOf(id, file).text,
    content: async (id, file) => fileContent(fileOf(id, file).name, fileOf(id, file).path, false),
    search: async ({ queries, collections, limit, filter, threshold = 0 }) => {
      const words = queries.flatMap((query) => query.toLowerCase().match(/\p{L}+/gu) ?? []);
      const hits = collections.flatMap((name) => {
        const collection = named(name) ?? missing('collection', name);
        return passagesOf(collection).flatMap((passage): DocumentHit[] => {
          const count = words.filter((word) => passage.text.toLowerCase().includes(word)).length;
          const score = words.length === 0 ? 0 : count / words.length;
          const isHit = score > 0 && score >= threshold && (!filter || matches(filter, passage.attributes));
          return isHit ? [{ passage, score, found: { keywords: 1 } }] : [];
        });
      });
      return { queries, hits: hits.sort((a, b) => b.score - a.score).slice(0, limit), notes: [] };
    },
    passage: async (id) => {
      const passage = [...held.values()].flatMap(passagesOf).find((each) => each.id === id);
      if (!passage) return undefined;
      const { text } = fileOf(passage.collection, passage.file);
      return { passage, before: text.slice(0, passage.start), after: text.slice(passage.end) };
    },
    extract: async (name, bytes) => memoryExtract(name, bytes),
  };
  return library;
}

/** Form feeds separate pages, and lines with `#` are headings. */
function memoryExtract(name: string, bytes: Uint8Array): ExtractedDocument {
  const pages = Buffer.from(bytes).toString('utf8').split('\f');
  const text = pages.join('\n');
  let start = 0;
  const sections = pages.map((page, index) => {
    const end = Math.min(text.length, start + page.length + 1);
    const section = { start, end, headings: [], kind: 'text' as const, ...(pages.length > 1 && { page: index + 1 }) };
    start = end;
    return section;
  });
  return { title: name, text, sections, ...(pages.length > 1 && { pages: pages.length }) };
}

function passagesOf({ id: collection, files }: HeldCollection): readonly Passage[] {
  let number = 0;
  return [...files.values()].flatMap(({ id: file, name, text, attributes, status }) => {
    if (status !== 'completed') return [];
    return [...text.matchAll(/[^\n](?:[^\n]|\n(?!\n))*/g)].map(({ 0: own, index: start }): Passage => {
      number += 1;
      const place = { start, end: start + own.length, headings: ['Chapter'], page: 1 };
      return { ...place, id: `${collection}.${number}`, collection, file, name, attributes, text: own };
    });
  });
}

function fileFacts(file: HeldFile): CollectionFile {
  const { id, name, bytes, status, attributes, chunking } = file;
  const unreadable = { code: 'unsupported_file', message: 'There is no text in it.' } as const;
  return {
    id,
    name,
    bytes,
    createdAt: 1000,
    status,
    progress: status === 'completed' ? 1 : 0,
    ...(status === 'failed' && { error: unreadable }),
    attributes,
    chunking,
    passages: status === 'completed' ? 1 : 0,
  };
}

function collectionFacts(collection: HeldCollection): Collection {
  const { id, name, description, metadata, expiresAfterDays, folders } = collection;
  const files = [...collection.files.values()];
  const count = (status: IndexStatus): number => files.filter((file) => file.status === status).length;
  return {
    id,
    name,
    description,
    metadata,
    folders,
    createdAt: 1000,
    lastActiveAt: 2000,
    ...(expiresAfterDays !== undefined && { expiresAfterDays }),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    files: {
      inProgress: count('in_progress'),
      completed: count('completed'),
      failed: count('failed'),
      cancelled: count('cancelled'),
      total: files.length,
    },
    passages: passagesOf(collection).length,
    embedding: 'mini',
    isOutdated: false,
  };
}

function missing(what: string, id: string): never {
  throw new AppError('not-stored', { what, id });
}
