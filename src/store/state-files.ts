import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../core/json.ts';
import type { SavedDownload } from '../core/model-downloads.ts';
import type { Owner } from '../core/owner.ts';
import { AtomicFile, type AtomicFileOptions, versionedJson } from './atomic-file.ts';

type Place = Pick<AtomicFileOptions<unknown>, 'path' | 'warn' | 'now'>;

interface StateForm<Content> extends Pick<AtomicFileOptions<Content>, 'empty' | 'decode' | 'encode'> {
  /** What it is to remember, for warnings. */
  readonly what: string;
  readonly mostBytes?: number;
}

/** What the next run of a server is to know, in a file. One that cannot be used is a warning: it must not keep the server from starting. */
class StateFile<Content> {
  readonly #file: AtomicFile<Content>;

  constructor(
    private readonly place: Place,
    private readonly form: StateForm<Content>,
  ) {
    this.#file = new AtomicFile<Content>({ mostBytes: 2 ** 20, ...place, ...form });
  }

  read(): Promise<Content> {
    return this.#file.read().catch((error: Error) => this.#unusable(error));
  }

  async write(content: Content): Promise<void> {
    try {
      await mkdir(dirname(this.place.path), { recursive: true });
      await this.#file.change((present) => (isDeepStrictEqual(present, content) ? present : content));
    } catch (error) {
      this.#unusable(error as Error);
    }
  }

  #unusable({ message }: Error): Content {
    this.place.warn(`${this.form.what} cannot be remembered in ${this.place.path}: ${message}.`);
    return this.form.empty;
  }
}

/** What an administrator switched to: names as in `reload_config`. */
export interface ModelChoice {
  readonly option: string;
  readonly base?: string | undefined;
  /** The load settings of each option that has some, as they were written. */
  readonly loads?: Readonly<Record<string, unknown>> | undefined;
}

/** The choice that the next start of the server repeats; without a file it is the model of the command line. */
export class LastModel extends StateFile<ModelChoice | undefined> {
  constructor(place: Place) {
    super(place, {
      what: 'The model that is in use',
      empty: undefined,
      ...versionedJson(choiceIn, (choice) => choice),
    });
  }
}

function choiceIn({ option, base, loads }: Readonly<Record<string, unknown>>): ModelChoice | undefined {
  if (option === undefined) return undefined;
  if (typeof option !== 'string' || !(base === undefined || typeof base === 'string'))
    throw new Error('it names no model');
  return { option, ...(base === undefined ? {} : { base }), ...(isObject(loads) ? { loads } : {}) };
}

/** The unfinished downloads of a server. */
export class SavedDownloads extends StateFile<readonly SavedDownload[]> {
  constructor(place: Place) {
    const form = versionedJson(downloadsIn, (downloads) => ({ downloads }));
    super(place, { what: 'Unfinished downloads', empty: [], ...form });
  }
}

function downloadsIn({ downloads }: Readonly<Record<string, unknown>>): readonly SavedDownload[] {
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

/** A compacted beginning of a conversation, and what it replaces by a hash. */
export interface SavedSummary {
  readonly owner: Owner;
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly usedAt: number;
  readonly messages: readonly object[];
}

/** The summaries of `--contextoverflow compact`, the least recently used first. */
export class SavedSummaries extends StateFile<readonly SavedSummary[]> {
  constructor(place: Place) {
    const form = versionedJson(summariesIn, (summaries) => ({ summaries }));
    super(place, { what: 'Summaries of conversations', empty: [], mostBytes: 8 * 2 ** 20, ...form });
  }
}

function summariesIn({ summaries }: Readonly<Record<string, unknown>>): readonly SavedSummary[] {
  if (!Array.isArray(summaries) || !summaries.every(isSummary)) throw new Error('it has no list of summaries');
  return summaries;
}

function isSummary(value: unknown): value is SavedSummary {
  if (!isObject(value)) return false;
  const { owner, key, usedAt, messages } = value;
  const isNamed = typeof owner === 'string' && typeof key === 'string' && typeof usedAt === 'number';
  return isNamed && Array.isArray(messages) && messages.every(isMessage);
}

function isMessage(value: unknown): boolean {
  if (!isObject(value) || typeof value.role !== 'string' || !Array.isArray(value.content)) return false;
  const calls = value.toolCalls ?? [];
  return value.content.every(isObject) && Array.isArray(calls) && calls.every(isObject);
}
