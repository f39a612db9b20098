import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Where a package is installed, also one that offers nothing to be imported, or one of a pack; undefined where it is not. */
export function packageFolder(name: string): string | undefined {
  const places = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const { PARLEY_PACKS: packs } = process.env;
  if (packs) places.push(join(packs, 'node_modules'));
  return places.map((place) => join(place, name)).find((folder) => existsSync(join(folder, 'package.json')));
}
