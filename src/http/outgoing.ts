import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { unlessAborted } from '../core/abort.ts';
import { boundedBytes } from '../core/bounded-bytes.ts';
import { networkReason } from '../core/network-error.ts';
import { type StartTimer, systemTimer } from '../core/timers.ts';
import { isPublicAddress } from './address.ts';

type Address = Pick<LookupAddress, 'address' | 'family'>;

export type Fetched =
  | { readonly type: 'fetched'; readonly bytes: Buffer; readonly contentType: string | undefined }
  /** Ends a sentence that begins with the URL: "URL is not on the public internet". */
  | { readonly type: 'refused'; readonly reason: string };

export interface OutgoingOptions {
  readonly signal: AbortSignal;
  readonly bytes?: number;
  readonly milliseconds?: number;
  /** Which addresses may be connected to, at which hop. */
  readonly allows?: (address: string, url: URL) => boolean;
  readonly resolve?: (name: string) => Promise<readonly Address[]>;
  readonly startTimer?: StartTimer;
  /** What this program calls itself. */
  readonly userAgent?: string;
}

const limits = { bytes: 10 * 1024 * 1024, milliseconds: 10_000, redirects: 3 };
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** The reason of a `refused` result. */
class Refusal extends Error {}

/**
 * Fetches a URL that a client sent, but nothing that only this machine can reach. The name is resolved once per hop, all its
 * addresses must be allowed, and the connection goes to these very addresses, which prevents DNS rebinding.
 */
export async function fetchRemote(target: string, options: OutgoingOptions): Promise<Fetched> {
  const stop = new AbortController();
  const refuse = (reason: string) => (): void => stop.abort(new Refusal(reason));
  const { milliseconds = limits.milliseconds, startTimer = systemTimer } = options;
  const timer = startTimer(milliseconds, refuse(`took longer than ${milliseconds / 1000} seconds`));
  const left = refuse('was no longer waited for');
  options.signal.addEventListener('abort', left);
  if (options.signal.aborted) left();
  try {
    return await follow(target, { ...options, signal: stop.signal });
  } catch (error) {
    const cause: unknown = stop.signal.aborted ? stop.signal.reason : error;
    if (cause instanceof Refusal) return { type: 'refused', reason: cause.message };
    return { type: 'refused', reason: `could not be reached (${reasonOf(cause)})` };
  } finally {
    timer.cancel();
    options.signal.removeEventListener('abort', left);
  }
}

async function follow(target: string, options: OutgoingOptions): Promise<Fetched> {
  let url = parse(target);
  for (let hop = 0; hop <= limits.redirects; hop++) {
    const { signal, userAgent = 'Parley' } = options;
    const headers = { accept: '*/*', 'user-agent': userAgent, connection: 'close' };
    const response = await requestFrom(await checkedAddresses(url, options), url, { signal, headers });
    const status = response.statusCode ?? 0;
    if (!redirects.has(status)) return await read(response, options);
    response.destroy();
    url = parse(response.headers.location ?? '', url);
  }
  throw new Refusal(`points to another place more than ${limits.redirects} times`);
}

function parse(target: string, base?: URL): URL {
  if (!URL.canParse(target, base?.href)) throw new Refusal('is not an address');
  const url = new URL(target, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Refusal('is neither http nor https');
  if (url.username !== '' || url.password !== '') throw new Refusal('holds a name or a password');
  return url;
}

/** Throws if a name has an address that is not allowed. */
export async function checkedAddresses(
  url: URL,
  options: Pick<OutgoingOptions, 'allows' | 'resolve' | 'signal'>,
): Promise<readonly Address[]> {
  const { allows = isPublicAddress, resolve = (name: string) => lookup(name, { all: true }), signal } = options;
  const name = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(name);
  const addresses = family === 0 ? await unlessAborted(resolve(name), signal) : [{ address: name, family }];
  if (addresses.length === 0) throw new Refusal('has no address');
  if (!addresses.every(({ address }) => allows(address, url))) throw new Refusal('is not on the public internet');
  return addresses;
}

/** Without an agent: a connection that is kept alive may lead to another address than those just checked. */
export function requestFrom(
  addresses: readonly Address[],
  url: URL,
  { headers, body, ...options }: Pick<RequestOptions, 'method' | 'signal' | 'headers'> & { readonly body?: string },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const make = url.protocol === 'https:' ? tlsRequest : plainRequest;
    const all = { ...headers, 'accept-encoding': 'identity' };
    const request = make(url, { ...options, headers: all, agent: false, lookup: only(addresses) });
    request.on('response', resolve).on('error', reject).end(body);
  });
}

/** A DNS lookup that returns the addresses that were checked. */
function only(addresses: readonly Address[]): LookupFunction {
  return (_name, { all }, done) => {
    const [first] = addresses;
    if (all) done(null, [...addresses]);
    else done(null, first?.address ?? '', first?.family);
  };
}

async function read(response: IncomingMessage, { bytes = limits.bytes }: OutgoingOptions): Promise<Fetched> {
  const { statusCode = 0, headers } = response;
  const refuse = (reason: string): Refusal => {
    response.destroy();
    return new Refusal(reason);
  };
  const tooLarge = `is larger than ${Math.floor(bytes / 1024 / 1024)} MB`;
  if (statusCode !== 200) throw refuse(`answers with status ${statusCode}`);
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw refuse('comes compressed');
  if (Number(headers['content-length'] ?? 0) > bytes) throw refuse(tooLarge);
  const all = await boundedBytes(response, bytes, () => refuse(tooLarge));
  return { type: 'fetched', bytes: all, contentType: headers['content-type'] };
}

function reasonOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return networkReason(error) ?? (typeof code === 'string' ? code : 'it broke off');
}
