import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const cookieName = 'parley_launcher';

/**
 * Access to the launcher, which can read folders and start programs: a token that works once, exchanged for a cookie. Pages
 * of other servers have no access.
 */
export class Session {
  #token: string;
  #secret: string | undefined;

  constructor(private readonly random: () => string) {
    this.#token = random();
  }

  get token(): string {
    return this.#token;
  }

  /** Whether the current token was used, so that a new one must be printed. */
  get used(): boolean {
    return this.#token === '';
  }

  renew(): string {
    this.#token = this.random();
    return this.#token;
  }

  /** The cookie for the right token, which is then invalid. */
  open(token: string): string | undefined {
    if (this.#token === '' || !same(token, this.#token)) return undefined;
    this.#token = '';
    this.#secret = this.random();
    return `${cookieName}=${this.#secret}; HttpOnly; SameSite=Strict; Path=/`;
  }

  /** Checks the origin too: cookies ignore ports, and other servers on this machine count as the same site. */
  admits(headers: IncomingHttpHeaders): boolean {
    const sent = cookieOf(headers.cookie ?? '');
    if (this.#secret === undefined || sent === undefined || !same(sent, this.#secret)) return false;
    const { origin, host, 'sec-fetch-site': site } = headers;
    if (origin !== undefined && origin !== `http://${host}`) return false;
    return site === undefined || site === 'same-origin' || site === 'none';
  }
}

function cookieOf(header: string): string | undefined {
  const pairs = header.split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1);
}

/** In constant time: digests have equal length. */
function same(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
