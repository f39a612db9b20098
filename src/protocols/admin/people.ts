import { AppError } from '../../core/errors.ts';
import {
  defaultScopes,
  type HasLeft,
  type Invitation,
  keyScopes,
  type NewSession,
  type People,
  type PersonRules,
  previewPath,
  type SessionFacts,
  type SessionHolder,
} from '../../core/people.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { isFromOwnPage, noSessionCookie, sessionCookie } from '../../http/session-cookie.ts';
import { information, write } from '../access.ts';
import { bodyOf, endpointRow, lastPart, type PlainEndpoint } from '../endpoint.ts';
import * as f from '../fields.ts';
import { type AdminAccess, adminDialect, administered, adminRow, allowed, moment, noModel } from './access.ts';

interface PeopleServices {
  readonly access: AdminAccess;
  /** Loads what keeps invitations and sessions. */
  readonly people?: (() => Promise<People>) | undefined;
  readonly hasLeft: HasLeft;
  /** Of `--port`: the cookie is named by it. */
  readonly port: number;
  readonly now: () => number;
}

const readMoment: f.Read<number> = f.described({ type: 'string', format: 'date-time' }, (value, path) => {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (!Number.isFinite(time)) throw f.wrong(path, 'a date with time, such as 2027-01-31T23:00:00Z');
  return time;
});

const readWeight: f.Read<number> = f.described({ type: 'number', minimum: 0.01, maximum: 100 }, (value, path) => {
  if (typeof value !== 'number' || !(value >= 0.01 && value <= 100)) throw f.wrong(path, 'a number from 0.01 to 100');
  return value;
});

/** The rules of a key; null and a missing field are the same. */
export const ruleFields = {
  scopes: f.honoured(
    f.optional(f.listOf(f.oneOf(...keyScopes))),
    'What the person may do; all but `admin` without it.',
  ),
  rate: f.honoured(
    f.optional(f.readPositive),
    'Requests per minute for text, pictures, sound or vectors; no limit without it.',
  ),
  tokens_per_day: f.honoured(f.optional(f.readPositive), 'Tokens per day, read and written; no limit without it.'),
  weight: f.honoured(f.optional(readWeight), 'Share of the queue, by default 1.'),
  shared: f.honoured(f.optionalFlag, 'Use the common library, instead of one of their own.'),
  key_expires: f.honoured(f.optional(readMoment), 'When the key ends; never without it.'),
};

const inviteFields = {
  name: f.honoured(f.readName, "Of the person; letters of any script, digits, spaces and . _ @ ' -."),
  existing: f.honoured(
    f.optionalFlag,
    'For another device of a person who is here already. The rules stay as they are.',
  ),
  suggested: f.honoured(
    f.optionalFlag,
    'Put a number behind the name where somebody has it, or was removed and has left something under it.',
  ),
  minutes: f.honoured(f.optional(f.wholeBetween(1, 24 * 60)), 'How long the link works, by default 15.'),
  ...ruleFields,
};

const ownFields = { minutes: f.honoured(f.optional(f.wholeBetween(1, 60)), 'How long the link works, by default 15.') };

const device = f.honoured(f.optionalText, 'What the device is called in lists; by default browser and system.');

const joinFields = {
  token: f.honoured(f.readName, 'What stands behind `#` in the link.'),
  device,
  key: f.honoured(f.optionalFlag, 'Answer the key itself instead of signing in: for apps. It is shown this once.'),
};

const previewFields = { token: joinFields.token };

const signInFields = {
  key: f.honoured(f.readName, 'A key of the key file, or a password.'),
  remember: f.honoured(f.optionalFlag, 'Stay signed in when the browser is closed; true without it.'),
  device,
};

const shape = { method: 'POST', dialect: adminDialect, recorded: false } as const;
const openRow = endpointRow({ access: 'open', changes: true }, shape);
const ownRow = endpointRow(write(), shape);
const unstored = { 'cache-control': 'no-store' } as const;

const defaultMinutes = 15;

/** Inviting people, signing in and signing out. */
export function peopleEndpoints(services: PeopleServices): PlainEndpoint[] {
  const { access, people, hasLeft, port, now } = services;
  const { show } = administered(access, people);
  const managed = (call: Call): Promise<People> => allowed(people, access, call)();
  const opened = async (): Promise<People> => {
    if (!people) throw new AppError('unsupported', { feature: 'Signing in', instead: 'this server needs no key' });
    return people();
  };
  const cookieFor = (call: Call, path: string) => {
    const { headers, encrypted } = call;
    return { port, prefix: prefixOf(call, path), headers, encrypted };
  };
  const signedIn = (call: Call, path: string, { token, holder }: NewSession, remember: boolean): Reply => {
    const cookie = sessionCookie(token, remember, cookieFor(call, path));
    return json(holderBody(holder), 200, { 'set-cookie': cookie, ...unstored });
  };
  const isOwn = (call: Call) => (session: SessionFacts) => isSameHolder(session.holder, call);
  /** The session that another one replaces in this browser. */
  const endReplaced = async (known: People, { session }: Call): Promise<void> => {
    if (session !== undefined) await known.signOut(({ id }) => id === session);
  };
  const signOut = (known: People, session: string | undefined, call: Call): Promise<number> => {
    const { query } = call;
    if (query.get('everywhere') === '1') return known.signOut(isOwn(call));
    const id = query.get('device') ?? session;
    return known.signOut((one) => one.id === id && isOwn(call)(one));
  };
  /** Ends what the last part of the path names. */
  const ending = (path: string, summary: string, what: string, end: (own: People, id: string) => Promise<unknown>) =>
    adminRow(
      path,
      summary,
      async (call) => {
        const id = lastPart(call);
        if (!(await end(await managed(call), id))) throw new AppError('not-stored', { what, id });
        return json({ success: true });
      },
      { method: 'DELETE', match: 'prefix', below: { '{id}': { response: 'change' } } },
    );
  return [
    show('/api/admin/invitations', 'The invitations that can still be used.', 'invitations', async (own) => ({
      invitations: (await own.invitations()).map(invitationBody),
    })),
    adminRow(
      '/api/admin/invitations',
      'A one-time link: whoever opens it first gets a key of this name and is signed in.',
      async (call) => {
        const inviting = await managed(call);
        const sent = f.readFields(inviteFields, await bodyOf(call));
        const { name, existing, suggested, minutes = defaultMinutes, ...rules } = sent;
        const issued = await inviting.invite({
          name,
          ...(!existing && { suggested, rules: rulesOf(rules) }),
          lifetimeMs: minutes * 60_000,
          by: nameOf(call),
        });
        return json(linkBody(issued));
      },
      { fields: inviteFields, response: 'invite', ...noModel },
    ),
    ending('/api/admin/invitations/', 'Withdraw an invitation.', 'invitation', (own, id) => own.withdraw(id)),
    ownRow(
      '/api/extra/invitations',
      'A one-time link that signs another device in, for the person whose key or session it is sent with.',
      async (call) => {
        const { key } = call;
        const { minutes = defaultMinutes } = f.readFields(ownFields, await bodyOf(call, 'object'));
        if (!key) {
          const instead = 'enter the password on the other device';
          throw new AppError('unsupported', { feature: 'A link without a key of the key file', instead });
        }
        const issued = await (await opened()).invite({
          name: key.name,
          lifetimeMs: minutes * 60_000,
          by: nameOf(call),
        });
        return json(linkBody(issued));
      },
      { fields: ownFields, response: 'invite', ...noModel },
    ),
    openRow(
      '/api/extra/join',
      'Use an invitation: makes the key that it names and signs in.',
      async (call) => {
        const { token, device, key = false } = f.readFields(joinFields, await bodyOf(call));
        const joining = await opened();
        if (key) {
          const made = await joining.joinWithKey(token, call.remoteAddress, hasLeft);
          return json({ ...holderBody(made.holder), key: made.key }, 200, unstored);
        }
        refuseForeignPage(call);
        const sign = { device: deviceOf(call, device), remember: true, address: call.remoteAddress };
        const session = await joining.join(token, sign, hasLeft);
        await endReplaced(joining, call);
        return signedIn(call, '/api/extra/join', session, true);
      },
      { fields: joinFields, response: 'join', ...noModel },
    ),
    openRow(
      previewPath,
      'What an invitation is for, and whether it was used or is too old. It stays as it is.',
      async (call) => {
        const { token } = f.readFields(previewFields, await bodyOf(call));
        const { state, ...invitation } = await (await opened()).preview(token, call.remoteAddress);
        return json({ ...invitationBody(invitation), state }, 200, unstored);
      },
      { ...information, method: 'POST', fields: previewFields, response: 'joinPreview', ...noModel },
    ),
    openRow(
      '/api/extra/session',
      'Sign in with a key or a password: sets a cookie for the pages of this server.',
      async (call) => {
        refuseForeignPage(call);
        const { key, device, remember = true } = f.readFields(signInFields, await bodyOf(call));
        const sign = { device: deviceOf(call, device), remember, address: call.remoteAddress };
        const signing = await opened();
        const session = await signing.signIn(key, sign);
        await endReplaced(signing, call);
        return signedIn(call, '/api/extra/session', session, remember);
      },
      { fields: signInFields, response: 'signIn', ...noModel },
    ),
    openRow(
      '/api/extra/session',
      'Who is signed in by the cookie of this request, and on which devices.',
      async (call) => {
        if (call.session === undefined) return json({ ...noHolder, devices: [] }, 200, unstored);
        const sessions = await (await opened()).sessions();
        const current = sessions.find(({ id }) => id === call.session);
        const own = sessions.filter(isOwn(call)).map((session) => deviceBody(session, call));
        const body = { ...(current ? holderBody(current.holder) : noHolder), devices: own };
        return json(body, 200, unstored);
      },
      { ...information, method: 'GET', response: 'session' },
    ),
    openRow(
      '/api/extra/session',
      'Sign out: this device, with ?everywhere=1 all of this person, with ?device=ID one of them.',
      async (call) => {
        const { session, key, query } = call;
        const isKnown = session !== undefined || key !== undefined;
        const ended = isKnown ? await signOut(await opened(), session, call) : 0;
        const other = query.get('device');
        if (other !== null && other !== session) return json({ success: ended > 0, ended });
        const cookie = noSessionCookie(cookieFor(call, '/api/extra/session'));
        return json({ success: true, ended }, 200, { 'set-cookie': cookie });
      },
      { method: 'DELETE', response: 'signOut' },
    ),
    show('/api/admin/sessions', 'The devices on which people are signed in.', 'sessions', async (own, call) => {
      const sessions = await own.sessions();
      return { sessions: sessions.map((one) => ({ ...holderBody(one.holder), ...deviceBody(one, call) })) };
    }),
    ending('/api/admin/sessions/', 'Sign a device out.', 'session', (own, id) =>
      own.signOut((session) => session.id === id),
    ),
  ];

  function linkBody({ token, ...invitation }: Invitation & { readonly token: string }) {
    return { ...invitationBody(invitation), token, path: `/join#${token}` };
  }

  function invitationBody({ id, name, rules, created, expires, by }: Invitation) {
    return {
      id,
      name,
      existing: rules === undefined,
      ...(rules && rulesBody(rules)),
      created: moment(created),
      expires: moment(expires),
      minutes_left: minutesUntil(expires),
      by,
    };
  }

  function minutesUntil(time: number): number {
    return Math.max(0, Math.ceil((time - now()) / 60_000));
  }
}

export function rulesOf({
  scopes,
  tokens_per_day: tokensPerDay,
  key_expires: expires,
  ...rules
}: f.Fields<typeof ruleFields>): PersonRules {
  return { scopes: scopes ?? defaultScopes, tokensPerDay, expires, ...rules };
}

function rulesBody({ scopes, rate, tokensPerDay, weight = 1, shared = false, expires }: PersonRules) {
  const limits = { rate: rate ?? null, tokens_per_day: tokensPerDay ?? null, weight, shared };
  return { scopes, ...limits, key_expires: expires === undefined ? null : moment(expires) };
}

const noHolder = { type: null, name: null, scopes: [] };

function holderBody(holder: SessionHolder) {
  const { type } = holder;
  return type === 'key' ? { type, name: holder.name, scopes: holder.scopes } : { ...noHolder, type };
}

function deviceBody({ id, device, created, lastUsed }: SessionFacts, call: Call) {
  return { id, device, created: moment(created), last_used: moment(lastUsed), current: id === call.session };
}

function isSameHolder(holder: SessionHolder, { key, isAdmin = false }: Call): boolean {
  if (holder.type === 'key') return key?.name === holder.name;
  return key === undefined && (holder.type === 'admin') === isAdmin;
}

/** A page of another origin, even of those that may call the server, cannot sign the browser in as somebody of its choice. */
function refuseForeignPage({ headers }: Call): void {
  const { origin, 'sec-fetch-site': site } = headers;
  if ((origin !== undefined || site !== undefined) && !isFromOwnPage(headers))
    throw new AppError('origin-refused', { origin: origin ?? 'null' });
}

/** What stands before the path of an endpoint, behind a proxy; empty for what cannot stand in a cookie. */
function prefixOf({ path }: Call, own: string): string {
  const prefix = path.slice(0, -own.length);
  return /^[\w./~%-]*$/.test(prefix) ? prefix : '';
}

function deviceOf({ headers }: Call, name: string | undefined): string {
  // Control characters would break lists on a console.
  const plain = name
    ?.replace(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, 80);
  return plain || deviceName(headers['user-agent'] ?? '');
}

const nameOf = ({ key, isAdmin }: Call): string => key?.name ?? (isAdmin ? 'admin' : 'owner');

/** The first that occurs counts: most browsers name several. */
const browsers = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['CriOS', 'Chrome'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const;

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['CrOS', 'ChromeOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** `Chrome, Android`: what a browser says of itself. A program is named by its first word. */
function deviceName(userAgent: string): string {
  const named = (known: readonly (readonly [string, string])[]) =>
    known.find(([word]) => userAgent.includes(word))?.[1];
  const names = [named(browsers), named(systems)].filter((name) => name !== undefined);
  if (names.length > 0) return names.join(', ');
  return /^[\w.-]{1,40}/.exec(userAgent)?.[0] ?? '';
}
