import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkVersion, versionKey } from '../core/file-version.ts';
import { isObject } from '../core/json.ts';
import { AtomicFile, type AtomicFileOptions } from './atomic-file.ts';

/** What an administrator switched to: names as in `reload_config`. */
export interface ModelChoice {
  readonly option: string;
  readonly base?: string | undefined;
  /** The load settings of each option that has some, as they were written. */
  readonly loads?: Readonly<Record<string, unknown>> | undefined;
}

type Content = ModelChoice | undefined;

/** The choice that the next start of the server repeats; without a file it is the model of the command line. */
export class LastModel {
  readonly #file: AtomicFile<Content>;

  constructor(private readonly parts: Pick<AtomicFileOptions<Content>, 'path' | 'warn' | 'now'>) {
    this.#file = new AtomicFile<Content>({ ...parts, mostBytes: 65_536, empty: undefined, decode, encode });
  }

  /** A file that cannot be read must not keep the server from starting. */
  read(): Promise<ModelChoice | undefined> {
    return this.#file.read().catch((error: Error) => this.#unusable(error));
  }

  /** Undefined for the model of the command line. */
  async write(choice: ModelChoice | undefined): Promise<void> {
    try {
      await mkdir(dirname(this.parts.path), { recursive: true });
      await this.#file.change(() => choice);
    } catch (error) {
      this.#unusable(error as Error);
    }
  }

  #unusable({ message }: Error): undefined {
    this.parts.warn(`The model that is in use cannot be remembered in ${this.parts.path}: ${message}.`);
  }
}

function decode(bytes: Buffer): Content {
  const content: unknown = JSON.parse(bytes.toString());
  if (typeof content !== 'object' || content === null) throw new Error('it is no object');
  checkVersion(content as Readonly<Record<string, unknown>>);
  const { option, base, loads } = content as Record<string, unknown>;
  if (option === undefined) return undefined;
  if (typeof option !== 'string' || !(base === undefined || typeof base === 'string'))
    throw new Error('it names no model');
  return { option, ...(base === undefined ? {} : { base }), ...(isObject(loads) ? { loads } : {}) };
}

function encode(choice: Content): readonly Uint8Array[] {
  return [Buffer.from(`${JSON.stringify({ [versionKey]: 1, ...choice })}\n`)];
}
