import type { IncomingHttpHeaders } from 'node:http';

/**
 * The names of the cookie: two for HTTPS, which browsers never send or let replace over HTTP, and one for HTTP. That for the whole host is set by no
 * other host of its domain either; behind the path of a proxy it is not possible. Browsers send cookies to all ports of a host, so that two
 * servers of one machine need different names.
 */
function sessionCookieNames(port: number): readonly [host: string, secure: string, plain: string] {
  return [`__Host-parley-session-${port}`, `__Secure-parley-session-${port}`, `parley-session-${port}`];
}

const maxAgeSeconds = 400 * 24 * 3600;
const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

/** The tokens of a request, that of HTTPS first. */
export function sessionTokens({ cookie = '' }: IncomingHttpHeaders, port: number): readonly string[] {
  if (!cookie.includes('parley-session-')) return [];
  const pairs = cookie.split(';').map((pair) => pair.trim().split('='));
  return sessionCookieNames(port).flatMap((name) =>
    pairs.filter(([own, value = '']) => own === name && tokenPattern.test(value)).map(([, value = '']) => value),
  );
}

/**
 * Whether a browser says that a page of this very server sends the request. Other programs can write these headers, but have no cookie. Browsers
 * leave out `Sec-Fetch-Site` over plain HTTP from other machines; there the origin or the address of the page must have the host and port of the server.
 */
export function isFromOwnPage({ 'sec-fetch-site': site, origin, referer, host }: IncomingHttpHeaders): boolean {
  if (site !== undefined) return site === 'same-origin';
  const page = origin ?? (referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : undefined);
  return page !== undefined && isOwnPage(page, host);
}

/** Whether the page has the same host and port. The scheme may differ: a proxy in front may add TLS. */
export function isOwnPage(origin: string, host: string | undefined): boolean {
  return host !== undefined && host !== '' && authorityOf(origin) === host.toLowerCase();
}

export const authorityOf = (origin: string): string | undefined => /^https?:\/\/(.+)$/.exec(plainOrigin(origin))?.[1];

export const plainOrigin = (origin: string): string => origin.trim().toLowerCase().replace(/\/+$/, '');

interface CookieFor {
  readonly port: number;
  /** The prefix of the paths of the server behind a proxy. */
  readonly prefix: string;
  readonly headers: IncomingHttpHeaders;
  readonly encrypted?: boolean | undefined;
}

/** Whether the page has come over HTTPS, also by a proxy. */
const isSecure = ({ encrypted, headers }: CookieFor): boolean =>
  encrypted === true || (headers.origin?.toLowerCase().startsWith('https://') ?? false);

/** `remember`: for longer than until the browser is closed. */
export function sessionCookie(token: string, remember: boolean, cookie: CookieFor): string {
  const { port, prefix } = cookie;
  const [host, secure, plain] = sessionCookieNames(port);
  const age = remember ? `; Max-Age=${maxAgeSeconds}` : '';
  return isSecure(cookie)
    ? `${prefix === '' ? host : secure}=${token}${attributes(prefix)}; Secure${age}`
    : `${plain}=${token}${attributes(prefix)}${age}`;
}

/** Removes the cookie of the scheme that the page came by; its session is over in any case. */
export function noSessionCookie(cookie: CookieFor): string {
  return `${sessionCookie('', false, cookie)}; Max-Age=0`;
}

const attributes = (prefix: string): string => `; Path=${prefix || '/'}; HttpOnly; SameSite=Strict`;
