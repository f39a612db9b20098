import { rm } from 'node:fs/promises';
import { progressOf } from '../observe/terminal.ts';
import { workFolder } from '../packs/build-cuda.ts';
import { builtLibrary, cudaBuilt } from '../packs/built.ts';
import { type Pack, type PackPackage, packs, systemOf } from '../packs/catalogue.ts';
import { type CheckParts, checkPack, type PackState, unsharedPackages } from '../packs/check.ts';
import { installPackages, removePackage } from '../packs/install.ts';
import type { PackageState } from '../packs/manifest.ts';
import { showUsage } from './command.ts';
import { askNpm } from './npm-package.ts';
import { type BuildCommand, buildCommand } from './pack-build.ts';

interface PackCommand extends CheckParts, BuildCommand {
  readonly words: readonly string[];
}

const usage = `parley pack list            the packs that there are, what each brings, and which are here
parley pack add NAME        fetch one, checked by its hash; what broke off is taken up again by the same command
parley pack build cuda      compile the CUDA engine for the cards of this machine (Linux; needs the CUDA toolkit, cmake and git)
                            --source FILE: the npm package of the source, or a folder with it, on a machine without network
                            --arch 90: another compute capability; --jobs N: files that are compiled at once
parley pack remove NAME     delete it
parley pack verify [NAME]   check every file of what is installed
parley pack repair [NAME]   fetch again what is broken`;

type Action = (pack: Pack, command: PackCommand) => Promise<number>;
const actions: Readonly<Record<string, Action>> = { add, remove, verify, repair };
/** Without a name they are for all installed packs. */
const forAll: readonly string[] = ['verify', 'repair'];

/** `parley pack`: resolves to the exit code. */
export async function packCommand(command: PackCommand): Promise<number> {
  const { words, terminal } = command;
  const catalogue = known(command);
  const [word = 'list', name, ...rest] = words;
  if (word === 'build') return buildCommand(words.slice(1), command, usage);
  if (word === 'list' && name === undefined) {
    for (const line of await listLines(command)) terminal.line(line);
    return 0;
  }
  const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
  const isUnknown = !action || rest.length > 0 || (name === undefined && !forAll.includes(word));
  if (isUnknown || words.some((one) => one.startsWith('-'))) return showUsage(terminal, usage, { words });
  if (name === undefined) return eachInstalled(action, command);
  const pack = catalogue.find((one) => one.name === name);
  if (!pack) {
    terminal.line(`There is no pack ${name}; there are ${catalogue.map((one) => one.name).join(', ')}.`);
    return 2;
  }
  return action(pack, command);
}

/** The packs of the catalogue, and the one that is compiled. */
const known = ({ catalogue = [...packs, cudaBuilt] }: PackCommand): readonly Pack[] => catalogue;

async function eachInstalled(action: Action, command: PackCommand): Promise<number> {
  const codes: number[] = [];
  for (const pack of known(command)) {
    const { type } = await checkPack(pack, command, 'quick');
    if (type !== 'absent' && type !== 'unsupported') codes.push(await action(pack, command));
  }
  if (codes.length === 0) command.terminal.line('No packs are installed.');
  return Math.max(0, ...codes);
}

async function add(pack: Pack, command: PackCommand): Promise<number> {
  if (pack === cudaBuilt) return buildCommand(['cuda'], command, usage);
  const { terminal, folder } = command;
  const { type, packages } = await checkPack(pack, command, 'quick');
  if (type === 'unsupported') return unsupported(pack, command);
  const wanted = packages.filter(({ state }) => state.type !== 'installed').map((one) => one.wanted);
  if (!(await install(pack, wanted, command))) return 3;
  const what = wanted.length === 0 ? 'is here already' : 'is installed';
  terminal.line(`${pack.name} ${what}, in ${folder}. It is used from the next start on.`);
  return 0;
}

async function remove(pack: Pack, command: PackCommand): Promise<number> {
  const { terminal, folder } = command;
  const packages = await unsharedPackages(pack, command);
  const removed = await Promise.all(packages.map((one) => removePackage(one, folder)));
  if (pack === cudaBuilt) await rm(workFolder(folder), { recursive: true, force: true });
  terminal.line(removed.some(Boolean) ? `${pack.name} is gone.` : `${pack.name} was not here.`);
  return 0;
}

async function verify(pack: Pack, command: PackCommand): Promise<number> {
  const { type } = await inspect(pack, command);
  if (type === 'broken') command.terminal.line(`Repair it with: parley pack repair ${pack.name}`);
  return exitCodes[type];
}

const exitCodes = { unsupported: 2, absent: 1, broken: 1, outdated: 0, installed: 0 };

async function inspect(pack: Pack, command: PackCommand): Promise<PackState> {
  command.terminal.status(`Checking ${pack.name} …`);
  const state = await checkPack(pack, command, 'thorough');
  if (state.type === 'unsupported') unsupported(pack, command);
  else command.terminal.line(`${pack.name}: ${verdict(pack, state)}`);
  return state;
}

async function repair(pack: Pack, command: PackCommand): Promise<number> {
  const { type, packages } = await inspect(pack, command);
  if (type !== 'broken') return exitCodes[type];
  if (pack === cudaBuilt) return buildCommand(['cuda'], command, usage);
  const wanted = packages.filter(({ state }) => state.type === 'broken' || state.type === 'missing');
  const again = wanted.map((one) => one.wanted);
  if (!(await install(pack, again, command))) return 3;
  command.terminal.line(`${pack.name} is repaired. It is used from the next start on.`);
  return 0;
}

async function install(pack: Pack, wanted: readonly PackPackage[], command: PackCommand): Promise<boolean> {
  const { terminal, folder, fetch, signal, findPackage = askNpm } = command;
  try {
    await installPackages(wanted, folder, ({ name }) => {
      const progress = progressOf(terminal, command.now, name).show;
      return { fetch, progress, findPackage, ...(signal && { signal }) };
    });
    return true;
  } catch (error) {
    terminal.line(`${pack.name} could not be installed: ${(error as Error).message}`);
    return false;
  }
}

async function listLines(command: PackCommand): Promise<string[]> {
  const catalogue = known(command);
  const width = Math.max(...catalogue.map(({ name }) => name.length));
  return Promise.all(
    catalogue.map(async (pack) => {
      const status = packStatus(pack, await checkPack(pack, command, 'quick'), command);
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
