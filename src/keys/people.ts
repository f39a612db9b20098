import { createHash, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../core/errors.ts';
import type {
  HasLeft,
  Invitation,
  InvitationPreview,
  InvitationRequest,
  IssuedInvitation,
  NewKey,
  NewSession,
  People,
  PersonRules,
  SessionFacts,
  SessionHolder,
  SignIn,
} from '../core/people.ts';
import type { Clock } from '../core/timers.ts';
import { AttemptLimit } from './attempt-limit.ts';
import { freeName } from './free-name.ts';
import { Invitations } from './invitations.ts';
import { isKeyName, KeyFile, type KeyRules, keyId, plainName, type StoredKey } from './key-file.ts';
import type { Keyring } from './keyring.ts';
import { isOfPassword, type SessionOf, Sessions, type StoredSession } from './sessions.ts';

interface PeopleOptions extends Clock {
  /** With `--keyfile` only. */
  readonly keys?:
    | {
        readonly ring: Pick<Keyring, 'find' | 'byId' | 'list' | 'refresh'>;
        readonly file: Pick<KeyFile, 'keys' | 'make' | 'change' | 'revoke'>;
      }
    | undefined;
  readonly password?: string | undefined;
  readonly adminPassword?: string | undefined;
  readonly invitations: Invitations | undefined;
  readonly sessions: Sessions;
}

/** Who a session belongs to, with the rules of the key as they are now. */
export interface SignedIn {
  readonly id: string;
  readonly holder: SessionHolder;
  readonly key?: KeyRules;
}

/** People of the key file and holders of the passwords: how they are invited and signed in. */
export class ServerPeople implements People {
  readonly #options: PeopleOptions;
  readonly #attempts: AttemptLimit;

  constructor(options: PeopleOptions) {
    this.#options = options;
    this.#attempts = new AttemptLimit(options.tick);
  }

  async invite({ name: requested, rules, ...request }: InvitationRequest): Promise<IssuedInvitation> {
    const { keys, store } = this.#inviting();
    const plain = plainName(requested);
    if (!isKeyName(plain)) throw new AppError('invalid-field', { field: 'name', expected: nameRule });
    await keys.ring.refresh();
    const keyOf = (name: string) => keys.ring.list().find((key) => key.name === name);
    const name = request.suggested ? await freeName(plain, (next) => keyOf(next) !== undefined) : plain;
    const key = keyOf(name);
    if (rules && key) throw new AppError('name-taken', { name });
    if (!rules && !key) throw new AppError('not-stored', { what: 'person', id: name });
    if (!rules && key && !keys.ring.byId(key.id)) throw new AppError('person-expired', { name });
    const { expires } = rules ?? {};
    if (expires !== undefined && expires <= this.#options.now())
      throw new AppError('invalid-field', { field: 'key_expires', expected: 'a time in the future' });
    return store.create({ ...request, name, ...(rules && { rules }) });
  }

  async invitations(): Promise<readonly Invitation[]> {
    return (await this.#options.invitations?.list()) ?? [];
  }

  async withdraw(id: string): Promise<boolean> {
    return (await this.#options.invitations?.withdraw(id)) ?? false;
  }

  preview(token: string, address: string): Promise<InvitationPreview> {
    return this.#limited(token, address, async () => this.#inviting().store.preview(token));
  }

  join(token: string, { address, device, remember }: SignIn, hasLeft: HasLeft): Promise<NewSession> {
    return this.#limited(token, address, () =>
      this.#redeem(token, async (invitation) => {
        const key = invitation.rules ? (await this.#newKey(invitation, hasLeft)).stored : this.#keyOf(invitation);
        return this.#opened({ type: 'key', keyId: key.id }, holderOf(key), device, remember);
      }),
    );
  }

  joinWithKey(token: string, address: string, hasLeft: HasLeft): Promise<NewKey> {
    return this.#limited(token, address, () =>
      this.#redeem(token, async (invitation) => {
        if (!invitation.rules) {
          const instead = 'this link signs a device in; ask for an invitation with a name of its own';
          throw new AppError('unsupported', { feature: 'The key of a person who is here already', instead });
        }
        const { key, stored } = await this.#newKey(invitation, hasLeft);
        return { key, holder: holderOf(stored) };
      }),
    );
  }

  signIn(key: string, { address, device, remember }: SignIn): Promise<NewSession> {
    const sent = key.trim();
    // Keys cannot be guessed; the keyring limits the attempts.
    const isKey = keyId(sent) !== undefined;
    const attempt = async () => {
      const { keys } = this.#options;
      for (const { type, password } of this.#passwords())
        if (isEqual(password, sent)) return this.#opened({ type, password }, { type }, device, remember);
      const stored = (await keys?.ring.find(sent, address)) as StoredKey | undefined;
      if (!stored) throw new AppError('unauthorized', {});
      return this.#opened({ type: 'key', keyId: stored.id }, holderOf(stored), device, remember);
    };
    return this.#attempts.run(address, attempt, async () => isKey);
  }

  /** Whose session this is; undefined if it is over. A promise while the file has to be looked at. */
  find(token: string): SignedIn | undefined | Promise<SignedIn | undefined> {
    const session = this.#options.sessions.find(token);
    return session instanceof Promise
      ? session.then((stored) => stored && this.#signedIn(stored, token))
      : session && this.#signedIn(session, token);
  }

  async sessions(): Promise<readonly SessionFacts[]> {
    const all = await this.#options.sessions.list();
    return all.flatMap((session) => {
      const holder = this.#holderOf(session);
      const { id, device, created, lastUsed } = session;
      return holder ? { id, holder, device, created, lastUsed } : [];
    });
  }

  async signOut(ended: (session: SessionFacts) => boolean): Promise<number> {
    const sessions = (await this.sessions()).filter(ended);
    if (sessions.length === 0) return 0;
    const count = await this.#options.sessions.end(new Set(sessions.map(({ id }) => id)));
    // Afterwards: the device makes no more of them.
    const names = new Set(sessions.flatMap(({ holder }) => (holder.type === 'key' ? [holder.name] : [])));
    for (const name of names) await this.#options.invitations?.withdrawDevicesOf(name);
    return count;
  }

  async change(name: string, rules: PersonRules): Promise<boolean> {
    const { keys } = this.#inviting('Changing what people may do');
    const isKnown = await keys.file.change(keyRules(name, rules));
    await keys.ring.refresh();
    return isKnown;
  }

  async remove(name: string): Promise<boolean> {
    const { keys, store } = this.#inviting('Removing people');
    await store.withdrawOf(name);
    await this.signOut(({ holder }) => holder.type === 'key' && holder.name === name);
    const removed = await keys.file.revoke(name);
    await keys.ring.refresh();
    return removed;
  }

  #inviting(feature = 'Inviting people') {
    const { keys, invitations: store } = this.#options;
    if (!keys || !store) {
      const instead = 'start the server with --keyfile FILE';
      throw new AppError('unsupported', { feature, instead });
    }
    return { keys, store };
  }

  /** Servers without a key file know no invitations. */
  async #redeem<Result>(token: string, use: (invitation: Invitation) => Promise<Result>): Promise<Result> {
    const { invitations } = this.#options;
    if (!invitations) throw new AppError('invitation-unknown', {});
    return invitations.redeem(token, use);
  }

  async #newKey({ name, suggested = false, rules }: Invitation, hasLeft: HasLeft) {
    const { keys, now } = this.#options;
    if (!keys || !rules) throw new AppError('invitation-unknown', {});
    const present = await keys.file.keys();
    const isTaken = async (next: string) =>
      present.some((key) => key.name === next) || ((suggested || next !== name) && (await hasLeft(next)));
    const made = await keys.file.make(keyRules(await freeName(name, isTaken), rules), now());
    await keys.ring.refresh();
    return made;
  }

  #limited<Result>(token: string, address: string, attempt: () => Promise<Result>): Promise<Result> {
    return this.#attempts.run(address, attempt, async () => (await this.#options.invitations?.knows(token)) ?? false);
  }

  #keyOf({ name, created }: Invitation): StoredKey {
    const ring = this.#options.keys?.ring;
    const key = ring?.list().find((one) => one.name === name);
    // A later key of this name may belong to another person.
    if (!key || key.created > created) throw new AppError('invitation-used', {});
    if (!ring?.byId(key.id)) throw new AppError('person-expired', { name });
    return key;
  }

  async #opened(of: SessionOf, holder: SessionHolder, device: string, remember: boolean): Promise<NewSession> {
    return { token: await this.#options.sessions.open(of, device, remember), holder };
  }

  #signedIn(session: StoredSession, token: string): SignedIn | undefined {
    const { id, type, keyId = '' } = session;
    if (type === 'key') {
      const key = this.#options.keys?.ring.byId(keyId);
      return key && { id, key, holder: holderOf(key) };
    }
    const right = this.#passwords().some((one) => one.type === type && isOfPassword(session, token, one.password));
    return right ? { id, holder: { type } } : undefined;
  }

  #holderOf({ type, keyId = '' }: StoredSession): SessionHolder | undefined {
    if (type !== 'key') return this.#passwords().some((one) => one.type === type) ? { type } : undefined;
    // One that has expired may be valid again later.
    const key = this.#options.keys?.ring.list().find(({ id }) => id === keyId);
    return key && holderOf(key);
  }

  #passwords(): readonly { readonly type: 'password' | 'admin'; readonly password: string }[] {
    const { password, adminPassword } = this.#options;
    return [
      // Where both are the same, it is that of the administrator.
      ...(adminPassword ? [{ type: 'admin' as const, password: adminPassword.trim() }] : []),
      ...(password ? [{ type: 'password' as const, password: password.trim() }] : []),
    ];
  }
}

const nameRule = "a name of up to 64 letters, digits, spaces and . _ @ ' -, which begins with a letter or digit";

const holderOf = ({ name, scopes }: KeyRules): SessionHolder => ({ type: 'key', name, scopes });

/** Limits that are undefined are left out. */
function keyRules(name: string, rules: PersonRules): KeyRules {
  const { weight = 1, shared = false, scopes, rate, tokensPerDay, expires } = rules;
  return {
    name,
    scopes,
    weight,
    shared,
    ...(rate !== undefined && { rate }),
    ...(tokensPerDay !== undefined && { tokensPerDay }),
    ...(expires !== undefined && { expires }),
  };
}

/** In constant time. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

interface OpenOptions {
  readonly folder: string;
  readonly port: number;
  readonly keyfile: string | undefined;
  readonly ring: Keyring | undefined;
  readonly password: string | undefined;
  readonly adminPassword: string | undefined;
  readonly warn: (sentence: string) => void;
}

/** With the files of the state folder. Sessions belong to the port, as their cookies do. */
export function openPeople({ folder, port, keyfile, ring, password, adminPassword, warn }: OpenOptions): ServerPeople {
  const { now } = Date;
  const invitations = { path: join(folder, 'invitations.json'), warn, now };
  return new ServerPeople({
    keys: keyfile !== undefined && ring ? { ring, file: new KeyFile({ path: keyfile, warn, now }) } : undefined,
    password,
    adminPassword,
    now,
    invitations: keyfile === undefined ? undefined : new Invitations({ ...invitations, keyfile }),
    sessions: new Sessions({ path: join(folder, `sessions-${port}.json`), warn, now }),
    tick: () => performance.now(),
  });
}
