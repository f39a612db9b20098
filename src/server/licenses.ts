import { readdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tryParseJson } from '../core/json.ts';
import { readText } from '../core/read-text.ts';
import { type CommandContext, command, flag, print, printJson } from './command.ts';

const usage = `parley licenses         the licences of everything that comes with Parley
parley licenses --json  the same for scripts`;

/** `parley licenses` */
export const licensesCommand = command(
  { usage, options: { json: flag } },
  ({ values, positionals }, { terminal, read = readLicenses }: CommandContext & { readonly read?: () => Licenses }) => {
    if (positionals.length > 0) return undefined;
    return values.json ? printJson(terminal, read()) : print(terminal, [licensesText(read())]);
  },
);

/** A package whose code comes with the program. */
type LicensedPackage = ReturnType<typeof readPackage>;

/** Everything that comes with the program. */
export type Licenses = ReturnType<typeof readLicenses>;

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly license?: unknown;
  readonly licenses?: unknown;
  readonly dependencies?: object;
  readonly optionalDependencies?: object;
  readonly peerDependencies?: object;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** Reads the licences of the program in this folder. Files that are missing are left out. */
export function readLicenses(root = fileURLToPath(new URL('../..', import.meta.url))) {
  const { packages, missing } = installedPackages(root);
  // The build joins packages of the web client into its pages, and writes their licences to a file.
  const joined = tryParseJson(readText(join(root, 'dist', 'licenses.json'))) as LicensedPackage[] | undefined;
  const all = [...packages, ...(joined ?? [])];
  const unique = new Map(all.map((one) => [`${one.name} ${one.version}`, one]));
  return {
    own: readText(join(root, 'LICENSE')),
    packages: [...unique.values()].sort((one, other) => (one.name < other.name ? -1 : 1)),
    weights: readText(join(root, 'weights', 'LICENSES.txt')),
    /** Required packages that are not installed. */
    missing,
  };
}

/** The packages that the program depends on, directly or not, found as Node finds them. Optional ones may be missing. */
export function installedPackages(root: string) {
  const folders = new Set<string>();
  const missing = new Set<string>();
  const visit = (from: string): void => {
    for (const [name, optional] of dependenciesOf(manifestOf(from) ?? {})) {
      const folder = packageFrom(from, name);
      if (folder === undefined && !optional) missing.add(name);
      if (folder === undefined || folders.has(folder)) continue;
      folders.add(folder);
      visit(folder);
    }
  };
  visit(root);
  return { packages: [...folders].map(readPackage), missing: [...missing] };
}

/** Each with whether it is optional. npm repeats optional dependencies among the others. */
function dependenciesOf(manifest: Manifest): ReadonlyMap<string, boolean> {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  const entries = (names: readonly string[], optional: boolean) => names.map((name) => [name, optional] as const);
  return new Map([
    ...entries(peers, true),
    ...entries(Object.keys(dependencies), false),
    ...entries(Object.keys(optionalDependencies), true),
  ]);
}

/** The folder of a package that code in another folder imports. */
function packageFrom(folder: string, name: string): string | undefined {
  const path = join(folder, 'node_modules', name);
  if (basename(folder) !== 'node_modules' && manifestOf(path)) return realpathSync(path);
  const parent = dirname(folder);
  return parent === folder ? undefined : packageFrom(parent, name);
}

const licenceFile = /^(licen[cs]e|copying|notice|unlicense|third[-_]?party)/i;

export function readPackage(folder: string) {
  const manifest = manifestOf(folder) ?? {};
  const files = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && licenceFile.test(entry.name) && !/\.(c?js|mjs|ts|json)$/.test(entry.name))
    .map(({ name }) => readText(join(folder, name)).trim());
  return {
    name: manifest.name ?? basename(folder),
    version: manifest.version ?? '',
    /** As the package declares it: `MIT`. */
    licence: licenceOf(manifest),
    /** Empty if it has no licence files. */
    text: files.join('\n\n'),
  };
}

/** Old packages have an object with a type, or a list of them. */
function licenceOf({ license, licenses }: Manifest): string {
  const names = [license, licenses].flat().map((one) => (one as { type?: unknown } | undefined)?.type ?? one);
  return names.filter((name) => typeof name === 'string').join(' or ') || 'unknown';
}

function manifestOf(folder: string): Manifest | undefined {
  return tryParseJson(readText(join(folder, 'package.json'))) as Manifest | undefined;
}

const rule = '='.repeat(79);

/** A list of names and licences, then all texts. */
export function licensesText({ own, packages, weights, missing }: Licenses): string {
  const list = packages.map(({ name, version, licence }) => `${name} ${version}: ${licence}`);
  const sections = [
    `Parley\n\n${own.trim() || 'The file LICENSE is missing: install Parley again.'}`,
    ...packages.map(({ name, version, licence, text }) =>
      [`${name} ${version}`, `Licence: ${licence}`, '', text || 'The package has no licence file.'].join('\n'),
    ),
    ...(weights ? [`Weights of models\n\n${weights.trim()}`] : []),
  ];
  const absent = missing.length > 0 ? [`Not installed, so without their texts: ${missing.join(', ')}.`, ''] : [];
  const head = ['Parley contains these packages. The texts of their licences follow.', '', ...list, '', ...absent];
  return `${head.join('\n')}\n${sections.map((section) => `${rule}\n${section}`).join('\n\n')}`;
}
