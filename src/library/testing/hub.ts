import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A repository of the hub for tests: the content of its files by path, and what its pages say. */
export interface TestRepository {
  readonly files: Readonly<Record<string, Buffer>>;
  /** Fields of `GET /api/models`. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly gated?: 'auto' | 'manual';
  /** The new name of a repository that was moved. */
  readonly movedTo?: string;
}

interface HubFaults {
  /** Ends the connection of the first downloads after so many bytes. */
  readonly breakAfter?: readonly number[];
  /** Resolves when the client has so many bytes of the file: before that the connection is not ended. */
  readonly arrived?: (bytes: number) => Promise<void>;
  /** Answers that come first: `[status, headers]`. */
  readonly first?: [number, Readonly<Record<string, string>>][];
  /** The same for the addresses of files. */
  readonly firstResolved?: [number, Readonly<Record<string, string>>][];
  /** The same for the first downloads, at the storage. */
  readonly firstStored?: [number, Readonly<Record<string, string>>][];
  /** The storage sends whole files only. */
  readonly ignoresRanges?: boolean;
  /** The first downloads stop after so many bytes without an end. */
  readonly stallAfter?: readonly number[];
  /** Sends other bytes than it names the hash of. */
  readonly damages?: string;
}

/** Files on a page of the tree, and models on a page of the search. */
const pageSize = 2;
export const commit = '0123456789abcdef0123456789abcdef01234567';
export const goodToken = 'hf_goodtoken';

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** A hub that is closed with its test. */
export async function testHub(repositories: Readonly<Record<string, TestRepository>>, faults: HubFaults = {}) {
  const hub = await openHub(repositories, faults);
  onTestFinished(hub.close);
  return hub;
}

/** A hub and its storage on two ports of this machine, with the replies that the real ones give. */
export async function openHub(repositories: Readonly<Record<string, TestRepository>>, faults: HubFaults = {}) {
  const asked: { method: string; url: string; authorization: string | undefined; range: string | undefined }[] = [];
  const stored: typeof asked = [];
  const breaks = [...(faults.breakAfter ?? [])];
  const first = [...(faults.first ?? [])];
  const firstResolved = [...(faults.firstResolved ?? [])];
  const firstStored = [...(faults.firstStored ?? [])];
  const stalls = [...(faults.stallAfter ?? [])];
  const record = (list: typeof asked, { method = '', url = '', headers }: IncomingMessage) =>
    list.push({ method, url, authorization: headers.authorization, range: headers.range });

  const storage = await listening((request, response) => {
    record(stored, request);
    const [, id = '', path = ''] =
      /^\/signed\/([^/]+\/[^/]+)\/(.+)\?/.exec(decodeURIComponent(request.url ?? '')) ?? [];
    const refused = firstStored.shift();
    if (refused) return void response.writeHead(refused[0], refused[1]).end();
    const whole = repositories[id]?.files[path];
    if (!whole) return void response.writeHead(403).end();
    const bytes = faults.damages === path ? Buffer.alloc(whole.length, 1) : whole;
    const range = faults.ignoresRanges ? undefined : request.headers.range;
    const [, from = '0', to = `${bytes.length - 1}`] = /bytes=(\d+)-(\d*)/.exec(range ?? '') ?? [];
    const [start, end] = [Number(from), Math.min(Number(to || bytes.length - 1), bytes.length - 1)];
    const partial = range !== undefined;
    if (partial && start >= bytes.length) return void response.writeHead(416).end();
    response.writeHead(partial ? 206 : 200, {
      etag: `"${'x'.repeat(64)}"`,
      'accept-ranges': 'bytes',
      'content-length': end - start + 1,
      ...(partial && { 'content-range': `bytes ${start}-${end}/${bytes.length}` }),
    });
    const stalled = stalls.shift();
    if (stalled !== undefined) return void response.write(bytes.subarray(start, start + stalled));
    const broken = breaks.shift();
    if (broken === undefined) return void response.end(bytes.subarray(start, end + 1));
    response.write(bytes.subarray(start, start + broken), async () => {
      await faults.arrived?.(start + broken);
      response.destroy();
    });
  });

  const hub = await listening((request, response) => {
    record(asked, request);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://hub.invalid');
    const fault = first.shift() ?? (pathname.includes('/resolve/') ? firstResolved.shift() : undefined);
    if (fault) return void response.writeHead(fault[0], fault[1]).end();
    if (pathname === '/api/models') return search(searchParams, response);
    const [, api, id = '', kind, revision = '', rest = ''] =
      /^\/(api\/models\/)?([^/]+\/[^/]+)\/(revision|tree|resolve)\/([^/]+)\/?(.*)$/.exec(pathname) ?? [];
    const repository = repositories[id];
    if (!repository) return refuse(response, 404, 'RepoNotFound');
    if (repository.movedTo) {
      response.writeHead(307, { location: (request.url ?? '').replace(id, repository.movedTo) }).end();
      return;
    }
    if (!['main', commit].includes(revision)) return refuse(response, 404, 'RevisionNotFound');
    if (api && kind === 'revision') return json(response, { id, sha: commit });
    if (api && kind === 'tree') return tree(repository, searchParams, response);
    const path = decodeURIComponent(rest);
    const bytes = repository.files[path];
    if (!bytes) return refuse(response, 404, 'EntryNotFound');
    const { authorization } = request.headers;
    if (repository.gated && authorization !== `Bearer ${goodToken}`)
      return refuse(response, authorization ? 403 : 401, 'GatedRepo');
    response.writeHead(302, {
      location: `${storage.address}/signed/${id}/${encodeURIComponent(path)}?signature=${stored.length}`,
      'x-repo-commit': commit,
      'x-linked-size': bytes.length,
      'x-linked-etag': `"${sha256(bytes)}"`,
    });
    response.end();
  });

  function search(query: URLSearchParams, response: ServerResponse): void {
    const words = (query.get('search') ?? '').toLowerCase().split(' ');
    const found = Object.entries(repositories).filter(([id]) => words.every((word) => id.toLowerCase().includes(word)));
    const expanded = new Set(query.getAll('expand'));
    const models = found.map(([id, { files, fields = {}, gated = false }]) => {
      const siblings = Object.keys(files).map((rfilename) => ({ rfilename }));
      const all: Record<string, unknown> = { gated, siblings, tags: ['gguf'], ...fields };
      return { _id: 'f00', id, ...Object.fromEntries(Object.entries(all).filter(([name]) => expanded.has(name))) };
    });
    paged(models, query, response);
  }

  function tree({ files }: TestRepository, query: URLSearchParams, response: ServerResponse): void {
    const entries = Object.entries(files).map(([path, bytes]) => ({
      type: 'file',
      oid: 'a'.repeat(40),
      size: bytes.length,
      path,
      lfs: { oid: sha256(bytes), size: bytes.length, pointerSize: 135 },
    }));
    paged([{ type: 'directory', oid: 'b'.repeat(40), size: 0, path: 'folder' }, ...entries], query, response);
  }

  function paged(entries: readonly unknown[], query: URLSearchParams, response: ServerResponse): void {
    const start = Number(query.get('cursor') ?? 0);
    const next = start + pageSize;
    // The link of a mirror names the original host.
    const link = { link: `<https://hub.example/api?cursor=${next}>; rel="next"` };
    json(response, entries.slice(start, next), next < entries.length ? link : {});
  }

  const close = () => {
    hub.close();
    storage.close();
  };
  return { base: hub.address, asked, stored, close };
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'x-error-code': code, 'content-type': 'application/json' }).end('{"error":"refused"}');
}

function json(response: ServerResponse, value: unknown, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

export async function listening(handler: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
