import { lookup } from 'node:dns/promises';
import { DownloadError, reasonOf } from './transfer.ts';

export interface RedirectParts {
  readonly fetch: typeof fetch;
  /** Whether a file may come from this IP address, if the server that was asked first is on the internet. */
  readonly allowsAddress: (address: string) => boolean;
}

const maxRedirects = 5;

/** As `fetch`, but each address that it is redirected to is checked before it is asked. */
export async function fetchChecked(address: string, init: RequestInit, parts: RedirectParts): Promise<Response> {
  const first = new URL(address);
  const response = await parts.fetch(first, { ...init, redirect: 'manual' });
  return followed(response, first, init, parts);
}

/** The reply at the end of the redirects that a reply of `from` begins. Secrets for a host are not sent to another one. */
export async function followed(reply: Response, from: URL, init: RequestInit, parts: RedirectParts): Promise<Response> {
  let [response, url] = [reply, from];
  const headers = new Headers(init.headers);
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    const next = await checked(location, url, from, parts);
    if (next.origin !== url.origin) for (const secret of ['authorization', 'cookie']) headers.delete(secret);
    url = next;
    response = await asked(url, { ...init, headers, redirect: 'manual' }, parts);
  }
  await response.body?.cancel();
  throw new DownloadError(`${from.host} redirects this download too often. Try again later`);
}

/** A failure names this host, which a firewall may not let through. */
async function asked(url: URL, init: RequestInit, { fetch }: RedirectParts): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    init.signal?.throwIfAborted();
    throw new DownloadError(`cannot reach ${url.host}: ${reasonOf(error)}. Check the network connection`, true);
  }
}

/** A server on the internet may not send this machine to addresses that only it can reach. */
async function checked(location: string, base: URL, from: URL, { allowsAddress }: RedirectParts): Promise<URL> {
  const url = URL.canParse(location, base.href) ? new URL(location, base) : undefined;
  if (!url || (url.protocol !== 'https:' && (url.protocol !== 'http:' || from.protocol !== 'http:')))
    throw new DownloadError(`${from.host} sends this download to an address that cannot be used`);
  const isPublic = async (name: string) => {
    const addresses = await lookup(name.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
    return addresses.every(({ address }) => allowsAddress(address));
  };
  if (url.host !== from.host && !(await isPublic(url.hostname)) && (await isPublic(from.hostname)))
    throw new DownloadError(`${from.host} sends this download to ${url.host}, which is not on the internet`);
  return url;
}
