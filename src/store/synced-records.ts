import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileLock } from '../core/file-lock.ts';
import { checkVersion, NewerFile, versionKey } from '../core/file-version.ts';
import { ifMissing } from '../core/if-missing.ts';
import { inSlices } from '../core/slices.ts';
import { Mutex } from '../core/synchronization.ts';
import { replaceFile } from './atomic-file.ts';
import { jsonBytes } from './save-slots.ts';

/** The kinds of records that a client keeps on the server. */
const recordKinds = ['chats', 'stories', 'characters', 'personas'] as const;
type RecordKind = (typeof recordKinds)[number];

export interface RecordName {
  readonly kind: RecordKind;
  readonly id: string;
}

/** Revisions count the changes of all records, so that a client can ask for what is newer than its last one. */
interface RecordHead extends RecordName {
  readonly revision: number;
  readonly deleted: boolean;
}

interface SavedRecord {
  /** False if the stored record is newer than the one that the client has changed. */
  readonly saved: boolean;
  /** Of the stored record; 0 if there is none. */
  readonly revision: number;
}

export class TooManyRecords extends Error {}
export class RecordTooLong extends Error {}

export interface SyncedRecordsOptions {
  readonly folder: string;
  readonly parse: (bytes: Buffer) => Promise<Readonly<Record<string, unknown>>>;
  readonly limits?: { readonly records: number; readonly characters: number };
}

const ids = /^[a-z0-9]{1,64}$/;
const fileNames = /^([a-z]+)\.([a-z0-9]{1,64})\.([1-9]\d{0,14})\.(json|deleted)$/;

/**
 * Chats, stories and characters that browsers keep on the server, a file for each. The name of a file has its revision, so that the
 * folder is its own index: a crash between writing a revision and removing the last one leaves both, and the newer one counts. A
 * deleted record leaves an empty file, so that other browsers delete it too; the oldest of these are removed beyond the limit.
 */
export class SyncedRecords {
  readonly #options: SyncedRecordsOptions;
  readonly #limits: NonNullable<SyncedRecordsOptions['limits']>;
  readonly #mutex = new Mutex();

  constructor(options: SyncedRecordsOptions) {
    this.#options = options;
    this.#limits = options.limits ?? { records: 20_000, characters: 32 * 2 ** 20 };
  }

  /** The records that changed after a revision, and the last revision. */
  async list(since = 0): Promise<{ readonly revision: number; readonly records: readonly RecordHead[] }> {
    const heads = [...(await this.#heads()).values()];
    return { revision: lastRevision(heads), records: heads.filter(({ revision }) => revision > since) };
  }

  /** The stored file, a JSON object with `data`; undefined if there is none or if it was deleted. */
  async load(name: RecordName): Promise<{ readonly revision: number; readonly json: Buffer } | undefined> {
    const head = (await this.#heads()).get(keyOf(name));
    if (!head || head.deleted) return undefined;
    const path = this.#path(head);
    const json = await readFile(path).catch(ifMissing(undefined));
    // A later revision has replaced it meanwhile.
    if (!json) return this.load(name);
    try {
      checkVersion(await this.#options.parse(json));
    } catch (error) {
      if (error instanceof NewerFile) throw new Error(`${path} is left alone: ${error.message}`, { cause: error });
      throw new Error(`${path} is damaged`, { cause: error });
    }
    return { revision: head.revision, json };
  }

  /**
   * Stores a record that was changed from revision `base`; without data it is deleted. Resolves when it is on the disk. Throws
   * `RecordTooLong`, `TooManyRecords` and errors of the file system.
   */
  async save(name: RecordName, base: number, data: string | undefined): Promise<SavedRecord> {
    if ((data?.length ?? 0) > this.#limits.characters) throw new RecordTooLong();
    const chunks =
      data === undefined
        ? []
        : [Buffer.from(`{"${versionKey}":1,"data":`), ...(await inSlices(jsonBytes(data))), Buffer.from('}\n')];
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
    // Within this process in the order of the calls, which the lock does not keep.
    return this.#locked(async () => {
      const heads = await this.#heads();
      const stored = heads.get(keyOf(name));
      if ((stored?.revision ?? 0) !== base) return { saved: false, revision: stored?.revision ?? 0 };
      const count = [...heads.values()].filter(({ deleted }) => !deleted).length;
      const adds = data !== undefined && (!stored || stored.deleted);
      if (adds && count >= this.#limits.records) throw new TooManyRecords();
      const head = { ...name, revision: lastRevision([...heads.values()]) + 1, deleted: data === undefined };
      await replaceFile(this.#path(head), chunks);
      if (stored) await rm(this.#path(stored), { force: true });
      for (const old of deletedBeyond(this.#limits.records, [...heads.values()]))
        await rm(this.#path(old), { force: true });
      return { saved: true, revision: head.revision };
    });
  }

  /** By kind and id. Older revisions that a crash has left are ignored. */
  async #heads(): Promise<Map<string, RecordHead>> {
    const heads = new Map<string, RecordHead>();
    for (const name of await readdir(this.#options.folder).catch(ifMissing([]))) {
      const [, kind, id = '', revision, end] = fileNames.exec(name) ?? [];
      if (!isKind(kind)) continue;
      const head = { kind, id, revision: Number(revision), deleted: end === 'deleted' };
      if ((heads.get(keyOf(head))?.revision ?? 0) < head.revision) heads.set(keyOf(head), head);
    }
    return heads;
  }

  #path({ kind, id, revision, deleted }: RecordHead): string {
    return join(this.#options.folder, `${kind}.${id}.${revision}.${deleted ? 'deleted' : 'json'}`);
  }

  #locked<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#mutex.run(() => withFileLock(join(this.#options.folder, 'records'), work));
  }
}

/** Undefined for a name that no record can have. */
export function recordName(kind: string, id: string): RecordName | undefined {
  return isKind(kind) && ids.test(id) ? { kind, id } : undefined;
}

function isKind(kind: string | undefined): kind is RecordKind {
  return recordKinds.some((known) => known === kind);
}

function keyOf({ kind, id }: RecordName): string {
  return `${kind}.${id}`;
}

/** The oldest of the deleted records beyond a number; their revisions are lower than that of any that stays. */
function deletedBeyond(max: number, heads: readonly RecordHead[]): readonly RecordHead[] {
  const deleted = heads.filter((head) => head.deleted).sort((one, other) => other.revision - one.revision);
  return deleted.slice(max);
}

function lastRevision(heads: readonly RecordHead[]): number {
  return heads.reduce((last, { revision }) => Math.max(last, revision), 0);
}
