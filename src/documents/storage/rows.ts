import type { Attributes, Chunking, Collection, CollectionFile, PassageLocation } from '../../core/documents.ts';
import type { SqlRow } from './sqlite.ts';

/** What a collection says about itself. */
export interface CollectionFacts extends Omit<Collection, 'bytes' | 'files' | 'passages' | 'folders' | 'isOutdated'> {
  /** Of its vectors; 0 until the first one is stored. */
  readonly dimensions: number;
}

/** `new`: its text is not read yet. `embedding`: some of its passages have no vector yet. */
export type FileState = 'new' | 'embedding' | 'completed' | 'failed' | 'cancelled';

/** A file as it is stored. */
export interface FileRow extends Omit<CollectionFile, 'status' | 'progress'> {
  readonly key: number;
  readonly state: FileState;
  /** Incremented whenever the file has to be read again. */
  readonly generation: number;
  /** Its path on the disk. */
  readonly source: string;
  /** The watched folder that it belongs to. */
  readonly folder?: string;
  /** Hash of the indexed content. */
  readonly hash: string;
  readonly modified: number;
  readonly title: string;
  readonly embedded: number;
}

export interface NewFileRow extends Pick<FileRow, 'id' | 'name' | 'source' | 'bytes' | 'modified' | 'createdAt'> {
  readonly folder?: string;
  readonly path?: string;
  readonly attributes?: Attributes;
  readonly chunking?: Chunking;
}

export interface StoredPassage extends PassageLocation {
  readonly id: number;
  readonly file: number;
  readonly header?: string;
}

export function fileRow(row: SqlRow): FileRow {
  const { folder, path, error } = row;
  return {
    key: number(row.key),
    id: text(row.id),
    name: text(row.name),
    source: text(row.source),
    ...(typeof folder === 'string' && { folder }),
    ...(typeof path === 'string' && { path }),
    bytes: number(row.bytes),
    modified: number(row.modified),
    hash: text(row.hash),
    createdAt: number(row.created_at),
    state: text(row.state) as FileState,
    generation: number(row.generation),
    ...(typeof error === 'string' && { error: JSON.parse(error) }),
    attributes: JSON.parse(text(row.attributes)),
    chunking: JSON.parse(text(row.chunking)),
    title: text(row.title),
    passages: number(row.passages),
    embedded: number(row.embedded),
  };
}

export function storedPassage({ id, file, start, end, page, line, headings, header }: SqlRow): StoredPassage {
  return {
    id: number(id),
    file: number(file),
    start: number(start),
    end: number(end),
    ...(page !== null && { page: number(page) }),
    ...(line !== null && { line: number(line) }),
    headings: JSON.parse(text(headings)),
    ...(typeof header === 'string' && { header }),
  };
}

export const number = (value: unknown): number => Number(value ?? 0);
export const text = (value: unknown): string => String(value ?? '');

export const optional = <Value, Result>(
  value: Value | undefined,
  then: (value: Value) => Result,
): Result | undefined => (value === undefined ? undefined : then(value));
