import type { ExchangeHead, ExchangeWatch } from '../core/exchange-watch.ts';
import { heapShare } from '../core/memory.ts';
import { RequestRecord } from './record.ts';

/** What all records together may hold; then the oldest are dropped before their number is reached. */
const mostBytes = 128 * 1024 * 1024;

/** Requests of clients without access that are kept, beside the others. */
const maxUnauthorized = 20;

/** Paths of APIs: a wrong one is worth recording. */
const apiPath = /^\/(v1|api|sdapi)\//;

/**
 * Whether a request is recorded: as the row of its endpoint says, else if it sends something, or if its path is one of an API that does
 * not exist. Reading (`GET /v1/models`, `/health`, pages and their files) is not: browsers and apps do it all the time.
 */
export function isRecorded({ method, path, endpoint, recorded }: ExchangeHead): boolean {
  if (recorded !== undefined) return recorded;
  if (endpoint === '') return method !== 'OPTIONS' && apiPath.test(path);
  return method === 'POST' || method === 'PUT' || method === 'PATCH' || method === 'DELETE';
}

interface StoreParts {
  /** How many requests are kept; 0 keeps none. */
  readonly count: number;
  readonly now: () => number;
  readonly tick: () => number;
  readonly mostBytes?: number;
}

/**
 * The last requests, in memory only. Those that have no access, because their key, host or origin is refused, are kept apart, so that
 * they do not push out the others.
 */
export class RequestStore {
  readonly #records = new Map<string, RequestRecord>();
  /** Also those whose key is being checked. */
  readonly #strangers = new Map<string, RequestRecord>();
  readonly #mostBytes: number;
  #bytes = 0;
  #count = 0;

  constructor(private readonly parts: StoreParts) {
    this.#mostBytes = parts.mostBytes ?? heapShare(mostBytes);
  }

  get count(): number {
    return this.parts.count;
  }

  /** A sink of the server's exchanges. */
  watch(head: ExchangeHead): ExchangeWatch | undefined {
    if (this.parts.count <= 0 || !isRecorded(head)) return undefined;
    const record: RequestRecord = new RequestRecord(
      head,
      { ...this.parts, number: ++this.#count },
      {
        grew: (bytes) => {
          if (this.#records.get(head.id) === record) this.#grew(bytes);
        },
        admitted: () => {
          this.#strangers.delete(head.id);
          this.#records.set(head.id, record);
          this.#grew(record.bytes);
        },
      },
    );
    this.#strangers.set(head.id, record);
    const [oldest] = this.#strangers.keys();
    if (this.#strangers.size > maxUnauthorized && oldest !== undefined) this.#strangers.delete(oldest);
    return record;
  }

  /** The newest first. */
  list(): readonly RequestRecord[] {
    const all = [...this.#records.values(), ...this.#strangers.values()];
    return all.sort((one, other) => other.number - one.number);
  }

  find(id: string): RequestRecord | undefined {
    return this.#records.get(id) ?? this.#strangers.get(id);
  }

  clear(): void {
    this.#records.clear();
    this.#strangers.clear();
    this.#bytes = 0;
  }

  /** Those of one key of `--keyfile`. */
  forget(key: string): void {
    for (const [id, record] of this.#records) {
      if (record.key !== key) continue;
      this.#records.delete(id);
      this.#bytes -= record.bytes;
    }
  }

  #grew(bytes: number): void {
    this.#bytes += bytes;
    for (const [id, { bytes: held }] of this.#records) {
      const fits = this.#records.size <= this.parts.count && this.#bytes <= this.#mostBytes;
      // The newest one stays, however large it is: its own limits bound it.
      if (fits || this.#records.size === 1) return;
      this.#records.delete(id);
      this.#bytes -= held;
    }
  }
}
