import { createHash } from 'node:crypto';
import { lstatSync, readFileSync } from 'node:fs';
import { lstat, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import { checkVersion, NewerFile, versionKey } from '../core/file-version.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { fileHash } from '../library/file-hash.ts';
import type { PackPackage } from './catalogue.ts';

/** Size and SHA-256 of each file of an installed package, by its path with forward slashes. */
export type Files = Readonly<Record<string, { readonly bytes: number; readonly sha256: string }>>;

/** In the folder of the package, so that both are put in place by one rename. */
const manifestName = '.parley-manifest.json';

export async function writeManifest(folder: string, { name, version }: PackPackage, files: Files): Promise<void> {
  const manifest = { [versionKey]: 1, name, version, files };
  await writeFile(join(folder, manifestName), `${JSON.stringify(manifest, null, 1)}\n`);
}

export type PackageState =
  | { readonly type: 'missing' }
  /** Intact, but not of the version of the catalogue. */
  | { readonly type: 'outdated'; readonly version: string }
  | ({ readonly type: 'broken' } & Readonly<Record<'missing' | 'changed' | 'extra', readonly string[]>>)
  /** `files` is undefined for a package without a list of its files: its version is right, and its main file is there. */
  | { readonly type: 'installed'; readonly files: number | undefined };

/** The state of the package in a folder; `quick` compares names and sizes only, and ignores additional files. */
export async function checkPackage(
  { version }: Pick<PackPackage, 'version'>,
  folder: string,
  how: 'quick' | 'thorough',
): Promise<PackageState> {
  if (!(await lstat(folder).catch(() => undefined))) return { type: 'missing' };
  const manifest = await readManifest(folder);
  if (manifest === 'damaged') return broken({ changed: [manifestName] });
  const damage = manifest ? await compare(folder, manifest.files, how) : await unlistedDamage(folder);
  if (damage) return damage;
  const found = (await packageFacts(folder))?.version;
  if (found !== version) return { type: 'outdated', version: typeof found === 'string' ? found : 'unknown' };
  return { type: 'installed', files: manifest && Object.keys(manifest.files).length };
}

function broken(damage: Partial<Extract<PackageState, { type: 'broken' }>>): PackageState {
  return { type: 'broken', missing: [], changed: [], extra: [], ...damage };
}

/** Undefined if there is none, or none that this version of Parley can read. */
async function readManifest(folder: string): Promise<{ readonly files: Files } | 'damaged' | undefined> {
  const text = await readFile(join(folder, manifestName), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : parsed(text);
}

function parsed(text: string): { readonly files: Files } | 'damaged' | undefined {
  try {
    const manifest: unknown = JSON.parse(text);
    if (!isObject(manifest) || !isObject(manifest.files)) return 'damaged';
    checkVersion(manifest);
    return manifest as { readonly files: Files };
  } catch (error) {
    return error instanceof NewerFile ? undefined : 'damaged';
  }
}

/**
 * The first damage of an installed package, for the start of an engine; undefined if there is none, or no list of its files. Compares
 * names and sizes, and the hashes of files that were changed after the installation.
 */
export function damageOf(folder: string): string | undefined {
  const list = join(folder, manifestName);
  const listed = lstatSync(list, { throwIfNoEntry: false });
  if (!listed) return undefined;
  const manifest = parsed(readFileSync(list, 'utf8'));
  if (manifest === 'damaged') return `${manifestName} is damaged`;
  for (const [name, { bytes, sha256 }] of Object.entries(manifest?.files ?? {})) {
    const path = join(folder, name);
    const facts = lstatSync(path, { throwIfNoEntry: false });
    if (!facts) return `${name} is missing`;
    const isChanged =
      !facts.isFile() ||
      facts.size !== bytes ||
      (facts.mtimeMs > listed.mtimeMs && createHash('sha256').update(readFileSync(path)).digest('hex') !== sha256);
    if (isChanged) return `${name} is changed`;
  }
  return undefined;
}

async function compare(folder: string, files: Files, how: 'quick' | 'thorough'): Promise<PackageState | undefined> {
  const missing: string[] = [];
  const changed: string[] = [];
  for (const [name, { bytes, sha256 }] of Object.entries(files)) {
    const path = join(folder, name);
    const facts = await lstat(path).catch(() => undefined);
    if (!facts) missing.push(name);
    else if (!facts.isFile() || facts.size !== bytes) changed.push(name);
    else if (how === 'thorough' && (await hashOf(path)) !== sha256) changed.push(name);
  }
  const extra = how === 'thorough' ? (await namesIn(folder)).filter((name) => !Object.hasOwn(files, name)) : [];
  return missing.length + changed.length + extra.length > 0 ? broken({ missing, changed, extra }) : undefined;
}

/** Undefined for a file that cannot be read. */
async function hashOf(path: string): Promise<string | undefined> {
  return (await fileHash(path, 'sha256').catch(() => undefined))?.toString('hex');
}

async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((name) => name !== manifestName);
}

/** Of a package that was installed without a manifest. */
async function unlistedDamage(folder: string): Promise<PackageState | undefined> {
  const facts = await packageFacts(folder);
  if (!facts) return broken({ changed: ['package.json'] });
  if (typeof facts.main !== 'string') return undefined;
  try {
    createRequire(join(folder, 'package.json')).resolve(folder);
    return undefined;
  } catch {
    return broken({ missing: [facts.main] });
  }
}

async function packageFacts(folder: string): Promise<Record<string, unknown> | undefined> {
  const facts = tryParseJson(await readFile(join(folder, 'package.json'), 'utf8').catch(() => ''));
  return isObject(facts) ? facts : undefined;
}
