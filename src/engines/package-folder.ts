import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ownFolder } from '../core/data-folder.ts';

/** Where a package is installed, even one without an entry point; undefined if it is not. */
export function packageFolder(name: string): string | undefined {
  return packageFolders(name)[0];
}

/** All folders with a package: of the installed packages, then of the packs. */
export function packageFolders(name: string, packs = ownFolder('packs')): readonly string[] {
  const parents = createRequire(import.meta.url).resolve.paths(name) ?? [];
  return [...parents, join(packs, 'node_modules')]
    .map((parent) => join(parent, name))
    .filter((folder) => existsSync(join(folder, 'package.json')));
}
