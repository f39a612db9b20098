import { Readable } from 'node:stream';
import { isLoopback, isPublicAddress } from './address.ts';
import { checkedAddresses, requestFrom } from './outgoing.ts';

interface GuardedFetchDeps {
  /** Which URLs may be requested, also by a redirect. */
  readonly allows: (url: URL) => boolean;
  readonly resolve?: NonNullable<Parameters<typeof checkedAddresses>[1]['resolve']>;
}

type Addresses = Awaited<ReturnType<typeof checkedAddresses>>;

const maxRedirects = 3;
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * `fetch` for URLs that an administrator allows and a client chooses. A name must lead to the public internet, and an address or
 * `localhost` is what it says: the connection goes to the addresses that were checked. Redirects that keep the method are followed
 * within the origin.
 */
export function guardedFetch({ allows, resolve }: GuardedFetchDeps): typeof fetch {
  return async (input, init = {}) => {
    let url = new URL(input instanceof Request ? input.url : input);
    const { origin } = url;
    const signal = init.signal ?? new AbortController().signal;
    for (let hop = 0; ; hop += 1) {
      if (!allows(url)) throw new Error(`${url.origin}${url.pathname} is not allowed (--mcpallow)`);
      const host = url.hostname.replace(/^\[|\]$/g, '');
      const addresses = await checkedAddresses(url, {
        signal,
        ...(resolve && { resolve }),
        allows: (address) => address === host || (isLoopback(host) ? isLoopback(address) : isPublicAddress(address)),
      });
      const response = await send(url, init, signal, addresses);
      const { statusCode = 500, statusMessage = '', headers } = response;
      const target = [307, 308].includes(statusCode) ? headers.location : undefined;
      if (target !== undefined && URL.canParse(target, url.href) && hop < maxRedirects) {
        const next = new URL(target, url);
        if (next.origin === origin && allows(next)) {
          response.destroy();
          url = next;
          continue;
        }
      }
      const sent = new Headers();
      for (let index = 0; index + 1 < response.rawHeaders.length; index += 2) {
        sent.append(response.rawHeaders[index] ?? '', response.rawHeaders[index + 1] ?? '');
      }
      const isEmpty = withoutBody.has(statusCode);
      if (isEmpty) response.resume();
      const body = isEmpty ? null : (Readable.toWeb(response) as ReadableStream<Uint8Array>);
      const answer = new Response(body, { status: statusCode, statusText: statusMessage, headers: sent });
      Object.defineProperty(answer, 'url', { value: url.href });
      return answer;
    }
  };
}

function send(url: URL, { method = 'GET', body, headers }: RequestInit, signal: AbortSignal, addresses: Addresses) {
  if (body !== undefined && body !== null && typeof body !== 'string') throw new TypeError('only texts can be sent');
  const length = body ? { 'content-length': String(Buffer.byteLength(body)) } : {};
  return requestFrom(addresses, url, {
    method,
    signal,
    headers: { ...Object.fromEntries(new Headers(headers)), ...length },
    ...(body && { body }),
  });
}
