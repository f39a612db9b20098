import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { AppError } from '../core/errors.ts';
import { hostName, isLoopback } from './address.ts';
import type { AccessRule } from './call.ts';
import { queryOf } from './router.ts';

/**
 * Who may ask for what. Three decisions over the headers alone, made before the body is read or a place in the queue is
 * taken: the name by which the server was called (a rebound DNS name reaches nothing), the page that calls (a page that
 * somebody merely visits cannot drive the server), and the key.
 */
export interface GuardOptions {
  readonly password?: string | undefined;
  readonly adminPassword?: string | undefined;
  readonly allowedOrigins?: readonly string[];
  readonly allowedHosts?: readonly string[];
  /** The name that this machine gives itself. */
  readonly machineName?: string;
  /** `--legacyopenpaths`: endpoints that are marked so need no key although they are guarded. */
  readonly legacyOpen?: boolean;
}

export interface Guard {
  refuseHost(headers: IncomingHttpHeaders, endpoint?: AccessRule): AppError | undefined;
  refuseOrigin(headers: IncomingHttpHeaders, endpoint: AccessRule): AppError | undefined;
  /** The target of the request is needed where its query may hold the key. */
  refuseKey(headers: IncomingHttpHeaders, endpoint: AccessRule, target?: string): AppError | undefined;
  /** Whether the right key came along, or none is needed. */
  authorized(headers: IncomingHttpHeaders, endpoint?: AccessRule, target?: string): boolean;
  /** Whether a page of this origin may read the answers. */
  permits(origin: string, headers: IncomingHttpHeaders): boolean;
}

/** The hosted copy of the client that many people use with a server of their own. */
const hostedClients = ['https://lite.koboldai.net'];

export function createGuard(options: GuardOptions): Guard {
  const protectedByKey = Boolean(options.password);
  const keys = [options.password, options.adminPassword].flatMap((key) => (key ? [digest(key)] : []));
  const origins = new Set([...hostedClients, ...(options.allowedOrigins ?? [])].map(plainOrigin));
  const hosts = new Set([...ownNames(options.machineName), ...(options.allowedHosts ?? []).map(plainHost)]);
  const legacyOpen = (endpoint: AccessRule): boolean => options.legacyOpen === true && endpoint.legacyOpen === true;

  const permits = (origin: string, headers: IncomingHttpHeaders): boolean =>
    origins.has('*') || origins.has(plainOrigin(origin)) || isOwnPage(origin, headers.host) || isLoopbackPage(origin);

  // A key only makes names and origins harmless where it is really asked for.
  const keyGuards = (endpoint: AccessRule | undefined): boolean =>
    protectedByKey && !(endpoint !== undefined && legacyOpen(endpoint));

  const authorized: Guard['authorized'] = (headers, endpoint, target = '') => {
    const key = credentials(headers) ?? (endpoint?.keyInQuery ? queryOf(target).get('key') : undefined);
    const needed = protectedByKey && !(endpoint && legacyOpen(endpoint));
    return !needed || matches(key ?? undefined, keys);
  };

  return {
    authorized,
    permits: (origin, headers) => protectedByKey || permits(origin, headers),

    refuseHost(headers, endpoint) {
      const host = headers.host;
      // Every browser sends Host; old programs that speak HTTP/1.0 do not.
      if (host === undefined || hosts.has('*') || keyGuards(endpoint)) return undefined;
      const name = hostName(host);
      if (name !== undefined && (isLoopback(name) || isIP(name) !== 0 || hosts.has(name))) return undefined;
      return new AppError('host-refused', { host: name ?? host });
    },

    refuseOrigin(headers, endpoint) {
      const origin = callingPage(headers);
      const harmless = endpoint.access === 'open' && !endpoint.changes;
      // An open endpoint asks for no key, whatever password is set.
      const guardedByKey = endpoint.access !== 'open' && keyGuards(endpoint);
      if (harmless || origin === undefined || guardedByKey) return undefined;
      return permits(origin, headers) ? undefined : new AppError('origin-refused', { origin });
    },

    refuseKey(headers, endpoint, target) {
      const open = endpoint.access === 'open' || legacyOpen(endpoint);
      if (open || authorized(headers, endpoint, target)) return undefined;
      return new AppError('unauthorized', {});
    },
  };
}

/**
 * The origin of the page that makes this request, or undefined when no page does. Browsers leave Origin out when a page
 * of another site merely points a picture, a frame or a link here; they then say so in Sec-Fetch-Site, and the Referer
 * names the page unless it hides itself.
 */
function callingPage(headers: IncomingHttpHeaders): string | undefined {
  if (headers.origin !== undefined) return headers.origin;
  if (headers['sec-fetch-site'] !== 'cross-site') return undefined;
  const referer = headers.referer;
  return referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : 'null';
}

/**
 * A page that came from the very name and port that it calls. The scheme is left out: a proxy in front may speak TLS
 * where this server does not.
 */
function isOwnPage(origin: string, host: string | undefined): boolean {
  return host !== undefined && host !== '' && authorityOf(origin) === host.toLowerCase();
}

function isLoopbackPage(origin: string): boolean {
  const authority = authorityOf(origin);
  const name = authority === undefined ? undefined : hostName(authority);
  return name !== undefined && isLoopback(name);
}

function authorityOf(origin: string): string | undefined {
  return /^https?:\/\/(.+)$/.exec(plainOrigin(origin))?.[1];
}

function plainOrigin(origin: string): string {
  return origin.trim().toLowerCase().replace(/\/+$/, '');
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

/** Digests have one length, and every key is compared whole: the time taken tells nothing about how near a guess was. */
function matches(sent: string | undefined, keys: readonly Buffer[]): boolean {
  if (sent === undefined) return false;
  const given = digest(sent);
  return keys.map((key) => timingSafeEqual(key, given)).includes(true);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text.trim(), 'utf8').digest();
}

/** The key that came along, under any of the names that clients know; right or wrong. */
export function credentials(headers: IncomingHttpHeaders): string | undefined {
  const bearer = /^bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1];
  const key = bearer ?? basicPassword(headers) ?? headers['x-api-key'] ?? headers['api-key'];
  return typeof key === 'string' ? key.trim() : undefined;
}

/** Clients of image programs know a name and a password only; the name does not matter here. */
function basicPassword({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  const pair = /^basic\s+([A-Za-z0-9+/=_-]+)$/i.exec(authorization)?.[1];
  const text = pair === undefined ? '' : Buffer.from(pair, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 || colon === text.length - 1 ? undefined : text.slice(colon + 1);
}
