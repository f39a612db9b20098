import type { DocumentStore } from './document-store.ts';
import type { Question, SearchRules } from './storage/collection.ts';

/** What the worker is started with. */
export interface StoreOptions {
  readonly folder: string;
}

/** Methods of the store that need no bytes and no signal. */
export type StoreMethod =
  | 'totals'
  | 'scanned'
  | 'collections'
  | 'create'
  | 'update'
  | 'delete'
  | 'addFiles'
  | 'addFolder'
  | 'removeFolder'
  | 'files'
  | 'file'
  | 'source'
  | 'setAttributes'
  | 'cancel'
  | 'removeFile'
  | 'forgetFile'
  | 'reindex'
  | 'text'
  | 'passage'
  | 'next'
  | 'joined';

type StoreCall = {
  readonly [Method in StoreMethod]: {
    readonly type: 'call';
    readonly method: Method;
    readonly args: Parameters<DocumentStore[Method]>;
  };
}[StoreMethod];

export type StoreTask =
  | StoreCall
  | { readonly type: 'read'; readonly collection: string; readonly file: number; readonly embedding: string }
  | {
      readonly type: 'setVectors';
      readonly collection: string;
      readonly ids: readonly number[];
      readonly vectors: readonly Uint8Array[];
    }
  | {
      readonly type: 'search';
      readonly owner: string;
      readonly collections: readonly string[];
      readonly queries: readonly Question['query'][];
      readonly rules: SearchRules;
      /** One for each query, or none. */
      readonly vectors: readonly Uint8Array[];
    }
  /** Never ends: an event whenever there is something to index. */
  | { readonly type: 'watch'; readonly nonce: string };

/** `undefined` is no JSON: the result is missing then. */
export type StoreEvent = { readonly type: 'result'; readonly result?: unknown } | { readonly type: 'work' };

export function bytesOf(vector: Float32Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

export function vectorOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(bytes.slice().buffer);
}
