import { createHash, webcrypto } from 'node:crypto';

/** The checksum of a snapshot, from its pieces in order. */
interface Checksum {
  /** Resolves when it takes the next piece. */
  add(piece: Uint8Array): Promise<void>;
  /** In hex. */
  digest(): Promise<string>;
}

/** A part is summed up in pieces of this many bytes. */
export const pieceBytes = 4 * 2 ** 20;
/** The size of Node's thread pool, which computes the hashes. */
const maxConcurrent = 4;

/** The SHA-256 of the SHA-256 of each piece: other threads compute those, several at once. Since version 2. */
export function piecewiseChecksum(): Checksum {
  const sums: Promise<ArrayBuffer>[] = [];
  return {
    add: async (piece) => {
      await sums.at(-maxConcurrent);
      sums.push(webcrypto.subtle.digest('SHA-256', piece));
    },
    digest: async () => {
      const hash = createHash('sha256');
      for (const sum of sums) hash.update(new Uint8Array(await sum));
      return hash.digest('hex');
    },
  };
}

/** The SHA-256 of all pieces. Of version 1. */
export function plainChecksum(): Checksum {
  const hash = createHash('sha256');
  return {
    add: async (piece) => void hash.update(piece),
    digest: async () => hash.digest('hex'),
  };
}

/** Adds a part that is in memory as a whole. */
export async function addPart(sum: Checksum, part: Uint8Array): Promise<void> {
  for (let start = 0; start < part.length; start += pieceBytes) await sum.add(part.subarray(start, start + pieceBytes));
}

export async function checksumOf(parts: readonly Uint8Array[]): Promise<string> {
  const sum = piecewiseChecksum();
  for (const part of parts) await addPart(sum, part);
  return sum.digest();
}
