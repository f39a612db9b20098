import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

export async function fileHash(
  path: string,
  algorithm: 'sha256' | 'sha512',
  progress: (bytes: number) => void = () => {},
  signal?: AbortSignal,
): Promise<Buffer> {
  const hash = createHash(algorithm);
  let done = 0;
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20, signal })) {
    hash.update(piece as Buffer);
    done += (piece as Buffer).length;
    progress(done);
  }
  return hash.digest();
}
