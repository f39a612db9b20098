import { isDeepStrictEqual } from 'node:util';
import { hasMembers, isObject } from '../core/json.ts';
import type { SavedDownload } from '../core/model-downloads.ts';
import type { Owner } from '../core/owner.ts';
import { AtomicFile, type AtomicFileOptions, versionedJson, versionedList } from './atomic-file.ts';

type Location = Pick<AtomicFileOptions<unknown>, 'path' | 'warn' | 'now'>;

interface StateForm<Content> extends Pick<AtomicFileOptions<Content>, 'empty' | 'decode' | 'encode'> {
  /** What it is to remember, for warnings. */
  readonly what: string;
  readonly maxBytes?: number;
}

/** State for the next start of a server, in a file. One that cannot be used is a warning: it must not keep the server from starting. */
class StateFile<Content> {
  readonly #file: AtomicFile<Content>;

  constructor(
    private readonly location: Location,
    private readonly form: StateForm<Content>,
  ) {
    this.#file = new AtomicFile<Content>({ maxBytes: 2 ** 20, folderMode: 0o777, ...location, ...form });
  }

  read(): Promise<Content> {
    return this.#file.read().catch((error: Error) => this.#unusable(error));
  }

  async write(content: Content): Promise<void> {
    try {
      await this.#file.change((present) => (isDeepStrictEqual(present, content) ? present : content));
    } catch (error) {
      this.#unusable(error as Error);
    }
  }

  #unusable({ message }: Error): Content {
    this.location.warn(`${this.form.what} cannot be remembered in ${this.location.path}: ${message}.`);
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
  constructor(location: Location) {
    const form = versionedJson(choiceIn, (choice) => choice);
    super(location, { what: 'The model that is in use', empty: undefined, ...form });
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
  constructor(location: Location) {
    super(location, { what: 'Unfinished downloads', ...versionedList('downloads', isSavedDownload) });
  }
}

function isSavedDownload(value: unknown): value is SavedDownload {
  return (
    hasMembers(value, { model: 'string', files: 'list', done: 'number', total: 'number?', reason: 'string?' }) &&
    ['running', 'waiting', 'stopped', 'failed'].includes(String(value.state)) &&
    (value.files as unknown[]).every((file) => typeof file === 'string')
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
  constructor(location: Location) {
    const form = versionedList('summaries', isSummary);
    super(location, { what: 'Summaries of conversations', maxBytes: 8 * 2 ** 20, ...form });
  }
}

function isSummary(value: unknown): value is SavedSummary {
  const members = { owner: 'string', key: 'string', usedAt: 'number', messages: 'list' } as const;
  return hasMembers(value, members) && (value.messages as unknown[]).every(isMessage);
}

function isMessage(value: unknown): boolean {
  if (!hasMembers(value, { role: 'string', content: 'list' })) return false;
  const calls = value.toolCalls ?? [];
  return (value.content as unknown[]).every(isObject) && Array.isArray(calls) && calls.every(isObject);
}
