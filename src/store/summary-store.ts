import { heapShare } from '../core/memory.ts';
import type { Owner } from '../core/owner.ts';
import type { Clock } from '../core/timers.ts';
import { BoundedMap } from './bounded-map.ts';
import type { SavedSummaries, SavedSummary } from './state-files.ts';

interface SummaryStoreOptions extends Pick<Clock, 'now'> {
  /** Missing keeps them in memory only. */
  readonly file?: Pick<SavedSummaries, 'read' | 'write'> | undefined;
  readonly limits?: { readonly entries: number; readonly bytes: number; readonly fileBytes: number };
}

/** Those that were not used for this long are dropped. */
export const maxSummaryDays = 30;
const maxAgeMs = maxSummaryDays * 24 * 60 * 60 * 1000;

/**
 * Compacted beginnings of conversations, by owner and key; the oldest of the owner who has the most are dropped first. The newest
 * of them are in a file, too, for the next start.
 */
export class SummaryStore<Message extends object> {
  readonly #entries: BoundedMap<SavedSummary & { readonly bytes: number }>;
  readonly #options: SummaryStoreOptions;
  readonly #fileBytes: number;
  #opened: Promise<void> | undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: SummaryStoreOptions) {
    const { limits = { entries: 200, bytes: heapShare(16 * 2 ** 20), fileBytes: 4 * 2 ** 20 } } = options;
    this.#options = options;
    this.#fileBytes = limits.fileBytes;
    this.#entries = new BoundedMap(limits);
  }

  /** The summaries of one model. */
  of(model: string) {
    return {
      get: (owner: Owner, key: string) => this.#get(owner, `${model}\n${key}`),
      set: (owner: Owner, key: string, messages: readonly Message[]) => this.#set(owner, `${model}\n${key}`, messages),
    };
  }

  /** Those of one owner. */
  async list(owner: Owner): Promise<readonly SavedSummary[]> {
    await this.#open();
    return this.#entries.entriesOf(owner).map(([, { bytes: _, ...entry }]) => entry);
  }

  /** Also in the file. */
  async forget(owner: Owner): Promise<void> {
    await this.#open();
    this.#entries.deleteOf(owner);
    this.#save();
    await this.#saving;
  }

  /** Resolves when the file has all of them. */
  saved(): Promise<void> {
    return this.#saving;
  }

  async #get(owner: Owner, key: string): Promise<readonly Message[] | undefined> {
    await this.#open();
    const summary = this.#entries.get(`${owner}\n${key}`);
    // The moment of its last use is saved with the next change.
    if (summary) this.#add({ ...summary, usedAt: this.#options.now() });
    return summary?.messages as readonly Message[] | undefined;
  }

  #set(owner: Owner, key: string, messages: readonly Message[]): void {
    this.#add({ owner, key, usedAt: this.#options.now(), messages });
    this.#save();
  }

  #save(): void {
    const { file } = this.#options;
    if (file) this.#saving = this.#saving.then(() => this.#open()).then(() => file.write(this.#newest()));
  }

  #add(entry: SavedSummary): void {
    const bytes = Buffer.byteLength(JSON.stringify(entry));
    this.#entries.set(`${entry.owner}\n${entry.key}`, { ...entry, bytes }, bytes, entry.owner);
  }

  /** Reads the file once. */
  #open(): Promise<void> {
    this.#opened ??= (async () => {
      const saved = (await this.#options.file?.read()) ?? [];
      const early = this.#entries.entries().map(([, entry]) => entry);
      for (const entry of [...saved.filter((each) => this.#isFresh(each)), ...early]) this.#add(entry);
    })();
    return this.#opened;
  }

  /** As many as the file may have, the least recently used first. */
  #newest(): readonly SavedSummary[] {
    const newest: SavedSummary[] = [];
    let left = this.#fileBytes;
    for (const [, { bytes, ...entry }] of this.#entries.entries().reverse()) {
      left -= bytes;
      if (left < 0) break;
      if (this.#isFresh(entry)) newest.unshift(entry);
    }
    return newest;
  }

  #isFresh({ usedAt }: SavedSummary): boolean {
    return this.#options.now() - usedAt < maxAgeMs;
  }
}
