import { rm } from 'node:fs/promises';
import { downloadProgress } from '../observe/terminal.ts';
import { workFolder } from '../packs/build-cuda.ts';
import { builtLibrary, cudaBuilt } from '../packs/built.ts';
import { type Pack, type PackPackage, packs, systemOf } from '../packs/catalogue.ts';
import { type CheckOptions, checkPack, type PackState, unsharedPackages } from '../packs/check.ts';
import { installPackages, removePackage } from '../packs/install.ts';
import type { PackageState } from '../packs/manifest.ts';
import { CommandError, command, print } from './command.ts';
import { findNpmPackage } from './npm-package.ts';
import { type BuildCommand, buildCommand, packUsage as usage } from './pack-build.ts';

type PackCommand = CheckOptions & BuildCommand;

type Action = (pack: Pack, command: PackCommand) => Promise<number>;
const actions: Readonly<Record<string, Action>> = { add, remove, verify, repair };
/** Without a name they are for all installed packs. */
const forAll: readonly string[] = ['verify', 'repair'];

/** `parley pack` */
export const packCommand = (context: PackCommand): Promise<number> => {
  const [action, ...args] = context.args;
  return action === 'build' ? buildCommand({ ...context, args }) : manageCommand(context);
};

const manageCommand = command(
  { usage, options: {} },
  async ({ positionals: [verb = 'list', name, ...rest] }, context: PackCommand) => {
    if (verb === 'list' && name === undefined) return print(context.terminal, await listLines(context));
    const action = Object.hasOwn(actions, verb) ? actions[verb] : undefined;
    if (!action || rest.length > 0 || (name === undefined && !forAll.includes(verb))) return undefined;
    if (name === undefined) return eachInstalled(action, context);
    const catalogue = known(context);
    const pack = catalogue.find((one) => one.name === name);
    if (!pack)
      throw new CommandError(`There is no pack ${name}; there are ${catalogue.map((one) => one.name).join(', ')}.`);
    return action(pack, context);
  },
);

/** The packs of the catalogue, and the one that is compiled. */
const known = ({ catalogue = [...packs, cudaBuilt] }: PackCommand): readonly Pack[] => catalogue;

async function eachInstalled(action: Action, context: PackCommand): Promise<number> {
  const codes: number[] = [];
  for (const pack of known(context)) {
    const { type } = await checkPack(pack, context, 'quick');
    if (type !== 'absent' && type !== 'unsupported') codes.push(await action(pack, context));
  }
  if (codes.length === 0) context.terminal.line('No packs are installed.');
  return Math.max(0, ...codes);
}

async function add(pack: Pack, context: PackCommand): Promise<number> {
  if (pack === cudaBuilt) return buildCommand({ ...context, args: ['cuda'] });
  const { terminal, folder } = context;
  const { type, packages } = await checkPack(pack, context, 'quick');
  if (type === 'unsupported') return unsupported(pack, context);
  const missing = packages.filter(({ state }) => state.type !== 'installed').map((one) => one.wanted);
  if (!(await install(pack, missing, context))) return 3;
  const what = missing.length === 0 ? 'is here already' : 'is installed';
  terminal.line(`${pack.name} ${what}, in ${folder}. It is used from the next start on.`);
  return 0;
}

async function remove(pack: Pack, context: PackCommand): Promise<number> {
  const { terminal, folder } = context;
  const packages = await unsharedPackages(pack, context);
  const removed = await Promise.all(packages.map((one) => removePackage(one, folder)));
  if (pack === cudaBuilt) await rm(workFolder(folder), { recursive: true, force: true });
  terminal.line(removed.some(Boolean) ? `${pack.name} is gone.` : `${pack.name} was not here.`);
  return 0;
}

async function verify(pack: Pack, context: PackCommand): Promise<number> {
  const { type } = await inspect(pack, context);
  if (type === 'broken') context.terminal.line(`Repair it with: parley pack repair ${pack.name}`);
  return exitCodes[type];
}

const exitCodes = { unsupported: 2, absent: 1, broken: 1, outdated: 0, installed: 0 };

async function inspect(pack: Pack, context: PackCommand): Promise<PackState> {
  context.terminal.status(`Checking ${pack.name} …`);
  const state = await checkPack(pack, context, 'thorough');
  if (state.type === 'unsupported') unsupported(pack, context);
  else context.terminal.line(`${pack.name}: ${verdict(pack, state)}`);
  return state;
}

async function repair(pack: Pack, context: PackCommand): Promise<number> {
  const { type, packages } = await inspect(pack, context);
  if (type !== 'broken') return exitCodes[type];
  if (pack === cudaBuilt) return buildCommand({ ...context, args: ['cuda'] });
  const damaged = packages.filter(({ state }) => state.type === 'broken' || state.type === 'missing');
  const again = damaged.map((one) => one.wanted);
  if (!(await install(pack, again, context))) return 3;
  context.terminal.line(`${pack.name} is repaired. It is used from the next start on.`);
  return 0;
}

async function install(pack: Pack, missing: readonly PackPackage[], context: PackCommand): Promise<boolean> {
  const { terminal, folder, fetch, signal, findPackage = findNpmPackage } = context;
  try {
    await installPackages(missing, folder, ({ name }) => {
      const progress = downloadProgress(terminal, context.now, name);
      return { fetch, progress, findPackage, ...(signal && { signal }) };
    });
    return true;
  } catch (error) {
    terminal.line(`${pack.name} could not be installed: ${(error as Error).message}`);
    return false;
  }
}

async function listLines(context: PackCommand): Promise<string[]> {
  const catalogue = known(context);
  const width = Math.max(...catalogue.map(({ name }) => name.length));
  return Promise.all(
    catalogue.map(async (pack) => {
      const status = packStatus(pack, await checkPack(pack, context, 'quick'), context);
      return `${pack.name.padEnd(width)}  ${status}  ${pack.brings} (${pack.licence})`;
    }),
  );
}

function packStatus(pack: Pack, { type, packages }: PackState, { folder }: PackCommand): string {
  if (pack === cudaBuilt && type !== 'unsupported' && type !== 'broken') return builtStatus(type, folder);
  if (type === 'unsupported') return `not for this system: it has ${systems(pack)}.`;
  if (type === 'broken') return `broken: parley pack repair ${pack.name}.`;
  if (type === 'outdated') return `update available: parley pack add ${pack.name}.`;
  if (type === 'installed') return 'installed.';
  const missing = packages.filter(({ state }) => state.type === 'missing');
  return `${missing.reduce((sum, { wanted }) => sum + wanted.megabytes, 0)} MB to fetch.`;
}

function builtStatus(type: PackState['type'], folder: string): string {
  const built = type === 'absent' ? undefined : builtLibrary(folder);
  if (!built) return 'not compiled: parley pack build cuda.';
  const facts = `toolkit ${built.toolkit}, for ${built.architectures.join(', ')}`;
  return type === 'outdated'
    ? `of another version of the engine (${facts}): parley pack build cuda.`
    : `compiled here (${facts}).`;
}

/** The result of a thorough check. */
function verdict(pack: Pack, { type, packages }: PackState): string {
  const how = pack === cudaBuilt ? 'build cuda' : `add ${pack.name}`;
  if (type === 'absent') return `not installed. Run: parley pack ${how}`;
  if (type === 'broken') {
    const damage = packages.flatMap(({ wanted, state }) => damageOf(wanted, state));
    return `broken: ${damage.join('; ')}.`;
  }
  if (type === 'outdated') return `intact, but of another version; update available: parley pack ${how}`;
  const counts = packages.map(({ state }) => (state.type === 'installed' ? state.files : undefined));
  if (counts.includes(undefined)) {
    return 'no damage found. It was installed without a list of its files, so only versions and main files were checked.';
  }
  return `intact, ${counts.reduce((sum: number, count) => sum + (count ?? 0), 0)} files checked.`;
}

function damageOf({ name }: PackPackage, state: PackageState): string[] {
  if (state.type === 'missing') return [`${name} is missing`];
  if (state.type !== 'broken') return [];
  const kinds = (['missing', 'changed', 'extra'] as const).filter((kind) => state[kind].length > 0);
  return [`${name}: ${kinds.map((kind) => `${state[kind].length} ${kind} (${someOf(state[kind])})`).join(', ')}`];
}

function someOf(names: readonly string[]): string {
  return names.length <= 3 ? names.join(', ') : `${names.slice(0, 3).join(', ')}, …`;
}

function unsupported(pack: Pack, { terminal, system = process }: PackCommand): number {
  terminal.line(`${pack.name} has no part for this system (${systemOf(system)}); it has ${systems(pack)}.`);
  return 2;
}

function systems({ packages }: Pack): string {
  return Object.keys(packages).join(', ');
}
