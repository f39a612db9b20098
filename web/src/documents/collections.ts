import { call, read } from '../api/call.ts';
import type { FoundBy } from '../conversations/conversation.ts';

/** The calls of `api/extra/documents`: collections of the server, their files, and passages. */

export interface Collection {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly bytes: number;
  readonly passages: number;
  readonly files: {
    readonly in_progress: number;
    readonly completed: number;
    readonly failed: number;
    readonly cancelled: number;
    readonly total: number;
  };
  readonly folders: readonly CollectionFolder[];
  /** The embedding model of its vectors. */
  readonly embedding: string;
  /** Its vectors are of another model than the server has now. */
  readonly is_outdated: boolean;
}

export interface CollectionFolder {
  readonly path: string;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** What was left out of it, or why it cannot be read. */
  readonly note?: string | null;
}

export interface CollectionFile {
  readonly id: string;
  readonly name: string;
  /** In a watched folder: the path relative to it. */
  readonly path?: string | null;
  readonly bytes: number;
  readonly status: 'in_progress' | 'completed' | 'cancelled' | 'failed';
  /** 0 to 1. */
  readonly progress: number;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly passages: number;
}

export interface FoundPassage {
  readonly passage: string;
  readonly collection: string;
  readonly file: string;
  readonly name: string;
  readonly page?: number | null;
  readonly headings?: readonly string[];
  readonly line?: number | null;
  /** UTF-16 units in the text of the file. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** Of a web page: its address, as `url`. */
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly found?: FoundBy;
}

/** With the text around it. */
export interface PassageInPlace extends FoundPassage {
  readonly before: string;
  readonly after: string;
}

interface PassageQuery {
  readonly query: string;
  /** Ids; all collections if missing. */
  readonly collections?: readonly string[];
  readonly limit?: number;
  /** Earlier messages, the newest last. */
  readonly conversation?: readonly string[];
}

interface CollectionList {
  readonly collections: readonly Collection[];
  readonly can_add_folders: boolean;
}

const root = 'api/extra/documents';
const of = (id: string, rest = ''): string => `${root}/${encodeURIComponent(id)}${rest}`;
const ofFile = (id: string, file: string, rest = ''): string => of(id, `/files/${encodeURIComponent(file)}${rest}`);

export const fetchCollections = (background = true): Promise<CollectionList> =>
  read<CollectionList>(root, { background });

export const createCollection = (name: string, description = ''): Promise<Collection> =>
  read<Collection>(root, { body: { name, description } });

export const changeCollection = (
  id: string,
  change: Partial<Pick<Collection, 'name' | 'description'>>,
): Promise<Collection> => read<Collection>(of(id), { body: change });

export const deleteCollection = (id: string): Promise<unknown> => call(of(id), { method: 'DELETE' });

export const reindex = (id: string): Promise<unknown> => call(of(id, '/reindex'), { body: {} });

export async function fetchFiles(id: string): Promise<readonly CollectionFile[]> {
  const { files } = await read<{ files: readonly CollectionFile[] }>(of(id, '/files'), { background: true });
  return files;
}

/** An address is fetched by the server. */
export type NewContent = File | { readonly url: string } | { readonly name: string; readonly text: string };

export async function addContent(id: string, content: NewContent, signal?: AbortSignal): Promise<unknown> {
  if (!(content instanceof File)) return call(of(id, '/files'), { body: content, signal });
  const form = new FormData();
  form.append('file', content, content.name);
  return call(of(id, '/files'), { body: form, signal });
}

export const removeFile = (id: string, file: string): Promise<unknown> => call(ofFile(id, file), { method: 'DELETE' });

export const addFolder = (
  id: string,
  folder: Pick<CollectionFolder, 'path'> & Partial<CollectionFolder>,
): Promise<unknown> => call(of(id, '/folders'), { body: folder });

export const removeFolder = (id: string, path: string): Promise<unknown> =>
  call(of(id, `/folders?path=${encodeURIComponent(path)}`), { method: 'DELETE' });

export interface SearchAnswer {
  readonly results: readonly FoundPassage[];
  /** What kept the search from being complete, as sentences. */
  readonly notes: readonly string[];
}

export const searchPassages = (query: PassageQuery, signal?: AbortSignal): Promise<SearchAnswer> =>
  read<SearchAnswer>(`${root}/search`, { body: query, signal });

export const fetchPassage = (id: string, signal?: AbortSignal): Promise<PassageInPlace> =>
  read<PassageInPlace>(`${root}/passages/${encodeURIComponent(id)}`, { signal });

export async function fetchText(id: string, file: string): Promise<string> {
  return (await call(ofFile(id, file, '/text'))).text();
}

export async function fetchContent(id: string, file: string): Promise<Blob> {
  return (await call(ofFile(id, file, '/content'))).blob();
}

/** The name, or with a number the first one that no collection has. */
export function freeName(name: string, collections: readonly Pick<Collection, 'name'>[]): string {
  const taken = new Set(collections.map((one) => one.name.toLowerCase()));
  let free = name;
  for (let number = 2; taken.has(free.toLowerCase()); number += 1) free = `${name} ${number}`;
  return free;
}
