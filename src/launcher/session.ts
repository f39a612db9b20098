import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const cookieName = 'parley_launcher';

/**
 * Who may use the launcher: whoever opens the address that was printed, once, and then the browser that did. What the launcher
 * can do (read folders, start programs) is for the person at this machine and for no page that is open beside.
 */
export class Session {
  #token: string;
  #secret: string | undefined;

  constructor(private readonly random: () => string) {
    this.#token = random();
  }

  /** To be opened once. */
  get token(): string {
    return this.#token;
  }

  /** Whether the present token has been used, so that another one has to be told. */
  get used(): boolean {
    return this.#token === '';
  }

  renew(): string {
    this.#token = this.random();
    return this.#token;
  }

  /** The cookie for whoever brings the right token; the token is worth nothing from then on. */
  open(token: string): string | undefined {
    if (this.#token === '' || !same(token, this.#token)) return undefined;
    this.#token = '';
    this.#secret = this.random();
    return `${cookieName}=${this.#secret}; HttpOnly; SameSite=Strict; Path=/`;
  }

  /**
   * Cookies know nothing of ports, and a page of another server on this machine counts as the same site: so the browser must
   * also say that the page that asks is our own, or that nobody but the person asks.
   */
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

/** Digests have one length: the time taken tells nothing. */
function same(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
