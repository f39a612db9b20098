import { open } from 'node:fs/promises';
import type { Checkpoint } from './checkpoints.ts';
import { checksum } from './checksum.ts';
import type { Snapshot, SnapshotEntry } from './snapshot.ts';

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

/** Reads the whole file; undefined where it is damaged. */
export async function readSnapshot(path: string, { tokens, checkpoints }: Outline): Promise<Snapshot | undefined> {
  const file = await open(path, 'r');
  try {
    const content = await file.readFile();
    const bodyStart = headerBytes + tokens.length * 4 + checkpoints.length * 8;
    if (content.length < bodyStart || !(await isSound(content))) return undefined;
    return { tokens, ...statesOf(content, bodyStart, checkpoints) };
  } finally {
    await file.close();
  }
}

/** The state and those of the checkpoints; their sizes stand in the table right before. */
function statesOf(content: Buffer, start: number, places: readonly number[]): Omit<Snapshot, 'tokens'> {
  const checkpoints: Checkpoint[] = [];
  let end = content.length;
  for (let place = places.length - 1; place >= 0; place -= 1) {
    const size = content.readUInt32LE(start - 8 * (places.length - place) + 4);
    checkpoints.unshift({ index: places[place] as number, state: content.subarray(end - size, end) });
    end -= size;
  }
  return { state: content.subarray(start, end), checkpoints };
}

async function isSound(content: Buffer): Promise<boolean> {
  const said = content.toString('latin1', magic.length + 64, magic.length + 128);
  return (await checksum([content.subarray(headerBytes)])) === said;
}

function bytesOf(list: Int32Array | Uint32Array): Buffer {
  return Buffer.from(list.buffer, list.byteOffset, list.byteLength);
}
