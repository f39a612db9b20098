import { readFileSync } from 'node:fs';
import { attempt } from './attempt.ts';

/** Versions of packages, by engine kind and package name. */
export type EngineVersions = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What the program says about itself. */
export interface Product {
  readonly name: string;
  readonly version: string;
  /** The commit it was built from; missing if it was not built in a git repository. */
  readonly commit?: string;
}

/** `a 1.0.0, b 2.0.0` */
export function versionList(versions: EngineVersions[string] = {}): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}

/** Reads the files of the program: `package.json`, and `build.json` of the build. */
export function readProduct(read: (path: string) => string = readOwn): Product {
  const { version } = JSON.parse(read('../../package.json')) as { version: string };
  const commit = commitOf(read);
  return { name: 'Parley', version, ...(commit && { commit }) };
}

/** Beside the folder of this file, in `src` and in `dist` alike. */
function readOwn(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8');
}

function commitOf(read: (path: string) => string): string | undefined {
  const built = attempt(() => JSON.parse(read('../build.json')) as { commit?: unknown }, undefined);
  return typeof built?.commit === 'string' ? built.commit : undefined;
}

export const product: Product = readProduct();

/** `0.1.0 (commit 1a2b3c4d5e6f)` */
export function versionText({ version, commit }: Product = product): string {
  return commit ? `${version} (commit ${commit})` : version;
}

/** The versions that a report of a fault needs, in one line. */
export function reportFacts(
  about: Product = product,
  { version, platform, arch }: Pick<NodeJS.Process, 'version' | 'platform' | 'arch'> = process,
): string {
  return `${about.name} ${versionText(about)}, Node ${version.replace(/^v/, '')}, ${platform} ${arch}`;
}
