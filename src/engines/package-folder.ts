import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ownFolder } from '../core/data-folder.ts';
import { tryParseJson } from '../core/json.ts';
import { packs } from '../packs/catalogue.ts';
import { damageOf } from '../packs/manifest.ts';

/** The package for pictures and sound. */
export const mediaPackage = '@qvac/fabric';

/** Where a package is installed, even one without an entry point; undefined if it is not. Prefers the version of the packs. */
export function packageFolder(name: string, folders = packageFolders(name)): string | undefined {
  const pinned = catalogued(name);
  return (pinned && folders.find((folder) => versionOf(folder) === pinned.version)) ?? folders[0];
}

/** All folders with a package: of the installed packages, then of the packs. */
export function packageFolders(name: string, packsFolder = ownFolder('packs')): readonly string[] {
  const parents = createRequire(import.meta.url).resolve.paths(name) ?? [];
  return [...parents, join(packsFolder, 'node_modules')]
    .map((parent) => join(parent, name))
    .filter((folder) => existsSync(join(folder, 'package.json')));
}

/** Why a package of a pack cannot be used (damage or another version), with what to do; undefined if it can, or is of no pack. */
export function packageProblem(folder: string, name: string, pack = catalogued(name)?.pack): string | undefined {
  const pinned = catalogued(name)?.version;
  if (pinned === undefined) return undefined;
  const damage = damageOf(folder);
  if (damage !== undefined) return `the pack ${pack} is damaged (${name}: ${damage}). Run: parley pack repair ${pack}`;
  const version = versionOf(folder);
  if (version === undefined || version === pinned) return undefined;
  return `the pack ${pack} is of another version (${name} ${version}, not ${pinned}). Run: parley pack add ${pack}`;
}

function catalogued(name: string): { readonly pack: string; readonly version: string } | undefined {
  for (const { name: pack, packages } of packs) {
    const entry = Object.values(packages)
      .flat()
      .find((one) => one.name === name);
    if (entry) return { pack, version: entry.version };
  }
  return undefined;
}

function versionOf(folder: string): string | undefined {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) return undefined;
  return (tryParseJson(readFileSync(path, 'utf8')) as { readonly version?: string } | undefined)?.version;
}
