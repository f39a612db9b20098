import { isObject } from '../../core/json.ts';
import { plainFileName } from '../file-name.ts';
import { followed } from '../redirects.ts';
import { DownloadError } from '../transfer.ts';
import { type HubDeps, requestHub, requestHubJson } from './request.ts';

export interface HubFile {
  /** In the repository, with `/` between folders. */
  readonly path: string;
  readonly bytes: number;
  /** Of large files only. */
  readonly sha256: string | undefined;
}

export interface HubRepository {
  /** Differs from the requested one if the repository was moved. */
  readonly id: string;
  /** The commit that the revision names now, so that all files come from one state. */
  readonly commit: string;
  readonly files: readonly HubFile[];
}

const maxPages = 100;

/** The files of a repository at a revision. Files with names that no folder can hold are left out. */
export async function readRepository(name: string, revision: string, deps: HubDeps): Promise<HubRepository> {
  const { value } = await requestHubJson(`/api/models/${name}/revision/${encodeURIComponent(revision)}`, deps);
  const id = isObject(value) && isRepositoryId(value.id) ? value.id : name;
  const commit = isObject(value) && typeof value.sha === 'string' ? value.sha : '';
  if (!/^[0-9a-f]{40}$/.test(commit)) throw new DownloadError(`${id} has no commit for ${revision}`);
  const files: HubFile[] = [];
  let cursor: string | undefined;
  for (let page = 1; page <= maxPages; page += 1) {
    const query = `recursive=true${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const answer = await requestHubJson(`/api/models/${id}/tree/${commit}?${query}`, deps);
    if (Array.isArray(answer.value)) files.push(...answer.value.flatMap((entry) => hubFile(entry) ?? []));
    if (answer.next === undefined || answer.next === cursor) return { id, commit, files };
    cursor = answer.next;
  }
  throw new DownloadError(`${id} has more files than can be listed`);
}

function isRepositoryId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.-]+\/[\w.-]+$/.test(value) && value.split('/').every(plainFileName);
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
  deps: HubDeps,
  init: RequestInit,
): Promise<Response> {
  const encoded = path.split('/').map(encodeURIComponent).join('/');
  const response = await requestHub(`/${id}/resolve/${encodeURIComponent(commit)}/${encoded}`, deps, init);
  // The signed address needs no token, and another host may not have it.
  return followed(response, new URL(deps.hub.base), init, deps);
}
