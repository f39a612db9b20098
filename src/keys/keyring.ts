import { createHash, timingSafeEqual } from 'node:crypto';
import { AppError } from '../core/errors.ts';
import { Mutex } from '../core/synchronization.ts';
import type { Clock } from '../core/timers.ts';
import { fingerprint } from '../store/atomic-file.ts';
import { networkOf } from './attempt-limit.ts';
import { hashKey, KeyFile, type KeyRules, keyId, type StoredKey } from './key-file.ts';

/** How a key was used since the server was started. */
interface KeyUse {
  readonly requests: number;
  readonly refused: number;
  /** Milliseconds since 1970; undefined if it was not used. */
  readonly lastSeen?: number;
}

/** `now` is for expiry dates, `tick` for rates. */
interface KeyringOptions extends Clock {
  readonly path: string;
  readonly file: Pick<KeyFile, 'current'>;
  readonly warn: (sentence: string) => void;
  readonly hash?: typeof hashKey;
}

/**
 * Limits of keys that are being verified, each of which takes a thread of the pool for some 40 ms. One address cannot use up those of
 * others. Those of an id that exists are counted apart: behind a proxy all clients have one address, and strangers know no id.
 */
const maxPendingPerAddress = 8;
const maxPending = 256;
/** Of verified keys; more than anybody has. */
const maxVerified = 10_000;
/** For keys with an unknown id, so that they take as long as others. */
const noSalt = Buffer.alloc(16).toString('base64');

/**
 * The keys of `--keyfile` in the running server. A key is verified once and then known by its digest. Each unknown key costs exactly
 * one hash, whether its id exists or not, so that the time tells nothing.
 */
export class Keyring {
  readonly #options: KeyringOptions;
  #byId: ReadonlyMap<string, StoredKey> = new Map();
  /** Ids of verified keys by digest of the key. */
  readonly #verified = new Map<string, string>();
  readonly #uses = new Map<string, { requests: number; refused: number; lastSeen: number }>();
  /** Times of requests by id of the key, within the last minute. */
  readonly #times = new Map<string, number[]>();
  readonly #verifications = new Mutex();
  /** Number of keys that are being verified, by address, or by address and id. */
  readonly #pending = new Map<string, number>();
  /** State of the file whose keys are used; null before the first. */
  #used: string | undefined | null = null;
  /** State of the file at the last look. */
  #seen: string | undefined | null = null;
  #trouble = '';

  constructor(options: KeyringOptions) {
    this.#options = options;
  }

  /**
   * Reads the file if it has changed. Keys stay as they are while it cannot be read or is damaged. A file that is missing or empty
   * revokes all keys once it is found so twice: programs that replace a file may delete or empty it first.
   */
  async refresh(): Promise<void> {
    const { path, file, warn } = this.#options;
    try {
      const state = await fingerprint(path);
      const isEmpty = state === undefined || / 0 /.test(state);
      const settled = state === this.#seen || this.#used === null;
      this.#seen = state;
      if (state === this.#used || (isEmpty && !settled)) return;
      this.#use(isEmpty ? [] : await file.current());
      if (isEmpty) warn(`The key file ${path} is ${state === undefined ? 'missing' : 'empty'}: no key is accepted.`);
      this.#used = state;
      this.#trouble = '';
    } catch (error) {
      const trouble = `The key file ${path} cannot be read: ${(error as Error).message}.`;
      if (trouble !== this.#trouble) warn(trouble);
      this.#trouble = trouble;
    }
  }

  /** Keys that are unchanged need not be verified again. */
  #use(keys: readonly StoredKey[]): void {
    const former = this.#byId;
    this.#byId = new Map(keys.map((key) => [key.id, key]));
    for (const [digest, id] of this.#verified)
      if (!isSameSecret(former.get(id), this.#byId.get(id))) this.#verified.delete(digest);
  }

  /** The rules of a key; undefined for a wrong or expired one. A promise only for a key that was not verified before. */
  find(key: string, address: string): StoredKey | undefined | Promise<StoredKey | undefined> {
    const id = keyId(key);
    if (id === undefined) return undefined;
    const digest = createHash('sha256').update(key).digest('base64');
    return this.#verified.get(digest) === id ? this.#valid(id) : this.#verify(key, id, digest, address);
  }

  /** Counts a request, and work also against the rate. Returns the seconds to wait if the key is over it, else 0. */
  use({ name, rate }: KeyRules, isWork = true): number {
    const lastSeen = this.#options.now();
    const use = this.#uses.get(name) ?? { requests: 0, refused: 0, lastSeen };
    this.#uses.set(name, use);
    use.lastSeen = lastSeen;
    if (rate !== undefined && isWork) {
      const now = this.#options.tick();
      const times = (this.#times.get(name) ?? []).filter((time) => time > now - 60_000);
      this.#times.set(name, times);
      const [oldest] = times;
      if (times.length >= rate && oldest !== undefined) {
        use.refused += 1;
        return Math.max(1, Math.ceil((oldest + 60_000 - now) / 1000));
      }
      times.push(now);
    }
    use.requests += 1;
    return 0;
  }

  /** All keys with their use, for the administrator. */
  list(): readonly (StoredKey & KeyUse)[] {
    return [...this.#byId.values()].map((key) => ({ ...key, requests: 0, refused: 0, ...this.#uses.get(key.name) }));
  }

  /** The rules of the key with this id; undefined if it was revoked or has expired. */
  byId(id: string): StoredKey | undefined {
    return this.#valid(id);
  }

  /** Whether a key that was found before is still in the file and has not expired. */
  isValid(key: object): boolean {
    return this.#valid((key as StoredKey).id) !== undefined;
  }

  /** How a key was used is forgotten. */
  forget(name: string): void {
    this.#uses.delete(name);
    this.#times.delete(name);
  }

  #valid(id: string): StoredKey | undefined {
    const key = this.#byId.get(id);
    return key && (key.expires === undefined || key.expires > this.#options.now()) ? key : undefined;
  }

  async #verify(key: string, id: string, digest: string, address: string): Promise<StoredKey | undefined> {
    const group = this.#byId.has(id) ? `${networkOf(address)} ${id}` : networkOf(address);
    const pending = this.#pending.get(group) ?? 0;
    const all = [...this.#pending.values()].reduce((sum, count) => sum + count, 0);
    if (pending >= maxPendingPerAddress || all >= maxPending)
      throw new AppError('rate-limited', { retryAfterSeconds: 1 });
    const { hash = hashKey } = this.#options;
    this.#pending.set(group, pending + 1);
    const tried = this.#verifications.run(async () => {
      const stored = this.#byId.get(id);
      const computed = await hash(key, stored?.salt ?? noSalt);
      const expected = Buffer.from(stored?.hash ?? '', 'base64');
      const right = expected.length === computed.length && timingSafeEqual(expected, computed);
      // The file may have changed meanwhile.
      return right && isSameSecret(stored, this.#byId.get(id));
    });
    const right = await tried.finally(() => {
      const left = (this.#pending.get(group) ?? 1) - 1;
      if (left > 0) this.#pending.set(group, left);
      else this.#pending.delete(group);
    });
    if (!right) return undefined;
    if (this.#verified.size >= maxVerified) this.#verified.clear();
    this.#verified.set(digest, id);
    return this.#valid(id);
  }
}

function isSameSecret(one: StoredKey | undefined, other: StoredKey | undefined): boolean {
  return one !== undefined && one.hash === other?.hash && one.salt === other.salt;
}

const refreshMilliseconds = 500;

/** The keys of a file, which is watched for changes. While it is missing, no key is right. */
export async function openKeyring(path: string, warn: (sentence: string) => void): Promise<Keyring> {
  const file = new KeyFile({ path, warn, now: () => new Date() });
  const keyring = new Keyring({ path, file, now: Date.now, tick: () => performance.now(), warn });
  await keyring.refresh();
  // Watching the folder would miss files on network drives.
  setInterval(() => void keyring.refresh(), refreshMilliseconds).unref();
  return keyring;
}
