import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** So much is hashed, or read, before others get their turn. */
export const pieceBytes = 4 * 2 ** 20;

/** The SHA-256 of all parts together, in hex. States are large, and others go on meanwhile. */
export async function checksum(parts: readonly Uint8Array[]): Promise<string> {
  const hash = createHash('sha256');
  for (const part of parts) {
    for (let start = 0; start < part.length; start += pieceBytes) {
      hash.update(part.subarray(start, start + pieceBytes));
      await nextTurn();
    }
  }
  return hash.digest('hex');
}
