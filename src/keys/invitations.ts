import { createHash, randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { Invitation, InvitationPreview, InvitationRequest, IssuedInvitation } from '../core/people.ts';
import { Mutex } from '../core/synchronization.ts';
import { AtomicFile, type AtomicFileOptions, versionedJson } from '../store/atomic-file.ts';
import { isScope } from './key-file.ts';

/** Only a hash of the token is stored: the token has 144 random bits, so that a plain hash is enough. */
interface StoredInvitation extends Invitation {
  readonly hash: string;
  /** The key file that the new key goes into. */
  readonly keyfile: string;
  /** Used invitations are kept for a day, to tell a used link from a wrong one. */
  readonly used?: boolean;
}

interface InvitationsOptions extends Pick<AtomicFileOptions<unknown>, 'path' | 'warn'> {
  /** Servers of one account share the file, and may have several key files. */
  readonly keyfile: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly random?: (bytes: number) => Buffer;
}

const maxLifetimeMs = 24 * 3_600_000;
const keptMs = 24 * 3_600_000;
const maxInvitations = 1000;
/** That one maker has for one person: nobody pushes out those of others. */
const maxOfOne = 20;
const mostBytes = 2 ** 20;

/** One-time links: whoever opens one first becomes the person, or signs in as the person, that it names. */
export class Invitations {
  readonly #options: InvitationsOptions;
  readonly #file: AtomicFile<readonly StoredInvitation[]>;
  readonly #redeeming = new Mutex();

  constructor(options: InvitationsOptions) {
    this.#options = options;
    const { path, warn, now } = options;
    this.#file = new AtomicFile({ path, warn, now: () => new Date(now()), mostBytes, empty: [], ...form });
  }

  async create({ lifetimeMs, ...request }: InvitationRequest): Promise<IssuedInvitation> {
    const { now, keyfile, random = randomBytes } = this.#options;
    const created = now();
    const expires = created + Math.min(lifetimeMs, maxLifetimeMs);
    const token = random(18).toString('base64url');
    const invitation = { ...request, id: `inv_${random(9).toString('base64url')}`, created, expires };
    await this.#change((all) => {
      const kept = all.filter((one) => one.expires > created - keptMs);
      const ofOne = kept.filter(
        (one) => one.keyfile === keyfile && one.by === invitation.by && one.name === invitation.name,
      );
      const dropped = new Set(ofOne.slice(0, -(maxOfOne - 1)));
      const left = kept.filter((one) => !dropped.has(one));
      return [...left.slice(-(maxInvitations - 1)), { ...invitation, hash: hashOf(token), keyfile }];
    });
    return { ...invitation, token };
  }

  /** Those that can still be used, the newest first. */
  async list(): Promise<readonly Invitation[]> {
    const { now, keyfile } = this.#options;
    const open = (await this.#file.read()).filter((one) => one.keyfile === keyfile && !one.used && one.expires > now());
    return open.map(({ hash: _, keyfile: __, used: ___, ...invitation }) => invitation).reverse();
  }

  async knows(token: string): Promise<boolean> {
    const hash = hashOf(token);
    return (await this.#file.read()).some((one) => one.hash === hash && one.keyfile === this.#options.keyfile);
  }

  /** What the link was made for, which stays as it is. Throws for an unknown one. */
  async preview(token: string): Promise<InvitationPreview> {
    const { now, keyfile } = this.#options;
    const hash = hashOf(token);
    const found = (await this.#file.read()).find((one) => one.hash === hash && one.keyfile === keyfile);
    if (!found) throw new AppError('invitation-unknown', {});
    const { hash: _, keyfile: __, used, ...invitation } = found;
    return { ...invitation, state: used ? 'used' : invitation.expires <= now() ? 'expired' : 'open' };
  }

  /** False for one that is used already. */
  async withdraw(id: string): Promise<boolean> {
    return (await this.#drop((one) => one.id === id && !one.used)) > 0;
  }

  /** All for a person, and those that this person has made; also those that are used up. */
  async withdrawOf(name: string): Promise<void> {
    await this.#drop((one) => one.name === name || one.by === name);
  }

  /** Links that sign another device of a person in. */
  async withdrawDevicesOf(name: string): Promise<void> {
    await this.#drop((one) => one.name === name && !one.rules && !one.used);
  }

  /** After those that are being used: what is dropped lets nobody in any more. */
  #drop(isDropped: (one: StoredInvitation) => boolean): Promise<number> {
    const { keyfile } = this.#options;
    return this.#redeeming.run(async () => {
      let dropped = 0;
      await this.#change((all) => {
        const left = all.filter((one) => one.keyfile !== keyfile || !isDropped(one));
        dropped = all.length - left.length;
        return dropped > 0 ? left : all;
      });
      return dropped;
    });
  }

  /** Uses an invitation up, unless `use` fails. Throws for one that was used, is too old, or is unknown. */
  redeem<Result>(token: string, use: (invitation: Invitation) => Promise<Result>): Promise<Result> {
    return this.#redeeming.run(async () => {
      const invitation = await this.#take(hashOf(token));
      try {
        return await use(invitation);
      } catch (error) {
        await this.#mark(invitation.id, false);
        throw error;
      }
    });
  }

  async #take(hash: string): Promise<Invitation> {
    const { now, keyfile } = this.#options;
    const isIt = (one: StoredInvitation) => one.hash === hash && one.keyfile === keyfile;
    let taken: StoredInvitation | undefined;
    await this.#change((all) => {
      const found = all.find(isIt);
      if (!found) throw new AppError('invitation-unknown', {});
      if (found.used || found.expires <= now()) throw new AppError('invitation-used', {});
      taken = found;
      return all.map((one) => (one === found ? { ...one, used: true } : one));
    });
    return taken as StoredInvitation;
  }

  async #change(next: (all: readonly StoredInvitation[]) => readonly StoredInvitation[]): Promise<void> {
    await mkdir(dirname(this.#options.path), { recursive: true });
    await this.#file.change(next);
  }

  async #mark(id: string, used: boolean): Promise<void> {
    await this.#change((all) => all.map((one) => (one.id === id ? { ...one, used } : one)));
  }
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64url');

const form = versionedJson<readonly StoredInvitation[]>(
  ({ invitations }) => {
    if (!Array.isArray(invitations) || !invitations.every(isStored)) throw new Error('it has no list of invitations');
    return invitations;
  },
  (invitations) => ({ invitations }),
);

function isStored(value: unknown): value is StoredInvitation {
  if (!isObject(value)) return false;
  const { id, name, by, hash, keyfile, rules, created, expires } = value;
  const texts = [id, name, by, hash, keyfile].every((text) => typeof text === 'string');
  const times = [created, expires].every((time) => typeof time === 'number');
  const ruled = rules === undefined || (isObject(rules) && Array.isArray(rules.scopes) && rules.scopes.every(isScope));
  return texts && times && ruled;
}
