import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { hasMembers } from '../core/json.ts';
import type { Clock } from '../core/timers.ts';
import { AtomicFile, type AtomicFileOptions, versionedList } from '../store/atomic-file.ts';

/** What a session stands for: a key by its id, or a password, which is not stored. */
export type SessionOf =
  | { readonly type: 'key'; readonly keyId: string }
  | { readonly type: 'password' | 'admin'; readonly password: string };

/** Of the token only a hash is stored: it has 256 random bits, so that a plain hash is enough. */
export interface StoredSession {
  readonly id: string;
  readonly hash: string;
  readonly type: SessionOf['type'];
  readonly keyId?: string;
  /** A hash of the password under the token, which is in no file: passwords cannot be tried with it, and a new password ends the session. */
  readonly proof?: string;
  readonly device: string;
  readonly remember: boolean;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly lastUsed: number;
}

interface SessionsOptions extends Pick<AtomicFileOptions<unknown>, 'path' | 'warn'>, Pick<Clock, 'now'> {
  readonly random?: (bytes: number) => Buffer;
}

const dayMs = 24 * 3_600_000;
/** How long a session may be unused. */
const unusedMs = 90 * dayMs;
/** The same for one that ends with the browser. */
const unusedBriefMs = dayMs;
/** The time of the last use is stored this exactly. */
const usePrecisionMs = 3_600_000;
/** How often the file is looked at, which other servers of this account may change. */
const lookMs = 1000;
const maxOfOne = 100;
const maxSessions = 10_000;
const maxBytes = 16 * 2 ** 20;

/** Devices on which somebody is signed in, in a file that the servers of one account share. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #file: AtomicFile<readonly StoredSession[]>;
  #byHash: ReadonlyMap<string, StoredSession> = new Map();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#file = new AtomicFile({ ...options, ...versionedList('sessions', isStored), maxBytes, folderMode: 0o777 });
  }

  /** Returns the token, which is stored nowhere. */
  async open(of: SessionOf, device: string, remember: boolean): Promise<string> {
    const { now, random = randomBytes } = this.#options;
    const token = random(32).toString('base64url');
    const time = now();
    const session: StoredSession = {
      id: `ses_${random(9).toString('base64url')}`,
      hash: hashOf(token),
      type: of.type,
      ...(of.type === 'key' ? { keyId: of.keyId } : { proof: proofOf(token, of.password) }),
      device,
      remember,
      created: time,
      lastUsed: time,
    };
    await this.#change((all) => {
      const current = all.filter((one) => !this.#isOver(one));
      const sameHolder = current.filter((one) => one.type === session.type && one.keyId === session.keyId);
      const dropped = new Set(oldest(sameHolder, sameHolder.length - maxOfOne + 1));
      const left = current.filter((one) => !dropped.has(one));
      const surplus = new Set(oldest(left, left.length - maxSessions + 1));
      return [...left.filter((one) => !surplus.has(one)), session];
    });
    return token;
  }

  /** A promise while the file has to be looked at. */
  find(token: string): StoredSession | undefined | Promise<StoredSession | undefined> {
    const hash = hashOf(token);
    const isFresh = this.#options.now() - this.#lookedAt < lookMs;
    return isFresh ? this.#valid(hash) : this.#look().then(() => this.#valid(hash));
  }

  /** All that can be used, the most recently used first. */
  async list(): Promise<readonly StoredSession[]> {
    await this.#look();
    const valid = [...this.#byHash.values()].filter((one) => !this.#isOver(one));
    return valid.sort((one, other) => other.lastUsed - one.lastUsed);
  }

  /** How many were ended. */
  async end(ids: ReadonlySet<string>): Promise<number> {
    let ended = 0;
    await this.#change((all) => {
      const left = all.filter(({ id }) => !ids.has(id));
      ended = all.length - left.length;
      return ended === 0 ? all : left;
    });
    return ended;
  }

  #valid(hash: string): StoredSession | undefined {
    const session = this.#byHash.get(hash);
    if (!session || this.#isOver(session)) return undefined;
    const now = this.#options.now();
    if (now - session.lastUsed > usePrecisionMs) {
      const used = { ...session, lastUsed: now };
      this.#byHash = new Map([...this.#byHash, [hash, used]]);
      // A use that cannot be stored is no reason to refuse it.
      this.#change((all) => all.map((one) => (one.id === used.id ? used : one))).catch(() => undefined);
    }
    return session;
  }

  #isOver({ lastUsed, remember }: StoredSession): boolean {
    return this.#options.now() - lastUsed > (remember ? unusedMs : unusedBriefMs);
  }

  #look(): Promise<void> {
    this.#looking ??= this.#file
      .read()
      .then((all) => this.#use(all))
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #change(next: (all: readonly StoredSession[]) => readonly StoredSession[]): Promise<void> {
    this.#use(await this.#file.change(next));
  }

  #use(all: readonly StoredSession[]): void {
    this.#byHash = new Map(all.map((session) => [session.hash, session]));
    this.#lookedAt = this.#options.now();
  }
}

/** Whether a session was opened with this password. */
export function isOfPassword({ proof = '' }: StoredSession, token: string, password: string): boolean {
  const [own, expected] = [Buffer.from(proofOf(token, password)), Buffer.from(proof)];
  return own.length === expected.length && timingSafeEqual(own, expected);
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64url');
const proofOf = (token: string, password: string): string =>
  createHmac('sha256', token).update(password).digest('base64url');

function oldest(sessions: readonly StoredSession[], count: number): readonly StoredSession[] {
  return count <= 0 ? [] : [...sessions].sort((one, other) => one.lastUsed - other.lastUsed).slice(0, count);
}

function isStored(value: unknown): value is StoredSession {
  const members = { id: 'string', hash: 'string', device: 'string', remember: 'boolean' } as const;
  if (!hasMembers(value, { ...members, created: 'number', lastUsed: 'number' })) return false;
  const { type, keyId, proof } = value;
  const of = type === 'key' ? keyId : type === 'password' || type === 'admin' ? proof : undefined;
  return typeof of === 'string';
}
