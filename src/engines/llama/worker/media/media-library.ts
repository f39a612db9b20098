import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const packageName = '@qvac/fabric';
const packageVersion = '0.15.0';

/**
 * The package that can read pictures and sound is large and few need it, so it is no dependency: it is looked for among
 * the installed packages, and among the packs, whose folder the server names.
 */
export function mediaLibraryFolder(
  { PARLEY_PACKS: packs }: NodeJS.ProcessEnv,
  installed: () => string | undefined = installedFolder,
): string {
  const named = packs ? join(packs, 'node_modules', packageName) : undefined;
  const found = [installed(), named].filter(
    (folder): folder is string => folder !== undefined && existsSync(join(folder, 'package.json')),
  );
  const install = 'fetch it with: parley pack add vision';
  const [first] = found;
  if (first === undefined) throw new Error(`pictures and sound (--mmproj) need the package ${packageName}; ${install}`);
  const folder = found.find((one) => versionOf(one) === packageVersion);
  if (folder === undefined) {
    throw new Error(
      `pictures and sound (--mmproj) need version ${packageVersion} of ${packageName}, and ${versionOf(first)} is there; ${install}`,
    );
  }
  const libraries = join(folder, 'prebuilds', `${process.platform}-${process.arch}`);
  if (!existsSync(libraries)) {
    throw new Error(`${packageName} has no library for this system (${process.platform}-${process.arch})`);
  }
  return libraries;
}

function installedFolder(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${packageName}/package`));
  } catch {
    return undefined;
  }
}

function versionOf(folder: string): string {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  return version;
}
