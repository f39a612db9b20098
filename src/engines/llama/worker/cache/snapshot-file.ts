import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Checkpoint, Snapshot, SnapshotEntry } from '../memory/snapshot.ts';

/** What stands in a file before its states. */
export type Outline = Pick<SnapshotEntry, 'tokens' | 'checkpoints'>;

const magic = 'PARLEYKV1';
/** Magic, fingerprint (hex), checksum of all that follows (hex), number of tokens, number of checkpoints. */
const headerBytes = magic.length + 64 + 64 + 8;
/** Enough for the same prompt again and for another last turn; each of them can be as large as the rest. */
const keptCheckpoints = 2;

/** A snapshot as it will stand in its file, but for the header. */
export interface SnapshotBody extends Outline {
  readonly parts: readonly Uint8Array[];
  /** Of the whole file. */
  readonly bytes: number;
}

/** Behind the tokens stands a table of the checkpoints (place, size), then the state, then theirs. */
export function bodyOf({ tokens, state, checkpoints: all }: Snapshot): SnapshotBody {
  const checkpoints = all.slice(-keptCheckpoints);
  const table = Uint32Array.from(checkpoints.flatMap((one) => [one.index, one.state.length]));
  const parts = [bytesOf(tokens), bytesOf(table), state, ...checkpoints.map((one) => one.state)];
  const bytes = parts.reduce((sum, part) => sum + part.byteLength, headerBytes);
  return { tokens, checkpoints: checkpoints.map(({ index }) => index), parts, bytes };
}

export function headerOf({ tokens, checkpoints }: Outline, fingerprint: string, sum: string): Uint8Array {
  const counts = bytesOf(Uint32Array.of(tokens.length, checkpoints.length));
  return Buffer.concat([Buffer.from(magic), Buffer.from(fingerprint), Buffer.from(sum), counts]);
}

/** Reads the beginning of a file only; undefined where it is no snapshot with this fingerprint. */
export async function readOutline(path: string, fingerprint: string): Promise<Outline | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const head = Buffer.alloc(headerBytes);
    await file.read(head, 0, headerBytes, 0);
    if (head.toString('latin1', 0, magic.length + 64) !== `${magic}${fingerprint}`) return undefined;
    const count = { tokens: head.readUInt32LE(headerBytes - 8), checkpoints: head.readUInt32LE(headerBytes - 4) };
    if (headerBytes + count.tokens * 4 + count.checkpoints * 8 > size) return undefined;
    const tokens = new Int32Array(count.tokens);
    await file.read(bytesOf(tokens), 0, tokens.byteLength, headerBytes);
    const table = new Uint32Array(2 * count.checkpoints);
    await file.read(bytesOf(table), 0, table.byteLength, headerBytes + tokens.byteLength);
    return { tokens, checkpoints: [...table].filter((_, index) => index % 2 === 0) };
  } finally {
    await file.close();
  }
}

/**
 * Reads the whole file; undefined where it is damaged. The system hands out at most two gigabytes at a time, and states can
 * be larger: they are read in pieces, and the checksum of all grows with them.
 */
export async function readSnapshot(
  path: string,
  { tokens, checkpoints }: Outline,
  allocate: (bytes: number) => Uint8Array = (bytes) => new Uint8Array(bytes),
): Promise<Snapshot | undefined> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const header = Buffer.alloc(headerBytes);
    const front = Buffer.alloc(tokens.length * 4 + checkpoints.length * 8);
    if (size < headerBytes + front.length) return undefined;
    await readPieces(file, header, 0);
    await readPieces(file, front, headerBytes);
    const sizes = stateSizes(size - headerBytes - front.length, front.subarray(tokens.length * 4));
    if (!sizes) return undefined;
    const hash = createHash('sha256').update(front);
    const states: Uint8Array[] = [];
    let position = headerBytes + front.length;
    for (const bytes of sizes) {
      const state = allocate(bytes);
      if (!(await readPieces(file, state, position, (piece) => hash.update(piece)))) return undefined;
      states.push(state);
      position += bytes;
    }
    if (hash.digest('hex') !== header.toString('latin1', magic.length + 64, magic.length + 128)) return undefined;
    const [state, ...others] = states as [Uint8Array, ...Uint8Array[]];
    return { tokens, state, checkpoints: checkpoints.map((index, place) => checkpointAt(index, others[place])) };
  } finally {
    await file.close();
  }
}

const checkpointAt = (index: number, state: Uint8Array = new Uint8Array(0)): Checkpoint => ({ index, state });

/** How large the state and those of the checkpoints are; undefined where the table claims more than there is. */
function stateSizes(bytes: number, table: Buffer): readonly number[] | undefined {
  const others = Array.from({ length: table.length / 8 }, (_, place) => table.readUInt32LE(8 * place + 4));
  const own = others.reduce((left, size) => left - size, bytes);
  return own < 0 ? undefined : [own, ...others];
}

/** Fills a part of memory from a place in the file on, and shows each piece; false where the file ends before. */
async function readPieces(
  file: FileHandle,
  into: Uint8Array,
  position: number,
  seen?: (piece: Uint8Array) => void,
): Promise<boolean> {
  for (let start = 0; start < into.length; ) {
    const piece = into.subarray(start, Math.min(start + pieceBytes, into.length));
    const { bytesRead } = await file.read(piece, 0, piece.length, position + start);
    if (bytesRead === 0) return false;
    seen?.(piece.subarray(0, bytesRead));
    start += bytesRead;
  }
  return true;
}

function bytesOf(list: Int32Array | Uint32Array): Buffer {
  return Buffer.from(list.buffer, list.byteOffset, list.byteLength);
}

/** So much is hashed, or read, before others get their turn. */
const pieceBytes = 4 * 2 ** 20;

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
