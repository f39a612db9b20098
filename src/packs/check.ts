import { type Pack, type PackPackage, packageFolder, packs, systemOf } from './catalogue.ts';
import { checkPackage, type PackageState } from './manifest.ts';

export interface CheckOptions {
  /** Where packs are installed. */
  readonly folder: string;
  readonly catalogue?: readonly Pack[];
  readonly system?: Pick<NodeJS.Process, 'platform' | 'arch'>;
}

/** `outdated`: intact, but not of the versions of the catalogue, with which the engines of this program work. */
export interface PackState {
  readonly type: 'unsupported' | 'absent' | 'broken' | 'outdated' | 'installed';
  readonly packages: readonly { readonly wanted: PackPackage; readonly state: PackageState }[];
}

/** The state of a pack on this system; `quick` reads names and sizes only. */
export async function checkPack(pack: Pack, options: CheckOptions, how: 'quick' | 'thorough'): Promise<PackState> {
  const wanted = packagesOf(pack, options);
  if (!wanted) return { type: 'unsupported', packages: [] };
  const packages: PackState['packages'][number][] = [];
  for (const one of wanted) {
    packages.push({ wanted: one, state: await checkPackage(one, packageFolder(options.folder, one.name), how) });
  }
  const shared = new Set(
    others(pack, options)
      .flatMap((other) => packagesOf(other, options) ?? [])
      .map(({ name }) => name),
  );
  // A package of two packs says nothing about either.
  const own = packages.filter(({ wanted: { name } }) => !shared.has(name));
  if ((own.length > 0 ? own : packages).every(({ state }) => state.type === 'missing'))
    return { type: 'absent', packages };
  const has = (type: PackageState['type']) => packages.some(({ state }) => state.type === type);
  if (has('broken')) return { type: 'broken', packages };
  if (has('outdated')) return { type: 'outdated', packages };
  return { type: has('missing') ? 'broken' : 'installed', packages };
}

/** The packages of a pack that no other installed pack needs. */
export async function unsharedPackages(pack: Pack, options: CheckOptions): Promise<readonly PackPackage[]> {
  const needed = new Set<string>();
  for (const other of others(pack, options)) {
    const { type, packages } = await checkPack(other, options, 'quick');
    if (type !== 'absent') for (const { wanted } of packages) needed.add(wanted.name);
  }
  return (packagesOf(pack, options) ?? []).filter(({ name }) => !needed.has(name));
}

function packagesOf(pack: Pack, { system = process }: CheckOptions): readonly PackPackage[] | undefined {
  return pack.packages[systemOf(system)];
}

const others = (pack: Pack, { catalogue = packs }: CheckOptions): readonly Pack[] =>
  catalogue.filter(({ name }) => name !== pack.name);
