import { lookup } from 'node:dns/promises';
import { isObject } from '../../core/json.ts';
import { plainFileName } from '../file-name.ts';
import { askHub, askHubJson, HubError, type HubParts } from './request.ts';

export interface HubFile {
  /** In the repository, with `/` between folders. */
  readonly path: string;
  readonly bytes: number;
  /** Of large files only. */
  readonly sha256: string | undefined;
}

export interface HubRepository {
  readonly id: string;
  /** The commit that the revision names now, so that all files come from one state. */
  readonly commit: string;
  readonly files: readonly HubFile[];
}

const maxPages = 100;

/** The files of a repository at a revision. Files with names that no folder can hold are left out. */
export async function readRepository(id: string, revision: string, parts: HubParts): Promise<HubRepository> {
  const { value } = await askHubJson(`/api/models/${id}/revision/${encodeURIComponent(revision)}`, parts);
  const commit = isObject(value) && typeof value.sha === 'string' ? value.sha : '';
  if (!/^[0-9a-f]{40}$/.test(commit)) throw new HubError(`${id} has no commit for ${revision}`);
  const files: HubFile[] = [];
  let cursor: string | undefined;
  for (let page = 1; page <= maxPages; page += 1) {
    const query = `recursive=true${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const answer = await askHubJson(`/api/models/${id}/tree/${commit}?${query}`, parts);
    if (Array.isArray(answer.value)) files.push(...answer.value.flatMap((entry) => hubFile(entry) ?? []));
    if (answer.next === undefined || answer.next === cursor) return { id, commit, files };
    cursor = answer.next;
  }
  throw new HubError(`${id} has more files than can be listed`);
}

function hubFile(entry: unknown): HubFile | undefined {
  if (!isObject(entry) || entry.type !== 'file' || typeof entry.path !== 'string') return undefined;
  const { path, size, lfs } = entry;
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) return undefined;
  if (!path.split('/').every((part) => plainFileName(part) !== undefined)) return undefined;
  const oid = isObject(lfs) && typeof lfs.oid === 'string' ? lfs.oid : '';
  return { path, bytes: size, sha256: /^[0-9a-f]{64}$/.test(oid) ? oid : undefined };
}

/** The content of a file, from wherever the hub stores it. */
export async function openFile(
  { id, commit }: Pick<HubRepository, 'id' | 'commit'>,
  path: string,
  parts: HubParts,
  init: RequestInit,
): Promise<Response> {
  const own = init.signal ? { ...parts, signal: init.signal } : parts;
  const encoded = path.split('/').map(encodeURIComponent).join('/');
  const response = await askHub(`/${id}/resolve/${encodeURIComponent(commit)}/${encoded}`, own, init);
  const location = response.headers.get('location');
  if (location === null) return response;
  await response.body?.cancel();
  await checkStorage(location, parts);
  // The signed address needs no token, and another host may not have it.
  const { signal } = own;
  return parts.fetch(location, { ...init, ...(signal && { signal }) });
}

/** A hub on the internet may not send this machine to addresses that only it can reach. */
async function checkStorage(location: string, { hub, allowsAddress }: HubParts): Promise<void> {
  const { host } = new URL(hub.base);
  const url = URL.canParse(location) ? new URL(location) : undefined;
  if (!url || (url.protocol !== 'https:' && url.protocol !== new URL(hub.base).protocol))
    throw new HubError(`${host} sends this download to an address that cannot be used`);
  const isPublic = async (name: string) => {
    const addresses = await lookup(name.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
    return addresses.every(({ address }) => allowsAddress(address));
  };
  if (!(await isPublic(url.hostname)) && (await isPublic(new URL(hub.base).hostname)))
    throw new HubError(`${host} sends this download to ${url.host}, which is not on the internet`);
}
