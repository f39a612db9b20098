import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Where a package is installed, even one without an entry point; undefined if it is not. */
export function packageFolder(name: string): string | undefined {
  return packageFolders(name)[0];
}

/** All folders with a package: of the installed packages, then of the packs. */
export function packageFolders(name: string, { PARLEY_PACKS: packs } = process.env): readonly string[] {
  const parents = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const all = packs ? [...parents, join(packs, 'node_modules')] : parents;
  return all.map((parent) => join(parent, name)).filter((folder) => existsSync(join(folder, 'package.json')));
}
