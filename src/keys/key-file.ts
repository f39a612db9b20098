import { randomBytes, scrypt } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { type KeyScope, keyScopes } from '../core/people.ts';
import { AtomicFile, type AtomicFileOptions, versionedJson } from '../store/atomic-file.ts';

/** The rules of a key, without the key itself. */
export interface KeyRules {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  /** Requests per minute; unlimited without. */
  readonly rate?: number;
  /** Tokens per day, read and written; unlimited without. */
  readonly tokensPerDay?: number;
  /** Uses the common library of stories, chats and settings, instead of its own; so does a key of an earlier version, without it. */
  readonly shared?: boolean;
  /** Share of the queue; a key of weight 2 gets twice the turns of one of weight 1. */
  readonly weight: number;
  /** Milliseconds since 1970. */
  readonly expires?: number;
}

/** Only a hash of the key is stored. */
export interface StoredKey extends KeyRules {
  /** Stands in the key itself, so that one hash is computed however many keys there are. */
  readonly id: string;
  readonly salt: string;
  readonly hash: string;
  readonly created: number;
}

export class KeyExists extends Error {}

const maxBytes = 4 * 2 ** 20;
/** Of any script, with single spaces between the words. */
const namePattern = /^(?=.{1,64}$)[\p{L}\p{N}][\p{L}\p{M}\p{N}._@'’-]*( [\p{L}\p{M}\p{N}._@'’-]+)*$/u;
const keyPattern = /^parley_([a-z0-9]{8})_[A-Za-z0-9_-]{43}$/;

export function isKeyName(name: string): boolean {
  return namePattern.test(name) && name === name.normalize('NFC');
}

/** As it is stored: composed, and without spaces around it. */
export const plainName = (name: string): string => name.normalize('NFC').trim().replace(/\s+/g, ' ');

/** The id in a key; undefined for a text that is no key of a key file. */
export function keyId(key: string): string | undefined {
  return keyPattern.exec(key)?.[1];
}

/** Some 40 ms and 16 MB in the thread pool: a stolen file does not give away its keys. */
export function hashKey(key: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(key, Buffer.from(salt, 'base64'), 32, { N: 2 ** 14, r: 8, p: 1 }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    );
  });
}

interface KeyFileOptions extends Pick<AtomicFileOptions<unknown>, 'path' | 'warn' | 'now'> {
  readonly hash?: typeof hashKey;
}

/** The keys of `--keyfile`. Readable by its owner only, and replaced atomically. A damaged one is left alone: a new one would lock everyone out. */
export class KeyFile {
  readonly #file: AtomicFile<readonly StoredKey[]>;
  readonly #path: string;
  readonly #hash: typeof hashKey;

  constructor({ hash = hashKey, ...options }: KeyFileOptions) {
    this.#path = options.path;
    this.#hash = hash;
    this.#file = new AtomicFile<readonly StoredKey[]>({
      ...options,
      ...form,
      empty: [],
      maxBytes,
      folderMode: 0o777,
      leaveDamaged: true,
    });
  }

  keys(): Promise<readonly StoredKey[]> {
    return this.#file.read();
  }

  /** The same for a server, which never changes the file: another program may be writing it. Throws if it is damaged. */
  async current(): Promise<readonly StoredKey[]> {
    if ((await stat(this.#path)).size > maxBytes) throw new Error('it is too large');
    const bytes = await readFile(this.#path);
    return bytes.length === 0 ? [] : form.decode(bytes);
  }

  /** Returns the key, which is stored nowhere. Throws `KeyExists`. */
  async add(rules: KeyRules, now: number, random?: (bytes: number) => Buffer): Promise<string> {
    const { key } = await this.make(rules, now, random);
    return key;
  }

  /** The same with the stored form. */
  async make(
    rules: KeyRules,
    now: number,
    random: (bytes: number) => Buffer = randomBytes,
  ): Promise<{ readonly key: string; readonly stored: StoredKey }> {
    const id = Array.from(random(8), (byte) => (byte % 36).toString(36)).join('');
    const key = `parley_${id}_${random(32).toString('base64url')}`;
    const salt = random(16).toString('base64');
    const hash = (await this.#hash(key, salt)).toString('base64');
    const stored: StoredKey = { ...rules, id, salt, hash, created: now };
    await this.#file.change((keys) => {
      if (keys.some(({ name }) => name === rules.name)) throw new KeyExists();
      return [...keys, stored];
    });
    return { key, stored };
  }

  /** The key itself stays. False if there is no such key. */
  async change(rules: KeyRules): Promise<boolean> {
    let isKnown = false;
    await this.#file.change((keys) =>
      keys.map((key) => {
        if (key.name !== rules.name) return key;
        isKnown = true;
        const { id, salt, hash, created } = key;
        return { ...rules, id, salt, hash, created };
      }),
    );
    return isKnown;
  }

  /** False if there is no such key. Resolves when the file was read again without it: other programs may not know our lock. */
  async revoke(name: string): Promise<boolean> {
    for (let attempts = 0; attempts < 3; attempts++) {
      if (!(await this.keys()).some((key) => key.name === name)) return attempts > 0;
      await this.#file.change((keys) => keys.filter((key) => key.name !== name));
    }
    throw new Error(`The key of ${name} is not revoked: another program writes ${this.#path} too. Try again`);
  }
}

const form = versionedJson<readonly StoredKey[]>(
  ({ keys }) => {
    if (!Array.isArray(keys)) throw new Error('it has no list of keys');
    return keys.map(storedKey);
  },
  (keys) => ({ keys }),
  2,
);

function storedKey(value: unknown): StoredKey {
  const key = (typeof value === 'object' && value !== null ? value : {}) as Partial<Record<keyof StoredKey, unknown>>;
  const { name, id, salt, hash, scopes, rate, tokensPerDay, weight = 1, expires, created = 0 } = key;
  const texts = [name, id, salt, hash].every((text) => typeof text === 'string');
  const numbers = [rate ?? 1, tokensPerDay ?? 1, weight, expires ?? 0, created].every((number) =>
    Number.isFinite(number),
  );
  if (!texts || !numbers || !Array.isArray(scopes)) throw new Error(`the key ${JSON.stringify(name)} is incomplete`);
  // A scope of a later version gives nothing here.
  return { ...(key as unknown as StoredKey), weight: Number(weight), scopes: scopes.filter(isScope) };
}

export function isScope(value: unknown): value is KeyScope {
  return keyScopes.some((scope) => scope === value);
}
