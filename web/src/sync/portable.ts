import { isObject } from '../api/loose.ts';
import { blobOf } from '../files/data-url.ts';

const blobKey = '$blob';

/** A record as JSON; files in it become data URLs. */
export async function toPortable(record: object, toDataUrl: (blob: Blob) => Promise<string>): Promise<string> {
  const blobs = new Map<Blob, string>();
  await collect(record, async (blob) => void blobs.set(blob, await toDataUrl(blob)));
  return JSON.stringify(record, (_, value: unknown) =>
    value instanceof Blob ? { [blobKey]: blobs.get(value) ?? '' } : value,
  );
}

/** Throws an error if the text is no JSON object. */
export function fromPortable(text: string): object {
  const record: unknown = JSON.parse(text, (_, value: unknown) => {
    const url = isObject(value) ? value[blobKey] : undefined;
    return typeof url === 'string' ? blobOf(url) : value;
  });
  if (!isObject(record)) throw new Error('not an object');
  return record;
}

async function collect(value: unknown, take: (blob: Blob) => Promise<void>): Promise<void> {
  if (value instanceof Blob) await take(value);
  else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) if (typeof inner === 'object') await collect(inner, take);
}
