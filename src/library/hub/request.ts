import { product } from '../../core/product.ts';
import type { RedirectParts } from '../redirects.ts';
import { DownloadError, maxWaitMs, pauseFor, reasonOf, retryDelay } from '../transfer.ts';
import type { Hub } from './access.ts';

export interface HubParts extends RedirectParts {
  readonly hub: Hub;
  readonly signal?: AbortSignal;
  readonly wait?: (milliseconds: number) => Promise<void>;
}

/** Why the hub does not give what was asked for, as a sentence for people. */
export class HubError extends DownloadError {}

const maxRedirects = 10;
const attempts = 5;
const timeoutMs = 30_000;

/** The reply of the hub to a path below its base. Redirects are followed as long as they stay on its host; one to another host is returned. */
export async function askHub(path: string, parts: HubParts, init: RequestInit = {}): Promise<Response> {
  const { hub } = parts;
  if (hub.offline)
    throw new HubError('HF_HUB_OFFLINE is set, so that no hub is asked. Unset it to search and download');
  if (!URL.canParse(hub.base)) throw new HubError(`HF_ENDPOINT is no address: ${hub.base}`);
  let url = new URL(`${hub.base}${path}`);
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const response = await persistent(url, parts, init);
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    if (next?.origin !== url.origin) return response;
    await response.body?.cancel();
    url = next;
  }
  throw new HubError(`${url.host} redirects in a circle. Try again later`);
}

/** A JSON reply, with the cursor of the page after it. */
export async function askHubJson(
  path: string,
  parts: HubParts,
): Promise<{ readonly value: unknown; readonly next: string | undefined }> {
  const response = await askHub(path, parts);
  const { host } = new URL(parts.hub.base);
  try {
    if (!response.ok) throw new Error('it is redirected');
    return {
      value: JSON.parse(await boundedText(response)) as unknown,
      next: nextCursor(response.headers.get('link')),
    };
  } catch (error) {
    parts.signal?.throwIfAborted();
    const between = 'A login page of the network or a proxy may be in between: open the address in a browser';
    throw new HubError(`${host} did not answer like a hub (${(error as Error).message}). ${between}`, true);
  }
}

const maxJsonBytes = 32 * 2 ** 20;

async function boundedText({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += (piece as Uint8Array).length;
    if (bytes > maxJsonBytes) throw new Error('its reply is too long');
    pieces.push(piece as Uint8Array);
  }
  return Buffer.concat(pieces).toString();
}

/** A link of a mirror may name the original host, so that only its cursor is used. */
function nextCursor(link: string | null): string | undefined {
  const target = /<([^>]*)>\s*;\s*rel="?next"?/.exec(link ?? '')?.[1];
  if (target === undefined || !URL.canParse(target, 'https://hub.invalid')) return undefined;
  return new URL(target, 'https://hub.invalid').searchParams.get('cursor') ?? undefined;
}

async function persistent(url: URL, parts: HubParts, init: RequestInit): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await once(url, parts, init);
    // A range after the end means that the file is complete.
    if (response.status < 400 || response.status === 416) return response;
    const delay = retryDelay(response, attempt);
    if (delay === undefined || attempt >= attempts || delay > maxWaitMs) throw await refusal(response, parts.hub);
    await response.body?.cancel();
    await pauseFor(delay, parts);
  }
}

async function once(url: URL, { hub, fetch, signal }: HubParts, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('user-agent', `parley/${product.version}; node/${process.versions.node}`);
  // Sizes and ranges are those of the file.
  headers.set('accept-encoding', 'identity');
  if (hub.token) headers.set('authorization', `Bearer ${hub.token}`);
  // Only until the reply begins: a file may take hours.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  try {
    const ends = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    return await fetch(url, { ...init, headers, redirect: 'manual', signal: ends });
  } catch (error) {
    signal?.throwIfAborted();
    const reason = late.signal.aborted ? `no answer within ${timeoutMs / 1000} s` : reasonOf(error);
    throw new HubError(`cannot reach ${url.host}: ${reason}. Check the network connection`, true);
  } finally {
    clearTimeout(timer);
  }
}

async function refusal(response: Response, hub: Hub): Promise<HubError> {
  await response.body?.cancel();
  return new HubError(refusalSentence(response, hub), retryDelay(response, 1) !== undefined);
}

/** By the error code of the hub, because its status has several meanings. */
export function refusalSentence(
  { status, headers, url }: Pick<Response, 'status' | 'headers' | 'url'>,
  hub: Hub,
): string {
  const { host } = new URL(hub.base);
  const code = headers.get('x-error-code') ?? '';
  const message = headers.get('x-error-message') ?? '';
  const repository = repositoryOf(url, hub);
  const page = repository === undefined ? hub.base : `${hub.base}/${repository}`;
  const name = repository ?? 'it';
  if (code === 'GatedRepo' && status === 401)
    return `${name} asks for consent first: open ${page} in a browser, accept its terms, and set HF_TOKEN to a token of your account`;
  if (code === 'GatedRepo')
    return `the account of HF_TOKEN may not download ${name} yet: open ${page} in a browser and accept its terms; some authors have to agree, too`;
  if (code === 'RevisionNotFound') return `${name} has no such revision; see ${page}`;
  if (code === 'EntryNotFound') return `${name} has no such file; see ${page}`;
  if (/invalid credentials/i.test(message))
    return `${host} does not accept the token of HF_TOKEN. Make a new one, or unset it`;
  if (/disabled/i.test(message)) return `${host} has disabled ${name}`;
  if (code === 'RepoNotFound' || status === 401 || status === 404) {
    const secret = hub.token ? '' : ' (then set HF_TOKEN)';
    return `${host} has no ${repository === undefined ? 'such page' : `model ${repository}`}, or it is private${secret}`;
  }
  if (status === 429) return `${host} allows no more requests at the moment. Try again in ${waitOf(headers)}`;
  const request = headers.get('x-request-id');
  return `${host} answered ${status}${request ? ` (request ${request})` : ''}. Try again later`;
}

function waitOf(headers: Headers): string {
  const seconds = Math.ceil((retryDelay({ status: 429, headers }, 1) ?? 0) / 1000);
  return seconds > 90 ? `${Math.ceil(seconds / 60)} minutes` : `${seconds} seconds`;
}

function repositoryOf(url: string, hub: Hub): string | undefined {
  const path = url.startsWith(`${hub.base}/`) ? url.slice(hub.base.length + 1) : '';
  return /^(?:api\/models\/)?([\w.-]+\/[\w.-]+)\/(?:tree|revision|resolve)\//.exec(path)?.[1];
}
