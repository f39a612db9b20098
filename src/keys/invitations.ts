import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '../core/errors.ts';
import { hasMembers, isObject } from '../core/json.ts';
import type { Invitation, InvitationPreview, InvitationRequest, IssuedInvitation } from '../core/people.ts';
import { Mutex } from '../core/synchronization.ts';
import type { Clock } from '../core/timers.ts';
import { AtomicFile, type AtomicFileOptions, versionedList } from '../store/atomic-file.ts';
import { isScope } from './key-file.ts';

/** Only a hash of the token is stored: the token has 144 random bits, so that a plain hash is enough. */
interface StoredInvitation extends Invitation {
  readonly hash: string;
  /** The key file that the new key goes into. */
  readonly keyfile: string;
  /** Used invitations are kept for a day, to tell a used link from a wrong one. */
  readonly used?: boolean;
}

interface InvitationsOptions extends Pick<AtomicFileOptions<unknown>, 'path' | 'warn'>, Pick<Clock, 'now'> {
  /** Servers of one account share the file, and may have several key files. */
  readonly keyfile: string;
  readonly random?: (bytes: number) => Buffer;
}

const maxLifetimeMs = 24 * 3_600_000;
const keptMs = 24 * 3_600_000;
const maxInvitations = 1000;
/** Per maker and person, so that no maker displaces the invitations of others. */
const maxOfOne = 20;
const maxBytes = 2 ** 20;

/** One-time links: the first person who opens one becomes, or signs in as, the person that it names. */
export class Invitations {
  readonly #options: InvitationsOptions;
  readonly #file: AtomicFile<readonly StoredInvitation[]>;
  readonly #redeeming = new Mutex();

  constructor(options: InvitationsOptions) {
    this.#options = options;
    const form = versionedList('invitations', isStored);
    this.#file = new AtomicFile({ ...options, ...form, maxBytes, folderMode: 0o777 });
  }

  async create({ lifetimeMs, ...request }: InvitationRequest): Promise<IssuedInvitation> {
    const { now, keyfile, random = randomBytes } = this.#options;
    const created = now();
    const expires = created + Math.min(lifetimeMs, maxLifetimeMs);
    const token = random(18).toString('base64url');
    const invitation = { ...request, id: `inv_${random(9).toString('base64url')}`, created, expires };
    await this.#file.change((all) => {
      const current = all.filter((one) => one.expires > created - keptMs);
      const ofOne = current.filter(
        (one) => one.keyfile === keyfile && one.by === invitation.by && one.name === invitation.name,
      );
      const dropped = new Set(ofOne.slice(0, -(maxOfOne - 1)));
      const left = current.filter((one) => !dropped.has(one));
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
    const stored = (await this.#file.read()).find((one) => one.hash === hash && one.keyfile === keyfile);
    if (!stored) throw new AppError('invitation-unknown', {});
    const { hash: _, keyfile: __, used, ...invitation } = stored;
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

  /** Waits for those that are being used: a dropped invitation must not let anyone in afterwards. */
  #drop(isDropped: (one: StoredInvitation) => boolean): Promise<number> {
    const { keyfile } = this.#options;
    return this.#redeeming.run(async () => {
      let dropped = 0;
      await this.#file.change((all) => {
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
        const { id } = invitation;
        await this.#file.change((all) => all.map((one) => (one.id === id ? { ...one, used: false } : one)));
        throw error;
      }
    });
  }

  async #take(hash: string): Promise<Invitation> {
    const { now, keyfile } = this.#options;
    const isIt = (one: StoredInvitation) => one.hash === hash && one.keyfile === keyfile;
    let taken: StoredInvitation | undefined;
    await this.#file.change((all) => {
      const stored = all.find(isIt);
      if (!stored) throw new AppError('invitation-unknown', {});
      if (stored.used || stored.expires <= now()) throw new AppError('invitation-used', {});
      taken = stored;
      return all.map((one) => (one === stored ? { ...one, used: true } : one));
    });
    return taken as StoredInvitation;
  }
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64url');

function isStored(value: unknown): value is StoredInvitation {
  const members = { id: 'string', name: 'string', by: 'string', hash: 'string', keyfile: 'string' } as const;
  if (!hasMembers(value, { ...members, created: 'number', expires: 'number' })) return false;
  const { rules } = value;
  return rules === undefined || (isObject(rules) && Array.isArray(rules.scopes) && rules.scopes.every(isScope));
}
