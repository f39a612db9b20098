/** How the text of a file is cut: along its structure, or into windows of tokens where a client asks for that. */
export type Chunking =
  | { readonly type: 'structure' }
  | { readonly type: 'static'; readonly maxTokens: number; readonly overlapTokens: number };

/** What a client attaches to a file, for filters. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

export type IndexStatus = 'in_progress' | 'completed' | 'cancelled' | 'failed';

/** Files by the state of their index. */
export interface IndexCounts {
  readonly inProgress: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly total: number;
}

/** A folder of this machine whose files are indexed again when they change. */
export interface WatchedFolder {
  readonly path: string;
  /** Globs of relative paths; by default every kind of file that can be read. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly maxFileBytes: number;
  /** What of it is not indexed, and why, as sentences. */
  readonly note?: string;
}

/** In characters. */
export const maxCollectionName = 256;

export interface Collection {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly lastActiveAt: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** Deleted after this many days without use. */
  readonly expiresAfterDays?: number;
  /** Of its documents. */
  readonly bytes: number;
  readonly files: IndexCounts;
  readonly passages: number;
  readonly folders: readonly WatchedFolder[];
  /** The embedding model of its vectors. */
  readonly embedding: string;
  /** Its vectors are of another model than the server has now: only keywords are searched until it is indexed again. */
  readonly isOutdated: boolean;
}

/** A file in a collection: one that a client uploaded, or one of a folder. */
export interface CollectionFile {
  /** Of an uploaded file, its id there. */
  readonly id: string;
  readonly name: string;
  /** In a watched folder: the path relative to it. */
  readonly path?: string;
  readonly bytes: number;
  readonly createdAt: number;
  readonly status: IndexStatus;
  /** 0 to 1, while it is indexed. */
  readonly progress: number;
  readonly error?: { readonly code: 'server_error' | 'unsupported_file' | 'invalid_file'; readonly message: string };
  readonly attributes: Attributes;
  readonly chunking: Chunking;
  readonly passages: number;
}

/** The location of a passage in its document. */
export interface PassageLocation {
  /** From 1. */
  readonly page?: number;
  /** The headings above it, the outermost first. */
  readonly headings: readonly string[];
  /** Of the first line, from 1, where the text has lines. */
  readonly line?: number;
  /** UTF-16 units in the text of the file. */
  readonly start: number;
  readonly end: number;
}

export interface Passage extends PassageLocation {
  /** `COLLECTION.NUMBER`. */
  readonly id: string;
  readonly collection: string;
  readonly file: string;
  readonly name: string;
  readonly attributes: Attributes;
  readonly text: string;
}

export type Filter =
  | {
      readonly type: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte';
      readonly key: string;
      readonly value: string | number | boolean;
    }
  | { readonly type: 'in' | 'nin'; readonly key: string; readonly value: readonly (string | number | boolean)[] }
  | { readonly type: 'and' | 'or'; readonly filters: readonly Filter[] };

export interface DocumentQuery {
  /** Several are searched together. */
  readonly queries: readonly string[];
  /** Ids or names. */
  readonly collections: readonly string[];
  readonly limit: number;
  readonly filter?: Filter;
  /** Of the score, 0 to 1. */
  readonly threshold?: number;
  /** By default only by a model that does nothing else. */
  readonly rerank?: boolean;
  readonly weights?: { readonly vector: number; readonly keywords: number };
  /** Earlier messages, the newest last: a follow-up question is completed from them. */
  readonly conversation?: readonly string[];
}

export interface DocumentHit {
  /** Neighbouring passages are joined. */
  readonly passage: Passage;
  /** 0 to 1, the best first. */
  readonly score: number;
  /** Its rank, from 1, in each way of searching that found it, and the score of the reranker. */
  readonly found: { readonly vector?: number; readonly keywords?: number; readonly reranked?: number };
}

export interface DocumentHits {
  /** As they were searched. */
  readonly queries: readonly string[];
  readonly hits: readonly DocumentHit[];
  /** What kept the search from being complete, as sentences. */
  readonly notes: readonly string[];
}

/** A file that is open until its stream ends. */
export interface FileContent {
  readonly bytes: number;
  readonly stream: AsyncIterable<Uint8Array>;
}

interface NewFile {
  readonly file: string;
  readonly attributes?: Attributes;
  readonly chunking?: Chunking;
}

interface NewCollection {
  readonly name?: string;
  readonly description?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly expiresAfterDays?: number;
}

/** The collections of one owner. Methods throw an `AppError`, `not-stored` for ids that this owner does not have. */
export interface DocumentLibrary {
  collections(): Promise<readonly Collection[]>;
  /** By id or name. */
  collection(name: string): Promise<Collection | undefined>;
  create(options: NewCollection): Promise<Collection>;
  /** `null` removes the expiry. */
  update(
    id: string,
    change: Omit<NewCollection, 'expiresAfterDays'> & { readonly expiresAfterDays?: number | null },
  ): Promise<Collection>;
  delete(id: string): Promise<void>;

  /** Uploaded files; returns at once, they are indexed in the background. Files that are there already are indexed again if they differ. */
  addFiles(id: string, files: readonly NewFile[]): Promise<readonly CollectionFile[]>;
  /** Also after a change of the rules. Only for administrators of the server. */
  addFolder(id: string, folder: Pick<WatchedFolder, 'path'> & Partial<WatchedFolder>): Promise<Collection>;
  removeFolder(id: string, path: string): Promise<Collection>;
  /** In a stable order, the newest first. */
  files(id: string): Promise<readonly CollectionFile[]>;
  file(id: string, file: string): Promise<CollectionFile | undefined>;
  setAttributes(id: string, file: string, attributes: Attributes): Promise<CollectionFile>;
  /** Stops indexing the files that are not complete. */
  cancel(id: string, files: readonly string[]): Promise<void>;
  removeFile(id: string, file: string): Promise<void>;
  /** From every collection. */
  forgetFile(file: string): Promise<void>;
  /** Indexes everything again, with the present embedding model. */
  reindex(id: string): Promise<void>;
  /** The extracted text of a file. */
  text(id: string, file: string): Promise<string>;
  /** The file itself. */
  content(id: string, file: string): Promise<FileContent>;

  search(query: DocumentQuery, signal: AbortSignal): Promise<DocumentHits>;
  /** With the text around it. */
  passage(
    id: string,
  ): Promise<{ readonly passage: Passage; readonly before: string; readonly after: string } | undefined>;
  /** Text of a file that is in no collection, for a request that brings it along. */
  extract(name: string, bytes: Uint8Array, signal: AbortSignal): Promise<ExtractedDocument>;
}

/** Of all owners, for the metrics. */
export interface DocumentTotals {
  readonly collections: number;
  readonly files: number;
  readonly passages: number;
  /** Files that are not indexed yet. */
  readonly waiting: number;
}

/** The text of a file, with its structure. */
export interface ExtractedDocument {
  readonly title: string;
  readonly text: string;
  /** In order; each begins where the one before ends. */
  readonly sections: readonly Section[];
  /** Of a PDF. */
  readonly pages?: number;
  /** Its lines are those of the file. */
  readonly hasLines?: boolean;
}

export interface Section {
  readonly start: number;
  readonly end: number;
  readonly page?: number;
  readonly headings: readonly string[];
  /** Code, table and text are cut differently. */
  readonly kind: 'text' | 'code' | 'table';
}

/** The page that shows a passage in its document. */
export function passageUrl(id: string): string {
  return `/documents/${encodeURIComponent(id)}`;
}
/** The file and the page, or else the heading: `handbook.pdf, page 4`. */
export function passageTitle({ name, page, headings }: PassageLocation & { readonly name: string }): string {
  const heading = headings.at(-1);
  if (page !== undefined) return `${name}, page ${page}`;
  return heading === undefined ? name : `${name}, ${heading}`;
}
