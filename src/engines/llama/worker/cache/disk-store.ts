import { mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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
/** Magic, fingerprint (hex), checksum of all that follows (hex), number of tokens. */
const headerBytes = magic.length + 64 + 64 + 8;

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
    const tokenBytes = entry.tokens.length * 4;
    if (!content || content.length < headerBytes + tokenBytes || !(await isSound(content))) {
      await this.remove(id);
      return undefined;
    }
    const usedAt = this.options.now();
    this.#entries.set(id, { ...entry, usedAt });
    await utimes(path, usedAt / 1000, usedAt / 1000).catch(() => undefined);
    return { tokens: entry.tokens, state: content.subarray(headerBytes + tokenBytes) };
  }

  async remove(id: string): Promise<void> {
    if (this.#entries.delete(id)) await rm(join(this.options.folder, id), { force: true });
  }

  async write({ tokens, state }: Snapshot): Promise<void> {
    const body = [Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength), state];
    const sum = await checksum(body);
    const id = `${sum.slice(0, 32)}${ending}`;
    const count = Buffer.alloc(8);
    count.writeBigUInt64LE(BigInt(tokens.length));
    const path = join(this.options.folder, id);
    const header = [Buffer.from(magic), Buffer.from(this.options.fingerprint), Buffer.from(sum), count];
    const bytes = headerBytes + tokens.byteLength + state.byteLength;
    if (bytes > this.options.bytes) return;
    await writeFile(`${path}.part`, [...header, ...body]);
    await rename(`${path}.part`, path);
    this.#entries.set(id, { id, tokens, bytes, usedAt: this.options.now() });
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
      const count = Number(head.readBigUInt64LE(headerBytes - 8));
      if (headerBytes + count * 4 > size) return;
      const tokens = new Int32Array(count);
      await file.read(new Uint8Array(tokens.buffer), 0, count * 4, headerBytes);
      this.#entries.set(name, { id: name, tokens, bytes: size, usedAt: mtimeMs });
    } finally {
      await file.close();
    }
  }
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
