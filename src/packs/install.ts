import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join, normalize, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { DownloadError, type DownloadParts, download, readIntegrity } from '../library/download.ts';
import { readArchive } from '../library/tar.ts';
import type { PackPackage } from './catalogue.ts';

export interface InstallParts extends DownloadParts {
  /** Asks the npm registry for the URL of a package. */
  readonly findPackage: (specifier: string) => Promise<{ readonly tarball: string }>;
}

/** Downloads and installs a package atomically. Returns false if it is installed. */
export async function installPackage(wanted: PackPackage, folder: string, parts: InstallParts): Promise<boolean> {
  const { name, version, integrity } = wanted;
  if (installedVersion(folder, name) === version) return false;
  const expected = readIntegrity(integrity);
  if (!expected) throw new Error(`${name} has no hash that it could be checked by`);
  const { tarball } = await parts.findPackage(`${name}@${version}`);
  const plain = `${name}-${version}`.replace(/[^\w.-]+/g, '-');
  const archive = join(folder, `${plain}.tgz`);
  await download({ url: tarball, target: archive, expected }, parts);
  const unpacked = join(folder, `${plain}.unpacked`);
  try {
    await rm(unpacked, { recursive: true, force: true });
    await unpack(archive, unpacked);
    const target = packageFolder(folder, name);
    await rm(target, { recursive: true, force: true });
    await mkdir(dirname(target), { recursive: true });
    await rename(unpacked, target);
  } finally {
    await rm(archive, { force: true });
    await rm(unpacked, { recursive: true, force: true });
  }
  return true;
}

/** Returns whether it was installed. */
export async function removePackage({ name }: PackPackage, folder: string): Promise<boolean> {
  const there = installedVersion(folder, name) !== undefined;
  await rm(packageFolder(folder, name), { recursive: true, force: true });
  return there;
}

/** Unpacks an npm package, without its top folder. */
async function unpack(archive: string, target: string): Promise<void> {
  for await (const { name, content } of readArchive(archive)) {
    const path = normalize(name.replace(/^[^/]+\//, ''));
    if (path.startsWith('..') || path.startsWith(sep) || path.includes(`${sep}..${sep}`) || /^[A-Za-z]:/.test(path)) {
      throw new DownloadError(`the package has a file outside of its folder (${name})`);
    }
    const file = join(target, path);
    await mkdir(dirname(file), { recursive: true });
    await pipeline(content, createWriteStream(file));
    // Registries drop the executable bit, which programs need.
    await chmod(file, 0o755);
  }
}

export function packageFolder(packsFolder: string, name: string): string {
  return join(packsFolder, 'node_modules', name);
}

export function installedVersion(packsFolder: string, name: string): string | undefined {
  const path = join(packageFolder(packsFolder, name), 'package.json');
  if (!existsSync(path)) return undefined;
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { version?: string }).version;
  } catch {
    return undefined;
  }
}
