import type { Native } from './native.ts';
import type { Pointer } from './structs.ts';

/** What a model's file says under a key, as text; empty where it says nothing. */
export function metadata(native: Native, model: Pointer, key: string): string {
  const buffer = new Uint8Array(512);
  const length = native.modelMetadata(model, key, buffer, buffer.length);
  return length > 0 ? Buffer.from(buffer.subarray(0, length)).toString() : '';
}
