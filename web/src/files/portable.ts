import { bytesIn, fieldsOf, isObject, numberIn } from '../api/loose.ts';
import { blobOf, dataUrlOf } from './data-url.ts';

/** A record as JSON; files and typed arrays in it become objects with one field. */
export async function toPortable(record: object, toDataUrl: typeof dataUrlOf = dataUrlOf): Promise<string> {
  const encoded = new Map<unknown, object>();
  const collect = async (value: object): Promise<void> => {
    if (value instanceof Blob) encoded.set(value, { $blob: await toDataUrl(value) });
    else if (value instanceof Float32Array) encoded.set(value, { $floats: [...value] });
    else if (value instanceof ArrayBuffer || ArrayBuffer.isView(value))
      encoded.set(value, { $bytes: await toDataUrl(new Blob([value as BlobPart])) });
    else
      for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) await collect(inner);
  };
  await collect(record);
  return JSON.stringify(record, (_, value: unknown) => encoded.get(value) ?? value);
}

/** Throws an error if the text is no JSON object. */
export function fromPortable(text: string): object {
  const record = decoded(JSON.parse(text));
  if (!isObject(record)) throw new Error('not an object');
  return record;
}

/** Parsed JSON with the files and typed arrays that `toPortable` has encoded. */
export function decoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decoded);
  if (typeof value !== 'object' || value === null) return value;
  const { $blob, $bytes, $floats } = fieldsOf(value);
  if (typeof $blob === 'string') return blobOf($blob);
  if (typeof $bytes === 'string') return bytesIn($bytes.slice($bytes.indexOf(',') + 1));
  if (Array.isArray($floats)) return Float32Array.from($floats, (one) => numberIn(one, 0));
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, decoded(one)]));
}
