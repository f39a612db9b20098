import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkVersion, versionKey } from '../core/file-version.ts';
import { isObject } from '../core/json.ts';
import type { SavedDownload } from '../core/model-downloads.ts';
import { AtomicFile, type AtomicFileOptions } from './atomic-file.ts';

type Content = readonly SavedDownload[];

/** The unfinished downloads of a server, in a file. */
export class SavedDownloads {
  readonly #file: AtomicFile<Content>;

  constructor(private readonly options: Pick<AtomicFileOptions<Content>, 'path' | 'warn' | 'now'>) {
    this.#file = new AtomicFile<Content>({ ...options, mostBytes: 2 ** 20, empty: [], decode, encode });
  }

  /** A file that cannot be read must not keep the server from starting. */
  read(): Promise<Content> {
    return this.#file.read().catch((error: Error) => this.#unusable(error));
  }

  async write(downloads: Content): Promise<void> {
    try {
      await mkdir(dirname(this.options.path), { recursive: true });
      await this.#file.change((present) => (present.length + downloads.length === 0 ? present : downloads));
    } catch (error) {
      this.#unusable(error as Error);
    }
  }

  #unusable({ message }: Error): Content {
    this.options.warn(`Unfinished downloads cannot be remembered in ${this.options.path}: ${message}.`);
    return [];
  }
}

function decode(bytes: Buffer): Content {
  const content: unknown = JSON.parse(bytes.toString());
  if (!isObject(content)) throw new Error('it is no object');
  checkVersion(content);
  const { downloads } = content;
  if (!Array.isArray(downloads) || !downloads.every(isSaved)) throw new Error('it has no list of downloads');
  return downloads;
}

function isSaved(value: unknown): value is SavedDownload {
  if (!isObject(value)) return false;
  const { model, state, files, done, total, reason } = value;
  return (
    typeof model === 'string' &&
    ['running', 'waiting', 'stopped', 'failed'].includes(String(state)) &&
    Array.isArray(files) &&
    files.every((file) => typeof file === 'string') &&
    typeof done === 'number' &&
    (total === undefined || typeof total === 'number') &&
    (reason === undefined || typeof reason === 'string')
  );
}

function encode(downloads: Content): readonly Uint8Array[] {
  return [Buffer.from(`${JSON.stringify({ [versionKey]: 1, downloads })}\n`)];
}
