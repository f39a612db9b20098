import { lookup } from 'node:dns/promises';
import { boundedBytes } from '../core/bounded-bytes.ts';
import { product } from '../core/product.ts';
import { DownloadError, maxWaitMs, pauseFor, reasonOf, retryDelay } from './transfer.ts';

export interface RequestDeps {
  readonly fetch: typeof fetch;
  /** Used where a request has no signal of its own. */
  readonly signal?: AbortSignal;
  readonly wait?: (milliseconds: number) => Promise<void>;
  /** Whether a file may come from this IP address, if the server that was asked first is on the internet. */
  readonly allowsAddress: (address: string) => boolean;
}

const maxRedirects = 5;
const attempts = 5;
const timeoutMs = 30_000;

/** The reply of a server, which is asked again while it has an error that passes. `refusal` is the sentence about one that stays. */
export async function requestWithRetries(
  url: URL,
  init: RequestInit,
  deps: RequestDeps,
  refusal: (response: Response) => string,
): Promise<Response> {
  const signal = init.signal ?? deps.signal;
  for (let attempt = 1; ; attempt += 1) {
    const response = await requestOnce(url, init, deps);
    // A range after the end means that the file is complete.
    if (response.status < 400 || response.status === 416) return response;
    await response.body?.cancel();
    const delay = retryDelay(response, attempt);
    if (delay === undefined || attempt >= attempts || delay > maxWaitMs)
      throw new DownloadError(refusal(response), delay !== undefined);
    await pauseFor(delay, { ...deps, ...(signal && { signal }) });
  }
}

/** A failure names the host, which a firewall may not let through. */
async function requestOnce(url: URL, init: RequestInit, deps: RequestDeps): Promise<Response> {
  const signal = init.signal ?? deps.signal;
  const headers = new Headers(init.headers);
  headers.set('user-agent', `parley/${product.version}; node/${process.versions.node}`);
  // Sizes and ranges are those of the file.
  headers.set('accept-encoding', 'identity');
  // Only until the reply begins: a file may take hours.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  try {
    const ends = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    return await deps.fetch(url, { ...init, headers, redirect: 'manual', signal: ends });
  } catch (error) {
    signal?.throwIfAborted();
    const reason = late.signal.aborted ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error);
    throw new DownloadError(`cannot reach ${url.host}: ${reason}. Check the network connection`, true);
  } finally {
    clearTimeout(timer);
  }
}

/** The body of a reply. Rejects one that is longer than the limit. */
export function bodyWithin({ body }: Response, limit: number): Promise<Buffer> {
  const tooLarge = () => new DownloadError(`its reply is longer than ${limit} bytes, which cannot be right`);
  return boundedBytes((body ?? []) as AsyncIterable<Uint8Array>, limit, tooLarge);
}

/** As `fetch`, but each address that it is redirected to is checked before it is asked. */
export async function fetchChecked(address: string, init: RequestInit, deps: RequestDeps): Promise<Response> {
  const first = new URL(address);
  return followed(await requestOnce(first, init, deps), first, init, deps);
}

/** The reply at the end of the redirects that a reply of `from` begins. Secrets for a host are not sent to another one. */
export async function followed(reply: Response, from: URL, init: RequestInit, deps: RequestDeps): Promise<Response> {
  let [response, url] = [reply, from];
  const headers = new Headers(init.headers);
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    const next = await checked(location, url, from, deps);
    if (next.origin !== url.origin) for (const secret of ['authorization', 'cookie']) headers.delete(secret);
    url = next;
    response = await requestOnce(url, { ...init, headers }, deps);
  }
  await response.body?.cancel();
  throw new DownloadError(`${from.host} redirects this download too often. Try again later`);
}

/** A server on the internet may not send this machine to addresses that only it can reach. */
async function checked(location: string, base: URL, from: URL, deps: RequestDeps): Promise<URL> {
  const url = URL.canParse(location, base.href) ? new URL(location, base) : undefined;
  if (!url || (url.protocol !== 'https:' && (url.protocol !== 'http:' || from.protocol !== 'http:')))
    throw new DownloadError(`${from.host} sends this download to an address that cannot be used`);
  if (url.host !== from.host && !(await isAllowed(url, deps)) && (await isAllowed(from, deps)))
    throw new DownloadError(`${from.host} sends this download to ${url.host}, which is not on the internet`);
  return url;
}

/** Whether all IP addresses of a host are allowed. */
export async function isAllowed({ hostname }: URL, { allowsAddress }: RequestDeps): Promise<boolean> {
  const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
  return addresses.every(({ address }) => allowsAddress(address));
}
