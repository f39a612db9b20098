import { bodyWithin, type RequestDeps, requestWithRetries } from '../redirects.ts';
import { DownloadError, retryDelay } from '../transfer.ts';
import type { Hub } from './access.ts';

export interface HubDeps extends RequestDeps {
  readonly hub: Hub;
}

const maxRedirects = 10;
const maxJsonBytes = 32 * 2 ** 20;

/** The reply of the hub to a path below its base. Redirects are followed as long as they stay on its host; one to another host is returned. */
export async function requestHub(path: string, deps: HubDeps, init: RequestInit = {}): Promise<Response> {
  const { hub } = deps;
  if (hub.offline)
    throw new DownloadError('HF_HUB_OFFLINE is set, so that no hub is asked. Unset it to search and download');
  if (!URL.canParse(hub.base)) throw new DownloadError(`HF_ENDPOINT is no address: ${hub.base}`);
  const headers = new Headers(init.headers);
  if (hub.token) headers.set('authorization', `Bearer ${hub.token}`);
  let url = new URL(`${hub.base}${path}`);
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const response = await requestWithRetries(url, { ...init, headers }, deps, (reply) => refusalSentence(reply, hub));
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    if (next?.origin !== url.origin) return response;
    await response.body?.cancel();
    url = next;
  }
  throw new DownloadError(`${url.host} redirects in a circle. Try again later`);
}

/** A JSON reply, with the cursor of the page after it. */
export async function requestHubJson(
  path: string,
  deps: HubDeps,
): Promise<{ readonly value: unknown; readonly next: string | undefined }> {
  const response = await requestHub(path, deps);
  const { host } = new URL(deps.hub.base);
  try {
    if (!response.ok) throw new Error('it is redirected');
    return {
      value: JSON.parse((await bodyWithin(response, maxJsonBytes)).toString()) as unknown,
      next: nextCursor(response.headers.get('link')),
    };
  } catch (error) {
    deps.signal?.throwIfAborted();
    const between = 'A login page of the network or a proxy may be in between: open the address in a browser';
    throw new DownloadError(`${host} did not answer like a hub (${(error as Error).message}). ${between}`, true);
  }
}

/** A link of a mirror may name the original host, so that only its cursor is used. */
function nextCursor(link: string | null): string | undefined {
  const target = /<([^>]*)>\s*;\s*rel="?next"?/.exec(link ?? '')?.[1];
  if (target === undefined || !URL.canParse(target, 'https://hub.invalid')) return undefined;
  return new URL(target, 'https://hub.invalid').searchParams.get('cursor') ?? undefined;
}

/** By the error code of the hub, because its status has several meanings. */
function refusalSentence({ status, headers, url }: Response, hub: Hub): string {
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
