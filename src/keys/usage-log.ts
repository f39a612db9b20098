import { AppError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { ObservedRequest, RequestObserver } from '../core/request-observer.ts';
import type { Clock } from '../core/timers.ts';
import { type DayUsage, noUsage, type UsageCounts } from '../core/usage.ts';
import { AtomicFile, type AtomicFileOptions, versionedJson } from '../store/atomic-file.ts';
import type { KeyRules } from './key-file.ts';

/** Of one day, by client: `key NAME`, `password`, `address IP`, or `others` for addresses beyond the limit. */
type Clients = Map<string, UsageCounts>;
type Days = Map<string, Clients>;

interface UsageLogOptions extends Pick<AtomicFileOptions<Days>, 'path' | 'warn'>, Pick<Clock, 'now'> {
  readonly limits?: { readonly days: number; readonly clients: number };
}

const fields = Object.keys(noUsage) as readonly (keyof UsageCounts)[];
const dayPattern = /^\d{4}-\d\d-\d\d$/;

/**
 * Usage for each client and day, in a file that several servers may share: each adds what it has counted since it last saved. Days are
 * those of the machine's time zone.
 */
export class UsageLog {
  readonly #options: UsageLogOptions;
  readonly #limits: { readonly days: number; readonly clients: number };
  readonly #file: AtomicFile<Days>;
  /** All usage: the file as it was last read, and what was counted since then. */
  #days: Days = new Map();
  #unsaved: Days = new Map();
  #trouble = '';

  constructor(options: UsageLogOptions) {
    this.#options = options;
    this.#limits = options.limits ?? { days: 100, clients: 500 };
    this.#file = new AtomicFile<Days>({
      ...options,
      ...form,
      empty: new Map(),
      maxBytes: 64 * 2 ** 20,
      folderMode: 0o777,
    });
  }

  /** Reads the file. One that cannot be read must not keep the server from starting. */
  open(): Promise<void> {
    return this.#guarded(async () => this.#use(await this.#file.read()));
  }

  /** Writes what was counted since the last time. Never rejects. */
  async save(): Promise<void> {
    if (this.#unsaved.size === 0) return;
    const added = this.#unsaved;
    this.#unsaved = new Map();
    await this.#guarded(async () => {
      try {
        this.#use(await this.#file.change((days) => this.#sum([days, added])));
      } catch (error) {
        this.#unsaved = this.#sum([added, this.#unsaved]);
        throw error;
      }
    });
  }

  /** Counts the work of a request, also what goes on after its response. */
  watch({ remoteAddress }: Pick<ObservedRequest, 'remoteAddress'>): RequestObserver {
    let client = '';
    let counted = false;
    return {
      authorized: (key, _known, password) => {
        client = key !== undefined ? keyClient(key) : password ? 'password' : `address ${remoteAddress}`;
      },
      queued: () => {
        if (!counted) this.add(client, { requests: 1 });
        counted = true;
      },
      used: (counts) => this.add(client, counts),
    };
  }

  add(client: string, counts: Partial<UsageCounts>): void {
    const day = dayOf(this.#options.now());
    for (const days of [this.#days, this.#unsaved]) this.#count(days, day, client, counts);
  }

  /** The last days, today first. */
  list(days: number): readonly DayUsage[] {
    const now = new Date(this.#options.now());
    const first = dayOf(new Date(now.getFullYear(), now.getMonth(), now.getDate() - days + 1).getTime());
    const recent = [...this.#days].filter(([day]) => day >= first).sort(([one], [other]) => (one < other ? 1 : -1));
    return recent.flatMap(([day, clients]) => [...clients].map(([client, counts]) => ({ day, client, ...counts })));
  }

  /** Forgets what a key has used, also in the file. */
  async forget(key: string): Promise<void> {
    const client = keyClient(key);
    const without = (days: Days): Days => {
      if (![...days.values()].some((clients) => clients.has(client))) return days;
      return new Map([...days].map(([day, clients]) => [day, new Map([...clients].filter(([one]) => one !== client))]));
    };
    await this.save();
    this.#unsaved = without(this.#unsaved);
    await this.#guarded(async () => this.#use(await this.#file.change(without)));
  }

  /** Tokens that a key has used today, read and written. */
  tokensToday(key: string): number {
    const today = this.#days.get(dayOf(this.#options.now()))?.get(keyClient(key)) ?? noUsage;
    return today.promptTokens + today.completionTokens;
  }

  /** The error for a key that has used its tokens of today. */
  overLimit({ name, tokensPerDay = Number.POSITIVE_INFINITY }: Pick<KeyRules, 'name' | 'tokensPerDay'>) {
    if (this.tokensToday(name) < tokensPerDay) return undefined;
    const now = new Date(this.#options.now());
    const tomorrow = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1);
    const retryAfterSeconds = Math.max(1, Math.ceil((tomorrow.getTime() - now.getTime()) / 1000));
    return new AppError('key-tokens-used', { tokens: tokensPerDay, day: dayOf(tomorrow.getTime()), retryAfterSeconds });
  }

  #use(saved: Days): void {
    this.#days = this.#sum([saved, this.#unsaved]);
  }

  #sum(all: readonly Days[]): Days {
    const sum: Days = new Map();
    for (const days of all)
      for (const [day, clients] of days) for (const [client, counts] of clients) this.#count(sum, day, client, counts);
    for (const old of [...sum.keys()].sort().slice(0, -this.#limits.days)) sum.delete(old);
    return sum;
  }

  /** The number of addresses is limited, since clients choose them; that of keys is not. */
  #count(days: Days, day: string, client: string, added: Partial<UsageCounts>): void {
    const clients = days.get(day) ?? new Map<string, UsageCounts>();
    days.set(day, clients);
    const full = client.startsWith('address ') && !clients.has(client) && clients.size >= this.#limits.clients;
    const name = full ? 'others' : client;
    const counts = clients.get(name) ?? noUsage;
    clients.set(
      name,
      countsBy((field) => counts[field] + (added[field] ?? 0)),
    );
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#trouble = '';
    } catch (error) {
      const trouble = `Usage cannot be stored in ${this.#options.path}: ${(error as Error).message}.`;
      if (trouble !== this.#trouble) this.#options.warn(trouble);
      this.#trouble = trouble;
    }
  }
}

const keyClient = (name: string): string => `key ${name}`;

/** In the time zone of this machine, as the days of `parley keys add --expires`. */
function dayOf(time: number): string {
  const date = new Date(time);
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function countsBy(count: (field: keyof UsageCounts) => number): UsageCounts {
  return Object.fromEntries(fields.map((field) => [field, count(field)])) as unknown as UsageCounts;
}

const form = versionedJson(daysIn, (days: Days) => ({ days: Object.fromEntries([...days].map(storedDay)) }));

function daysIn(content: Readonly<Record<string, unknown>>): Days {
  const days = Object.entries(objectOf(content.days)).filter(([day]) => dayPattern.test(day));
  return new Map(days.map(([day, clients]) => [day, new Map(Object.entries(objectOf(clients)).map(countsIn))]));
}

/** Only what is not zero is stored. */
function storedDay([day, clients]: [string, Clients]) {
  const entries = [...clients].map(([client, counts]) => {
    const used = fields.filter((field) => counts[field] !== 0);
    return [client, Object.fromEntries(used.map((field) => [field, Number(counts[field].toFixed(3))]))];
  });
  return [day, Object.fromEntries(entries)];
}

function countsIn([client, value]: [string, unknown]): [string, UsageCounts] {
  const counts = objectOf(value);
  const count = (field: keyof UsageCounts): number => (Number.isFinite(counts[field]) ? Number(counts[field]) : 0);
  return [client, countsBy(count)];
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw new Error('it holds no usage');
  return value;
}

const saveMilliseconds = 60_000;

/** Usage in a file, which is written once a minute while there is any. */
export async function openUsageLog(path: string, warn: (sentence: string) => void): Promise<UsageLog> {
  const usage = new UsageLog({ path, warn, now: Date.now });
  await usage.open();
  setInterval(() => void usage.save(), saveMilliseconds).unref();
  return usage;
}
