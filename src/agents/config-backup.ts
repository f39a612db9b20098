import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ifMissing } from '../core/if-missing.ts';
import { isObject, tryParseJson } from '../core/json.ts';

/** A config file as it was before it was changed. */
interface Backup {
  readonly path: string;
  /** All bytes, as Base64; null if there was no file. */
  readonly content: string | null;
  /** What was written instead. */
  readonly written: string;
}

/** Changes config files of agents and puts them back. One backup per agent, in a folder of Parley. */
export class ConfigBackups {
  constructor(private readonly folder: string) {}

  /** Replaces a config file. The backup is that of the first change, however often it is changed. Returns the path of the backup. */
  async change(agent: string, path: string, change: (text: string | undefined) => string): Promise<string> {
    const before = await contentOf(path);
    const text = change(before?.toString('utf8'));
    const file = this.#file(agent);
    const earlier = await this.#read(agent);
    if (earlier && earlier.path !== path)
      throw new Error(`the backup of ${earlier.path} is still there; run parley launch ${agent} --restore first`);
    const content = earlier ? earlier.content : (before?.toString('base64') ?? null);
    const written = Buffer.from(text).toString('base64');
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeFile(file, JSON.stringify({ path, content, written } satisfies Backup), { mode: 0o600 });
    await mkdir(dirname(path), { recursive: true });
    // Written in place, so that a link stays a link. A new file may hold a key.
    await writeFile(path, text, before ? {} : { mode: 0o600 });
    return file;
  }

  /**
   * Puts the config file back; undefined if there is no backup. What was written to the file since is kept beside it, and its path
   * returned as `changed`.
   */
  async restore(agent: string): Promise<{ readonly path: string; readonly changed?: string } | undefined> {
    const backup = await this.#read(agent);
    if (!backup) return undefined;
    const { path, content, written } = backup;
    const present = await contentOf(path);
    const isChanged = present !== undefined && present.toString('base64') !== written;
    const changed = `${path}.before-restore`;
    if (isChanged) await writeFile(changed, present, { mode: 0o600 });
    if (content === null) await rm(path, { force: true });
    else await writeFile(path, Buffer.from(content, 'base64'));
    await rm(this.#file(agent));
    return { path, ...(isChanged && { changed }) };
  }

  #file(agent: string): string {
    return join(this.folder, `${agent}.json`);
  }

  async #read(agent: string): Promise<Backup | undefined> {
    const text = await contentOf(this.#file(agent));
    if (!text) return undefined;
    const backup = tryParseJson(text.toString('utf8'));
    if (!isObject(backup) || typeof backup.path !== 'string' || typeof backup.written !== 'string')
      throw new Error(`the backup ${this.#file(agent)} is damaged; delete it`);
    return backup as unknown as Backup;
  }
}

const contentOf = (path: string): Promise<Buffer | undefined> => readFile(path).catch(ifMissing(undefined));
