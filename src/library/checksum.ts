import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** The hash of a whole file. `progress` is told how many bytes are done. */
export async function fileHash(
  path: string,
  algorithm: 'sha256' | 'sha512',
  progress: (bytes: number) => void = () => {},
): Promise<Buffer> {
  const hash = createHash(algorithm);
  let done = 0;
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) {
    hash.update(piece as Buffer);
    done += (piece as Buffer).length;
    progress(done);
  }
  return hash.digest();
}

/** What a file must be, in the manner of hubs (`sha256`, hexadecimal) or of packages (`sha512-…`, base64). */
export interface Expected {
  readonly algorithm: 'sha256' | 'sha512';
  readonly digest: Buffer;
}

export function readSha256(text: string): Expected | undefined {
  const digest = /^(?:sha256[:-])?([0-9a-f]{64})$/i.exec(text.trim())?.[1];
  return digest === undefined ? undefined : { algorithm: 'sha256', digest: Buffer.from(digest, 'hex') };
}

export function readIntegrity(text: string): Expected | undefined {
  const digest = /\bsha512-([A-Za-z0-9+/=]+)/.exec(text)?.[1];
  return digest === undefined ? undefined : { algorithm: 'sha512', digest: Buffer.from(digest, 'base64') };
}
