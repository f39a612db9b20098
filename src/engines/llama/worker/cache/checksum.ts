import { createHash, webcrypto } from 'node:crypto';

/** The checksum of a snapshot, from its pieces in order; the digest is in hex. */
type Checksum = ReturnType<typeof piecewiseChecksum>;

/** A part is hashed in pieces of this size. */
export const pieceBytes = 4 * 2 ** 20;
/** The size of Node's thread pool, which computes the hashes. */
const maxConcurrent = 4;

/** The SHA-256 of the SHA-256 of all pieces, several of which are hashed at once on other threads. Since version 2. */
export function piecewiseChecksum() {
  const sums: Promise<ArrayBuffer>[] = [];
  return {
    /** Resolves when it accepts the next piece. */
    add: async (piece: Uint8Array): Promise<void> => {
      await sums.at(-maxConcurrent);
      sums.push(webcrypto.subtle.digest('SHA-256', piece));
    },
    digest: async (): Promise<string> => {
      const hash = createHash('sha256');
      for (const sum of sums) hash.update(new Uint8Array(await sum));
      return hash.digest('hex');
    },
  };
}

/** The SHA-256 of all pieces, of version 1. */
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
