import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { AppError } from '../core/errors.ts';
import type { KeyScope } from '../core/people.ts';
import type { RequestObserver } from '../core/request-observer.ts';
import { hostName, isLoopback } from './address.ts';
import type { AccessRule, ClientKey } from './call.ts';
import { queryOf } from './router.ts';
import { authorityOf, isFromOwnPage, isOwnPage, plainOrigin } from './session-cookie.ts';

export interface GuardOptions {
  readonly password?: string | undefined;
  readonly adminPassword?: string | undefined;
  readonly allowedOrigins?: readonly string[];
  readonly allowedHosts?: readonly string[];
  readonly machineName?: string;
  /** `--host`; by default the loopback addresses. */
  readonly listensOn?: string | undefined;
  /** `--legacyopenpaths`: guarded endpoints that are marked `legacyOpen` need no key. */
  readonly legacyOpen?: boolean;
  /** The keys of `--keyfile`. */
  readonly keys?: Keys | undefined;
  /** The error for a key that has used its tokens of today. */
  readonly overLimit?: ((key: ClientKey) => AppError | undefined) | undefined;
  /** Requests from this machine itself need no key. */
  readonly ownerOnLoopback?: boolean;
  /** Who is signed in by the cookie of these headers. */
  readonly sessionOf?: ((headers: IncomingHttpHeaders) => Eventual<Session | undefined>) | undefined;
}

type Eventual<Value> = Value | Promise<Value>;

/** A person who is signed in: with a key, or with a password. */
interface Session {
  readonly id: string;
  readonly key?: ClientKey;
  /** Has the password of `--adminpassword`. */
  readonly isAdmin: boolean;
}

interface Keys {
  /** Undefined for a wrong key. A promise only for a key that was not seen before. The address is that of the client. */
  find(key: string, address: string): Eventual<ClientKey | undefined>;
  /** Counts a request. Returns the seconds to wait if the key is over its rate, else 0. */
  use(key: ClientKey, isWork: boolean): number;
}

/** Who sends a request. */
export type Identity =
  /** No key, or a wrong one. */
  | { readonly type: 'nobody' }
  /** Has sent the password, or none is needed. */
  | { readonly type: 'owner'; readonly password: boolean; readonly session?: string; readonly isAdmin?: boolean }
  | { readonly type: 'key'; readonly key: ClientKey; readonly session?: string };

/** Added by proxies, which may let others connect. */
export const proxyHeaders = ['forwarded', 'via', 'x-real-ip', 'cf-connecting-ip', 'tailscale-user-login'].concat(
  ['for', 'host', 'proto', 'port', 'server'].map((name) => `x-forwarded-${name}`),
);

/** Scopes of work that reads or writes tokens. */
const tokenScopes: readonly KeyScope[] = ['text', 'chat', 'embeddings'];

const nobody: Identity = { type: 'nobody' };
const anybody: Identity = { type: 'owner', password: false };
const passwordHolder: Identity = { type: 'owner', password: true };

export type Guard = ReturnType<typeof createGuard>;

/** Hosted clients that call servers on the machine of their user. */
const hostedClients = ['https://lite.koboldai.net'];

/**
 * Names that containers have for the machine they run on. No public name server can answer for them: the top-level domain `internal` is
 * reserved for private networks.
 */
const containerHosts = ['host.docker.internal', 'gateway.docker.internal', 'kubernetes.docker.internal'].concat([
  'host.containers.internal',
  'host.lima.internal',
  'host.orb.internal',
  'host.minikube.internal',
]);

/** Access by the headers alone: the host (DNS rebinding), the origin (pages that a user merely visits) and the key. */
export function createGuard(options: GuardOptions) {
  const protectedByKey = Boolean(options.password) || options.keys !== undefined;
  const passwords = [options.password, options.adminPassword].flatMap((key) => (key ? [digest(key)] : []));
  const listed = new Set((options.allowedOrigins ?? []).map(plainOrigin));
  const hosts = new Set([
    ...ownNames(options.machineName),
    ...(options.allowedHosts ?? []).map(plainHost),
    ...namesOf(options.listensOn),
  ]);
  const legacyOpen = (endpoint: AccessRule): boolean => options.legacyOpen === true && endpoint.legacyOpen === true;

  /** Named by the administrator. `null` is the origin of every sandboxed frame, and identifies no site. */
  const isListed = (origin: string): boolean => origin !== 'null' && listed.has(plainOrigin(origin));
  const isKnown = (origin: string, headers: IncomingHttpHeaders): boolean =>
    isListed(origin) ||
    isOwnPage(origin, headers.host) ||
    isLoopbackPage(origin) ||
    hostedClients.includes(plainOrigin(origin));
  const permits = (origin: string, headers: IncomingHttpHeaders): boolean =>
    listed.has('*') || listed.has(plainOrigin(origin)) || isKnown(origin, headers);

  /** Browsers keep Basic credentials and send them by themselves, also with requests that a foreign page makes. */
  const countsBasic = (headers: IncomingHttpHeaders, endpoint: AccessRule | undefined): boolean => {
    // Any page can use such a path as the source of an element, without an Origin header.
    if (endpoint?.keyInQuery) return false;
    const page = callingPage(headers);
    return page === undefined || isListed(page) || isVeryPage(page, headers);
  };

  // Host and origin need no check where a key is required.
  const keyGuards = (endpoint: AccessRule | undefined): boolean =>
    protectedByKey && !(endpoint !== undefined && legacyOpen(endpoint));

  /** Only for a request of our own page, and of one that sends no other credentials. */
  const sessionOf = (headers: IncomingHttpHeaders): Promise<Identity> | undefined => {
    const { cookie, authorization } = headers;
    if (!options.sessionOf || cookie === undefined || authorization !== undefined || !isFromOwnPage(headers))
      return undefined;
    return Promise.resolve(options.sessionOf(headers)).then(identityOfSession);
  };

  /**
   * What a server that only this machine can reach lets in: a program or page of this machine, under a name of loopback. Not through a
   * proxy, behind which others may be.
   */
  const isOnLoopback = (headers: IncomingHttpHeaders, address: string): boolean => {
    const page = callingPage(headers);
    const host = hostName(headers.host ?? '');
    return (
      options.ownerOnLoopback === true &&
      isLoopback(address) &&
      (headers.host === undefined || (host !== undefined && isLoopback(host))) &&
      proxyHeaders.every((name) => headers[name] === undefined) &&
      (page === undefined || permits(page, headers))
    );
  };

  /** Credentials that are sent with the request come before a session. */
  const senderOf = (
    headers: IncomingHttpHeaders,
    endpoint: AccessRule | undefined,
    { target, address }: { readonly target: string; readonly address: string },
  ): Eventual<Identity> => {
    const sent =
      (countsBasic(headers, endpoint) ? credentials(headers) : explicitCredentials(headers)) ??
      (endpoint?.keyInProtocol ? protocolKey(headers) : undefined) ??
      (endpoint?.keyInQuery ? queryOf(target).get('key') : undefined);
    if (sent === undefined || sent === null) {
      const without = isOnLoopback(headers, address) ? anybody : nobody;
      // The cookie may be one of another server of this machine, or of a session that is over.
      return sessionOf(headers)?.then((identity) => (identity.type === 'nobody' ? without : identity)) ?? without;
    }
    if (matches(sent, passwords)) return passwordHolder;
    const key = options.keys?.find(sent.trim(), address);
    return key instanceof Promise ? key.then(identityOf) : identityOf(key);
  };

  const identify = (
    headers: IncomingHttpHeaders,
    endpoint?: AccessRule,
    { target = '', address = '' }: { readonly target?: string; readonly address?: string } = {},
  ): Eventual<Identity> => {
    const sender = protectedByKey ? senderOf(headers, endpoint, { target, address }) : (sessionOf(headers) ?? anybody);
    if (keyGuards(endpoint)) return sender;
    // A key that was sent although none is needed still identifies its owner.
    const orAnybody = (identity: Identity): Identity => (identity.type === 'nobody' ? anybody : identity);
    return sender instanceof Promise ? sender.then(orAnybody) : orAnybody(sender);
  };

  return {
    /** The target is used if the key may be in its query. Rejects if too many unknown keys are being checked. */
    identify,
    /**
     * Whether a page of this origin may read the responses, and also those to requests with credentials that the browser adds. Where a key
     * is needed, pages of any origin may send it.
     */
    permission: (origin: string, headers: IncomingHttpHeaders): 'none' | 'plain' | 'credentials' => {
      if (isKnown(origin, headers) && !isOtherScheme(origin, headers)) return 'credentials';
      return protectedByKey || permits(origin, headers) ? 'plain' : 'none';
    },

    refuseHost(headers: IncomingHttpHeaders, endpoint?: AccessRule): AppError | undefined {
      const host = headers.host;
      // Every browser sends Host; HTTP/1.0 programs may not.
      if (host === undefined || hosts.has('*') || keyGuards(endpoint)) return undefined;
      const name = hostName(host);
      if (name !== undefined && (isLoopback(name) || isIP(name) !== 0 || hosts.has(name))) return undefined;
      return new AppError('host-refused', { host: name ?? host });
    },

    refuseOrigin(headers: IncomingHttpHeaders, endpoint: AccessRule): AppError | undefined {
      const origin = callingPage(headers);
      const harmless = endpoint.access === 'open' && !endpoint.changes;
      // An open endpoint needs no key even if a password is set.
      const guardedByKey = endpoint.access !== 'open' && keyGuards(endpoint);
      if (harmless || origin === undefined) return undefined;
      if (guardedByKey) {
        const onlyBasic = explicitCredentials(headers) === undefined && basicPassword(headers) !== undefined;
        return onlyBasic && !countsBasic(headers, endpoint) ? new AppError('origin-refused', { origin }) : undefined;
      }
      return permits(origin, headers) ? undefined : new AppError('origin-refused', { origin });
    },

    /** `counts`: as work, against the rate of the key; as a request, such as those of an open page; or not at all, as a part of another. */
    refuseKey(
      identity: Identity,
      endpoint: AccessRule,
      counts: 'work' | 'request' | 'part' = 'work',
    ): AppError | undefined {
      if (endpoint.access === 'open' || legacyOpen(endpoint) || identity.type === 'owner') return undefined;
      if (identity.type === 'nobody') return new AppError('unauthorized', {});
      const { key } = identity;
      const scope = endpoint.access === 'admin' ? 'admin' : endpoint.scope;
      if (scope !== undefined && !key.scopes.includes(scope)) return new AppError('scope-missing', { scope });
      const retryAfterSeconds = counts === 'part' ? 0 : (options.keys?.use(key, counts === 'work') ?? 0);
      return retryAfterSeconds > 0 ? new AppError('key-rate-limited', { retryAfterSeconds }) : undefined;
    },

    /** For work in the queue: a key that has used its tokens of today may do none that needs more. */
    refuseTokens(identity: Identity, scope: KeyScope | undefined): AppError | undefined {
      const spends = scope !== undefined && tokenScopes.includes(scope);
      return spends && identity.type === 'key' ? options.overLimit?.(identity.key) : undefined;
    },
  };
}

export function reportIdentity(watch: RequestObserver | undefined, identity: Identity): void {
  const key = identity.type === 'key' ? identity.key.name : undefined;
  watch?.authorized?.(key, identity.type !== 'nobody', identity.type === 'owner' && identity.password);
}

function identityOfSession(session: Session | undefined): Identity {
  if (!session) return nobody;
  const { id, key, isAdmin } = session;
  return key ? { type: 'key', key, session: id } : { type: 'owner', password: true, session: id, isAdmin };
}

function identityOf(key: ClientKey | undefined): Identity {
  return key ? { type: 'key', key } : nobody;
}

/** The origin of the calling page, if any. For pictures and links, browsers send Sec-Fetch-Site instead of Origin. */
function callingPage(headers: IncomingHttpHeaders): string | undefined {
  if (headers.origin !== undefined) return headers.origin;
  if (headers['sec-fetch-site'] !== 'cross-site') return undefined;
  const referer = headers.referer;
  return referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : 'null';
}

/**
 * Whether a page has our host and port, and its browser says that it has come over the other one of HTTP and HTTPS, which share a port with `--lan`. Others
 * in the network can change what comes over HTTP.
 */
function isOtherScheme(origin: string, { host, 'sec-fetch-site': site = 'same-origin' }: IncomingHttpHeaders): boolean {
  return isOwnPage(origin, host) && site !== 'same-origin';
}

const isVeryPage = (origin: string, headers: IncomingHttpHeaders): boolean =>
  isOwnPage(origin, headers.host) && !isOtherScheme(origin, headers);

/** Programs that listen on all addresses print `http://0.0.0.0`, where a browser reaches this machine. */
function isLoopbackPage(origin: string): boolean {
  const authority = authorityOf(origin);
  const name = authority === undefined ? undefined : hostName(authority);
  return name !== undefined && (isLoopback(name) || name === '0.0.0.0');
}

function plainHost(host: string): string {
  const name = host.trim().toLowerCase();
  return hostName(name) ?? name;
}

function ownNames(machineName: string | undefined): readonly string[] {
  const full = machineName?.toLowerCase();
  const bare = full?.split('.')[0];
  return full && bare ? [full, bare, `${bare}.local`] : [];
}

/** The name of `--host`, and those of containers for this machine if others than this machine can connect. */
function namesOf(listensOn: string | undefined): readonly string[] {
  const name = listensOn ? plainHost(listensOn) : 'localhost';
  return isLoopback(name) ? [] : [name, ...containerHosts];
}

/** In constant time: digests of equal length, and all keys are compared. */
function matches(sent: string, keys: readonly Buffer[]): boolean {
  const hash = digest(sent);
  return keys.map((key) => timingSafeEqual(key, hash)).includes(true);
}

export const isSameSecret = (sent: string, secret: string): boolean => matches(sent, [digest(secret)]);

const digest = (text: string): Buffer => createHash('sha256').update(text.trim(), 'utf8').digest();

/** The key that was sent, right or wrong, in any of the headers that clients use. */
export function credentials(headers: IncomingHttpHeaders): string | undefined {
  return bearerKey(headers) ?? basicPassword(headers)?.trim() ?? explicitCredentials(headers);
}

/** Those that no browser sends by itself. */
function explicitCredentials(headers: IncomingHttpHeaders): string | undefined {
  const key = bearerKey(headers) ?? headers['x-api-key'] ?? headers['api-key'];
  return typeof key === 'string' ? key.trim() : undefined;
}

function bearerKey({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  return /^bearer\s+(.*)$/i.exec(authorization)?.[1]?.trim();
}

/** Image clients use HTTP basic authentication; the user name is ignored. */
function basicPassword({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  const pair = /^basic\s+([A-Za-z0-9+/=_-]+)$/i.exec(authorization)?.[1];
  const text = pair === undefined ? '' : Buffer.from(pair, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 || colon === text.length - 1 ? undefined : text.slice(colon + 1);
}

const keyProtocol = 'openai-insecure-api-key.';
/** The same for keys of any characters: base64url. Our pages use it. */
const encodedKeyProtocol = 'parley-key.';
const protocolsOf = (headers: IncomingHttpHeaders): readonly string[] =>
  (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());

/** Pages cannot set headers of a WebSocket: clients of OpenAI send the key as a subprotocol. */
function protocolKey(headers: IncomingHttpHeaders): string | undefined {
  const sent = protocolsOf(headers).find(isKeyProtocol);
  if (sent?.startsWith(encodedKeyProtocol)) {
    return Buffer.from(sent.slice(encodedKeyProtocol.length), 'base64url').toString('utf8');
  }
  return sent?.slice(keyProtocol.length);
}

function isKeyProtocol(name: string): boolean {
  return name.startsWith(keyProtocol) || name.startsWith(encodedKeyProtocol);
}

/** The headers for handlers and logs. */
export function withoutProtocolKey(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  if (!headers['sec-websocket-protocol']) return headers;
  const protocols = protocolsOf(headers).filter((name) => !isKeyProtocol(name));
  return { ...headers, 'sec-websocket-protocol': protocols.join(', ') };
}
