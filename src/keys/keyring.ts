import { createHash, timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { AppError } from '../core/errors.ts';
import { hashKey, KeyFile, type KeyRules, keyId, type StoredKey } from './key-file.ts';

/** How a key was used since the server was started. */
export interface KeyUse {
  readonly requests: number;
  readonly refused: number;
  /** Milliseconds since 1970; undefined if it was not used. */
  readonly lastSeen?: number;
}

export interface KeyringParts {
  readonly path: string;
  readonly file: Pick<KeyFile, 'current'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly warn: (sentence: string) => void;
  readonly hash?: typeof hashKey;
}

/** More tries at once are refused: each takes a thread of the pool for some 40 ms. */
const mostTries = 16;
/** Of verified keys; more than anybody has. */
const mostVerified = 10_000;
/** For keys with an unknown id, so that they take as long as others. */
const noSalt = Buffer.alloc(16).toString('base64');

/**
 * The keys of `--keyfile` in the running server. A key is verified once and then known by its digest. Each unknown key costs exactly
 * one hash, whether its id exists or not, so that the time tells nothing.
 */
export class Keyring {
  readonly #parts: KeyringParts;
  #byId: ReadonlyMap<string, StoredKey> = new Map();
  /** Ids of verified keys by digest of the key. */
  readonly #verified = new Map<string, string>();
  readonly #uses = new Map<string, { requests: number; refused: number; lastSeen: number }>();
  /** Times of requests by id of the key, within the last minute. */
  readonly #times = new Map<string, number[]>();
  #tries: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #seen = '';
  #trouble = '';

  constructor(parts: KeyringParts) {
    this.#parts = parts;
  }

  /** Reads the file if it has changed. Keys stay as they are while it cannot be read. */
  async refresh(): Promise<void> {
    const { path, file, warn } = this.#parts;
    try {
      const { ino, size, mtimeMs } = await stat(path);
      const found = `${ino} ${size} ${mtimeMs}`;
      if (found === this.#seen) return;
      this.#byId = new Map((await file.current()).map((key) => [key.id, key]));
      this.#seen = found;
      this.#verified.clear();
      this.#trouble = '';
    } catch (error) {
      const trouble = `The key file ${path} cannot be read: ${(error as Error).message}.`;
      if (trouble !== this.#trouble) warn(trouble);
      this.#trouble = trouble;
    }
  }

  /** The rules of a key; undefined for a wrong or expired one. A promise only for a key that was not verified before. */
  find(key: string): KeyRules | undefined | Promise<KeyRules | undefined> {
    const id = keyId(key);
    if (id === undefined) return undefined;
    const digest = createHash('sha256').update(key).digest('base64');
    return this.#verified.get(digest) === id ? this.#valid(id) : this.#verify(key, id, digest);
  }

  /** Counts a request. Returns the seconds to wait if the key is over its rate, else 0. */
  use({ name, rate }: KeyRules): number {
    const now = this.#parts.now();
    const use = this.#uses.get(name) ?? { requests: 0, refused: 0, lastSeen: now };
    this.#uses.set(name, use);
    use.lastSeen = now;
    if (rate !== undefined) {
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

  #valid(id: string): KeyRules | undefined {
    const key = this.#byId.get(id);
    return key && (key.expires === undefined || key.expires > this.#parts.now()) ? key : undefined;
  }

  async #verify(key: string, id: string, digest: string): Promise<KeyRules | undefined> {
    if (this.#waiting >= mostTries) throw new AppError('rate-limited', { retryAfterSeconds: 1 });
    const { hash = hashKey } = this.#parts;
    this.#waiting += 1;
    const tried = this.#tries.then(async () => {
      const stored = this.#byId.get(id);
      const computed = await hash(key, stored?.salt ?? noSalt);
      const expected = Buffer.from(stored?.hash ?? '', 'base64');
      return expected.length === computed.length && timingSafeEqual(expected, computed);
    });
    this.#tries = tried.catch(() => undefined);
    const right = await tried.finally(() => {
      this.#waiting -= 1;
    });
    if (!right) return undefined;
    if (this.#verified.size >= mostVerified) this.#verified.clear();
    this.#verified.set(digest, id);
    return this.#valid(id);
  }
}

const refreshMilliseconds = 500;

/** The keys of a file, which is watched for changes. While it is missing, no key is right. */
export async function openKeyring(path: string, warn: (sentence: string) => void): Promise<Keyring> {
  const file = new KeyFile({ path, warn, now: () => new Date() });
  const keyring = new Keyring({ path, file, now: Date.now, warn });
  await keyring.refresh();
  // Watching the folder would miss files on network drives.
  setInterval(() => void keyring.refresh(), refreshMilliseconds).unref();
  return keyring;
}
