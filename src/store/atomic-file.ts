import { open, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export interface AtomicFileOptions<Content> {
  readonly path: string;
  /** What counts while there is no file. */
  readonly empty: Content;
  /** What the file may have, read or written. */
  readonly mostBytes: number;
  /** Throws where the bytes are nothing that this program would have written: the file is damaged then. */
  readonly decode: (bytes: Buffer) => Content | Promise<Content>;
  readonly encode: (content: Content) => readonly Uint8Array[];
  readonly warn: (sentence: string) => void;
  readonly now: () => Date;
}

/** More was to be kept than the file may have; nothing was changed. */
export class FileFull extends Error {
  constructor(readonly mostBytes: number) {
    super(`no more than ${Math.floor(mostBytes / 2 ** 20)} MB are kept`);
  }
}

/**
 * Something that is kept in one file of bounded size. The file is replaced whole, one change after the other, so that
 * whoever dies in the middle of it leaves the file of before. One that cannot be read is put aside under another name
 * and never written over. Before each use it is looked whether somebody else has changed the file, whose work would
 * otherwise be lost with the next change.
 */
export class AtomicFile<Content> {
  readonly #parts: AtomicFileOptions<Content>;
  #content: Content;
  /** Which file the content is that of; undefined when there was none, null before the first look. */
  #seen: string | undefined | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: AtomicFileOptions<Content>) {
    this.#parts = parts;
    this.#content = parts.empty;
  }

  read(): Promise<Content> {
    return this.#inTurn(() => this.#refreshed());
  }

  /** It is on the disk when this resolves. When it rejects, everything is as it was. */
  change(next: (content: Content) => Content): Promise<Content> {
    return this.#inTurn(async () => {
      const { encode, mostBytes } = this.#parts;
      const content = next(await this.#refreshed());
      const chunks = encode(content);
      if (chunks.reduce((sum, { length }) => sum + length, 0) > mostBytes) throw new FileFull(mostBytes);
      const path = await this.#place();
      await replaceFile(path, chunks);
      this.#content = content;
      this.#seen = await fingerprint(path);
      return content;
    });
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #refreshed(): Promise<Content> {
    const path = await this.#place();
    if (this.#seen === null) await removeLeftovers(path);
    const found = await fingerprint(path);
    if (found === this.#seen) return this.#content;
    this.#content = found === undefined ? this.#parts.empty : await this.#decoded(path);
    // One that was put aside is no longer there.
    this.#seen = await fingerprint(path);
    return this.#content;
  }

  async #decoded(path: string): Promise<Content> {
    const { mostBytes, decode, empty } = this.#parts;
    const found = await stat(path);
    if (!found.isFile()) throw new Error(`${path} is no file`);
    if (found.size > mostBytes) throw new Error(`${path} is left alone: ${new FileFull(mostBytes).message}`);
    const bytes = await readFile(path);
    // There is nothing in it that could be lost.
    if (bytes.length === 0) return empty;
    try {
      return await decode(bytes);
    } catch (error) {
      await this.#putAside(path, error);
      return empty;
    }
  }

  async #putAside(path: string, error: unknown): Promise<void> {
    const { warn, now } = this.#parts;
    const reason = error instanceof Error ? error.message : String(error);
    const aside = await freeName(`${path}.damaged-${now().toISOString().replace(/[:.]/g, '-')}`);
    await rename(path, aside);
    warn(`${path} is damaged (${reason}). It is kept as ${aside}, and a new one is begun.`);
  }

  /** A link stays one: what it leads to is read and replaced. */
  #place(): Promise<string> {
    return realpath(this.#parts.path).catch(() => this.#parts.path);
  }
}

async function fingerprint(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function freeName(wanted: string): Promise<string> {
  for (let count = 1; ; count++) {
    const name = count === 1 ? wanted : `${wanted}-${count}`;
    if ((await fingerprint(name)) === undefined) return name;
  }
}

/** What people wrote is nobody else's business. */
const usualMode = 0o600;

/**
 * The file is the old one or the new one at every moment, also for whoever finds it after a loss of power: the new one is
 * on the disk before it takes the name.
 */
async function replaceFile(path: string, chunks: readonly Uint8Array[]): Promise<void> {
  const mode = await modeOf(path);
  const part = partName(path, process.pid);
  try {
    await rm(part, { force: true });
    const handle = await open(part, 'wx', usualMode);
    try {
      await writeFile(handle, chunks);
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, path);
  } catch (error) {
    // On a full disk a part would keep it full.
    await rm(part, { force: true }).catch(() => undefined);
    throw error;
  }
  await settleName(dirname(path));
}

/** Of a process that was killed while it wrote. */
async function removeLeftovers(path: string): Promise<void> {
  const folder = dirname(path);
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const owner = ownerOf(name, basename(path));
    if (owner === undefined || (owner !== process.pid && isAlive(owner))) continue;
    await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}

function partName(path: string, owner: number): string {
  return `${path}.${owner}.part`;
}

function ownerOf(name: string, file: string): number | undefined {
  const owner = Number(/\.(\d{1,10})\.part$/.exec(name)?.[1]);
  return Number.isInteger(owner) && name === partName(file, owner) ? owner : undefined;
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    // It is somebody else's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function modeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ mode }) => mode & 0o777,
    () => usualMode,
  );
}

/** The new name itself has to reach the disk as well. Not every system can do that to a folder. */
async function settleName(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    await handle.sync().finally(() => handle.close());
  } catch {
    // The file is whole either way.
  }
}
