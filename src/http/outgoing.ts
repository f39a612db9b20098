import { lookup as systemLookup } from 'node:dns/promises';
import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from './address.ts';
import { type StartTimer, systemTimer } from './timers.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

export type Fetched =
  | { readonly type: 'fetched'; readonly bytes: Buffer; readonly contentType: string | undefined }
  /** The reason goes on a sentence that begins with the address: "it …". */
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

/** Says why nothing came; never leaves this file as an exception. */
class Refusal extends Error {}

/**
 * Fetches what a client names by its address, and nothing that only this machine can reach. The name is resolved once
 * per hop, every address that it has must be allowed, and the connection goes to those very addresses: a name that
 * changes its mind between the look and the connection gains nothing.
 */
export async function fetchRemote(target: string, options: OutgoingOptions): Promise<Fetched> {
  const stop = new AbortController();
  const give = (reason: string) => (): void => stop.abort(new Refusal(reason));
  const { milliseconds = limits.milliseconds, startTimer = systemTimer } = options;
  const timer = startTimer(milliseconds, give(`took longer than ${milliseconds / 1000} seconds`));
  const left = give('was no longer waited for');
  options.signal.addEventListener('abort', left);
  if (options.signal.aborted) left();
  try {
    return await follow(target, { ...options, signal: stop.signal });
  } catch (error) {
    const cause: unknown = stop.signal.aborted ? stop.signal.reason : error;
    if (cause instanceof Refusal) return { type: 'refused', reason: cause.message };
    return { type: 'refused', reason: `could not be reached (${codeOf(cause)})` };
  } finally {
    timer.cancel();
    options.signal.removeEventListener('abort', left);
  }
}

async function follow(target: string, options: OutgoingOptions): Promise<Fetched> {
  let url = parse(target);
  for (let hop = 0; hop <= limits.redirects; hop++) {
    const response = await open(url, await checkedAddresses(url, options), options);
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

async function checkedAddresses(url: URL, options: OutgoingOptions): Promise<readonly Address[]> {
  const { allows = isPublicAddress, resolve = resolveAll, signal } = options;
  const name = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(name);
  const addresses = family === 0 ? await unlessAborted(resolve(name), signal) : [{ address: name, family }];
  if (addresses.length === 0) throw new Refusal('has no address');
  if (!addresses.every(({ address }) => allows(address, url))) throw new Refusal('is not on the public internet');
  return addresses;
}

function resolveAll(name: string): Promise<readonly Address[]> {
  return systemLookup(name, { all: true });
}

/** A connection of its own: one that is kept alive for others may lead to another address than the one just checked. */
function open(
  url: URL,
  addresses: readonly Address[],
  { signal, userAgent = 'Parley' }: OutgoingOptions,
): Promise<IncomingMessage> {
  const options: RequestOptions = {
    agent: false,
    lookup: only(addresses),
    signal,
    headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': userAgent, connection: 'close' },
  };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? tlsRequest : plainRequest)(url, options);
    request.on('response', resolve).on('error', reject).end();
  });
}

/** Answers every question for a name with the addresses that were checked. */
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
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytes) throw refuse(tooLarge);
    chunks.push(chunk);
  }
  return { type: 'fetched', bytes: Buffer.concat(chunks), contentType: headers['content-type'] };
}

/** A name server cannot be told to hurry; its answer is left alone when nobody waits any more. */
function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : 'it broke off';
}
