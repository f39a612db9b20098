import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, normalize, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type DownloadDeps, DownloadError, download, readIntegrity } from '../library/download.ts';
import { fileHash } from '../library/file-hash.ts';
import { readArchive } from '../library/tar.ts';
import { type PackPackage, packageFolder } from './catalogue.ts';
import { checkPackage, type Files, writeManifest } from './manifest.ts';

export interface InstallDeps extends DownloadDeps {
  /** Asks the npm registry for the URL of a package. */
  readonly findPackage: (specifier: string) => Promise<{ readonly tarball: string }>;
}

/** Fetches all packages before it changes one. A failure names its package. */
export async function installPackages(
  packages: readonly PackPackage[],
  folder: string,
  depsOf: (one: PackPackage, index: number) => InstallDeps,
): Promise<void> {
  const named = async (one: PackPackage, step: Promise<void>): Promise<void> =>
    step.catch((error: Error) => {
      throw new Error(`${one.name} ${one.version}: ${error.message}`, { cause: error });
    });
  for (const [index, one] of packages.entries()) {
    await named(one, stagePackage(one, folder, depsOf(one, index)));
  }
  for (const one of packages) await named(one, placePackage(one, folder));
}

/**
 * Downloads, checks and unpacks a package next to the installed ones. `placePackage` puts it in place, so that a pack can wait for
 * all of its packages. A staged package is used again by the next run.
 */
export async function stagePackage(one: PackPackage, folder: string, deps: InstallDeps): Promise<void> {
  const { name, version, integrity } = one;
  const { archive, staged } = stagesOf(one, folder);
  if ((await checkPackage(one, staged, 'thorough')).type === 'installed') return;
  const expected = readIntegrity(integrity);
  if (!expected) throw new Error(`${name} has no hash that it could be checked by`);
  const { tarball } = await deps.findPackage(`${name}@${version}`);
  await download({ url: tarball, target: archive, expected }, deps);
  try {
    await stage(one, folder, (into) => unpack(archive, into));
  } finally {
    await rm(archive, { force: true });
  }
}

/** Stages a package that was made here: `fill` writes its files. */
export function stageFolder(one: PackPackage, folder: string, fill: (into: string) => Promise<void>): Promise<void> {
  return stage(one, folder, async (into) => {
    await fill(into);
    return filesIn(into);
  });
}

async function stage(one: PackPackage, folder: string, fill: (into: string) => Promise<Files>): Promise<void> {
  const { unpacked, staged } = stagesOf(one, folder);
  await rm(unpacked, { recursive: true, force: true });
  await mkdir(unpacked, { recursive: true });
  try {
    await writeManifest(unpacked, one, await fill(unpacked));
    await rm(staged, { recursive: true, force: true });
    await rename(unpacked, staged);
  } finally {
    await rm(unpacked, { recursive: true, force: true });
  }
}

async function filesIn(folder: string): Promise<Files> {
  const found = (await readdir(folder)).map(async (name) => {
    const path = join(folder, name);
    const sha256 = (await fileHash(path, 'sha256')).toString('hex');
    return [name, { bytes: (await stat(path)).size, sha256 }] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

/** Replaces the installed package by the staged one. The old one is deleted last. */
export async function placePackage(one: PackPackage, folder: string): Promise<void> {
  const { staged, old } = stagesOf(one, folder);
  const target = packageFolder(folder, one.name);
  await mkdir(dirname(target), { recursive: true });
  const replaces = await moveAway(target, old);
  try {
    await rename(staged, target);
  } catch (error) {
    if (replaces) await rename(old, target);
    throw error;
  }
  await removeLeftovers(one, folder);
}

/** Returns whether it was installed. */
export async function removePackage(one: PackPackage, folder: string): Promise<boolean> {
  const there = await moveAway(packageFolder(folder, one.name), stagesOf(one, folder).old);
  await removeLeftovers(one, folder);
  return there;
}

/** By one rename, because deleting takes time and could be interrupted. Returns whether it was there. */
async function moveAway(target: string, old: string): Promise<boolean> {
  await rm(old, { recursive: true, force: true });
  try {
    await rename(target, old);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

const plainName = (name: string): string => name.replace(/[^\w.-]+/g, '-');

/** Where a package is before it is installed, and after it was replaced. */
function stagesOf({ name, version }: PackPackage, folder: string) {
  const plain = join(folder, plainName(`${name}-${version}`));
  return { archive: `${plain}.tgz`, unpacked: `${plain}.unpacked`, staged: `${plain}.staged`, old: `${plain}.old` };
}

/** What interrupted runs have left of any version of the package. */
async function removeLeftovers({ name }: PackPackage, folder: string): Promise<void> {
  const plain = `${plainName(name)}-`;
  const stage = /^\d+\.\d+\.\d+[\w.+-]*\.(tgz|tgz\.part|tgz\.part\.etag|unpacked|staged|old)$/;
  for (const entry of await readdir(folder).catch(() => [])) {
    if (!entry.startsWith(plain) || !stage.test(entry.slice(plain.length))) continue;
    await rm(join(folder, entry), { recursive: true, force: true });
  }
}

/** Unpacks an npm package, without its top folder. */
async function unpack(archive: string, target: string): Promise<Files> {
  const files: Record<string, Files[string]> = {};
  for await (const { name, content } of readArchive(archive)) {
    const path = normalize(name.replace(/^[^/]+\//, ''));
    if (path.startsWith('..') || path.startsWith(sep) || path.includes(`${sep}..${sep}`) || /^[A-Za-z]:/.test(path)) {
      throw new DownloadError(`the package has a file outside of its folder (${name})`);
    }
    const file = join(target, path);
    await mkdir(dirname(file), { recursive: true });
    const hash = createHash('sha256');
    let bytes = 0;
    const seen = async function* (pieces: AsyncIterable<Uint8Array>) {
      for await (const piece of pieces) {
        hash.update(piece);
        bytes += piece.length;
        yield piece;
      }
    };
    await pipeline(content, seen, createWriteStream(file));
    // Registries drop the executable bit, which programs need.
    await chmod(file, 0o755);
    files[path.split(sep).join('/')] = { bytes, sha256: hash.digest('hex') };
  }
  return files;
}
