import type { CallTools, DocumentStore } from './document-store.ts';

/** What the worker is started with. */
export interface StoreOptions {
  readonly folder: string;
}

/** Methods of the store that the server calls. */
export type StoreMethod = Exclude<keyof DocumentStore, 'close' | 'scan' | 'tidy'>;

export type CallArguments<Method extends StoreMethod> =
  Parameters<DocumentStore[Method]> extends [...infer Own, CallTools] ? Own : Parameters<DocumentStore[Method]>;

export type StoreTask =
  | {
      readonly type: 'call';
      readonly method: StoreMethod;
      readonly args: readonly unknown[];
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
