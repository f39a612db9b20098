import { heapShare } from '../core/memory.ts';
import type { ObservedRequest, RequestObserver } from '../core/request-observer.ts';
import type { Clock } from '../core/timers.ts';
import { RequestRecord } from './record.ts';

/** What all records together may hold; then the oldest are dropped before their number is reached. */
const maxBytes = 128 * 1024 * 1024;

/** Recorded requests of clients without access, in addition to the others. */
const maxUnauthorized = 20;

/** Paths of APIs: a wrong one is worth recording. */
const apiPath = /^\/(v1|api|sdapi)\//;

/**
 * Whether a request is recorded: as the row of its endpoint says, else if it sends something, or if its path is one of an API that does
 * not exist. Reading (`GET /v1/models`, `/health`, pages and their files) is not: browsers and apps do it all the time.
 */
export function isRecorded({ method, path, endpoint, recorded }: ObservedRequest): boolean {
  if (recorded !== undefined) return recorded;
  if (endpoint === '') return method !== 'OPTIONS' && apiPath.test(path);
  return method === 'POST' || method === 'PUT' || method === 'PATCH' || method === 'DELETE';
}

interface StoreOptions extends Clock {
  /** How many requests are kept; 0 keeps none. */
  readonly count: number;
  readonly maxBytes?: number;
}

/**
 * The last requests, in memory only. Those that have no access, because their key, host or origin is refused, are kept apart, so that
 * they do not push out the others.
 */
export class RequestStore {
  readonly #records = new Map<string, RequestRecord>();
  /** Also those whose key is being checked. */
  readonly #unauthorized = new Map<string, RequestRecord>();
  readonly #maxBytes: number;
  #bytes = 0;
  #count = 0;

  constructor(private readonly options: StoreOptions) {
    this.#maxBytes = options.maxBytes ?? heapShare(maxBytes);
  }

  get count(): number {
    return this.options.count;
  }

  /** A sink of the server's exchanges. */
  watch(head: ObservedRequest): RequestObserver | undefined {
    if (this.options.count <= 0 || !isRecorded(head)) return undefined;
    const record: RequestRecord = new RequestRecord(
      head,
      { ...this.options, number: ++this.#count },
      {
        grew: (bytes) => {
          if (this.#records.get(head.id) === record) this.#grew(bytes);
        },
        admitted: () => {
          this.#unauthorized.delete(head.id);
          this.#records.set(head.id, record);
          this.#grew(record.bytes);
        },
      },
    );
    this.#unauthorized.set(head.id, record);
    const [oldest] = this.#unauthorized.keys();
    if (this.#unauthorized.size > maxUnauthorized && oldest !== undefined) this.#unauthorized.delete(oldest);
    return record;
  }

  /** The newest first. */
  list(): readonly RequestRecord[] {
    const all = [...this.#records.values(), ...this.#unauthorized.values()];
    return all.sort((one, other) => other.number - one.number);
  }

  find(id: string): RequestRecord | undefined {
    return this.#records.get(id) ?? this.#unauthorized.get(id);
  }

  clear(): void {
    this.#records.clear();
    this.#unauthorized.clear();
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
      const fits = this.#records.size <= this.options.count && this.#bytes <= this.#maxBytes;
      // The newest one stays, however large it is: its own limits bound it.
      if (fits || this.#records.size === 1) return;
      this.#records.delete(id);
      this.#bytes -= held;
    }
  }
}
