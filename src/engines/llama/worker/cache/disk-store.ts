import { mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint } from './checkpoints.ts';
import { checksum } from './checksum.ts';
import { overLimit, type Snapshot, type SnapshotEntry, type SnapshotStore } from './snapshot.ts';

export interface DiskStoreOptions {
  readonly folder: string;
  readonly bytes: number;
  /** Names the model and every setting that shapes its state: a snapshot of another one is never read. */
  readonly fingerprint: string;
  readonly now: () => number;
}

const ending = '.parley-cache';
const magic = 'PARLEYKV1';
/** Magic, fingerprint (hex), checksum of all that follows (hex), number of tokens, number of checkpoints. */
const headerBytes = magic.length + 64 + 64 + 8;
/** Enough for the same prompt again and for another last turn; each of them can be as large as the rest. */
const keptCheckpoints = 2;

/**
 * Snapshots on disk: they outlive restarts and model swaps. Each is one file that is written beside its place and then moved
 * there, so that a crash leaves no half ones; whatever is damaged, foreign or deleted by somebody is simply not there.
 */
export class DiskStore implements SnapshotStore {
  readonly #entries = new Map<string, SnapshotEntry>();

  private constructor(private readonly options: DiskStoreOptions) {}

  static async open(options: DiskStoreOptions): Promise<DiskStore> {
    await mkdir(options.folder, { recursive: true });
    const store = new DiskStore(options);
    for (const name of await readdir(options.folder)) {
      if (name.endsWith(ending)) await store.#index(name);
      // Left by a process that ended while it wrote.
      else if (name.endsWith(`${ending}.part`)) await rm(join(options.folder, name), { force: true });
    }
    return store;
  }

  entries(): readonly SnapshotEntry[] {
    return [...this.#entries.values()];
  }

  async read(id: string): Promise<Snapshot | undefined> {
    const entry = this.#entries.get(id);
    if (!entry) return undefined;
    const path = join(this.options.folder, id);
    const content = await readWhole(path);
    const bodyStart = headerBytes + entry.tokens.length * 4 + entry.checkpoints.length * 8;
    if (!content || content.length < bodyStart || !(await isSound(content))) {
      await this.remove(id);
      return undefined;
    }
    const usedAt = this.options.now();
    this.#entries.set(id, { ...entry, usedAt });
    await utimes(path, usedAt / 1000, usedAt / 1000).catch(() => undefined);
    return { tokens: entry.tokens, ...statesOf(content, bodyStart, entry.checkpoints) };
  }

  async remove(id: string): Promise<void> {
    if (this.#entries.delete(id)) await rm(join(this.options.folder, id), { force: true });
  }

  async write({ tokens, state, checkpoints: all }: Snapshot): Promise<void> {
    const checkpoints = all.slice(-keptCheckpoints);
    // Behind the tokens stands a table of the checkpoints (place, size), then the state, then theirs.
    const table = Uint32Array.from(checkpoints.flatMap((one) => [one.index, one.state.length]));
    const body = [bytesOf(tokens), bytesOf(table), state, ...checkpoints.map((one) => one.state)];
    const sum = await checksum(body);
    const id = `${sum.slice(0, 32)}${ending}`;
    const counts = bytesOf(Uint32Array.of(tokens.length, checkpoints.length));
    const path = join(this.options.folder, id);
    const header = [Buffer.from(magic), Buffer.from(this.options.fingerprint), Buffer.from(sum), counts];
    const bytes = body.reduce((all, part) => all + part.byteLength, headerBytes);
    if (bytes > this.options.bytes) return;
    await writeFile(`${path}.part`, [...header, ...body]);
    await rename(`${path}.part`, path);
    const places = checkpoints.map(({ index }) => index);
    this.#entries.set(id, { id, tokens, bytes, checkpoints: places, usedAt: this.options.now() });
    for (const { id: old } of overLimit(this.entries(), { bytes: this.options.bytes, count: 10_000 })) {
      await this.remove(old);
    }
  }

  /** Reads the beginning of a file only: its state is checked when it is wanted. */
  async #index(name: string): Promise<void> {
    const path = join(this.options.folder, name);
    const file = await open(path, 'r').catch(() => undefined);
    if (!file) return;
    try {
      const head = Buffer.alloc(headerBytes);
      await file.read(head, 0, headerBytes, 0);
      if (head.toString('latin1', 0, magic.length) !== magic) return;
      if (head.toString('latin1', magic.length, magic.length + 64) !== this.options.fingerprint) return;
      const { size, mtimeMs } = await stat(path);
      const tokens = head.readUInt32LE(headerBytes - 8);
      const checkpoints = head.readUInt32LE(headerBytes - 4);
      if (headerBytes + tokens * 4 + checkpoints * 8 > size) return;
      const list = new Int32Array(tokens);
      await file.read(bytesOf(list), 0, list.byteLength, headerBytes);
      const table = new Uint32Array(2 * checkpoints);
      await file.read(bytesOf(table), 0, table.byteLength, headerBytes + list.byteLength);
      const places = [...table].filter((_, index) => index % 2 === 0);
      this.#entries.set(name, { id: name, tokens: list, bytes: size, checkpoints: places, usedAt: mtimeMs });
    } finally {
      await file.close();
    }
  }
}

function bytesOf(list: Int32Array | Uint32Array): Buffer {
  return Buffer.from(list.buffer, list.byteOffset, list.byteLength);
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

async function readWhole(path: string): Promise<Buffer | undefined> {
  const file = await open(path, 'r').catch(() => undefined);
  if (!file) return undefined;
  try {
    return await file.readFile().catch(() => undefined);
  } finally {
    await file.close();
  }
}

async function isSound(content: Buffer): Promise<boolean> {
  const said = content.toString('latin1', magic.length + 64, magic.length + 128);
  return (await checksum([content.subarray(headerBytes)])) === said;
}
