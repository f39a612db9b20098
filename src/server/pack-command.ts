import { progressOf, type Terminal } from '../observe/terminal.ts';
import { type Pack, type PackPackage, packs, systemOf } from '../packs/catalogue.ts';
import { type InstallParts, installedVersion, installPackage, removePackage } from '../packs/install.ts';
import { askNpm } from './npm-package.ts';

export interface PackCommand {
  readonly words: readonly string[];
  /** Where packs are put. */
  readonly folder: string;
  readonly terminal: Terminal;
  readonly fetch: typeof fetch;
  readonly catalogue?: readonly Pack[];
  readonly system?: Pick<NodeJS.Process, 'platform' | 'arch'>;
  readonly findPackage?: InstallParts['findPackage'];
  readonly signal?: AbortSignal;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

const usage = `parley pack list            the packs that there are, what each brings, and which are here
parley pack add NAME        fetch one, checked by its hash; what broke off is taken up again by the same command
parley pack remove NAME     delete it`;

/** `parley pack`: resolves to the exit code. */
export async function packCommand(command: PackCommand): Promise<number> {
  const { words, terminal, catalogue = packs } = command;
  const [action = 'list', name, ...rest] = words;
  if (action === 'list' && name === undefined) {
    for (const line of listLines(command)) terminal.line(line);
    return 0;
  }
  if ((action !== 'add' && action !== 'remove') || name === undefined || rest.length > 0) {
    terminal.line(usage);
    return 2;
  }
  const pack = catalogue.find((one) => one.name === name);
  if (!pack) {
    terminal.line(`There is no pack ${name}; there are ${catalogue.map((one) => one.name).join(', ')}.`);
    return 2;
  }
  return action === 'add' ? add(pack, command) : remove(pack, command);
}

async function add(pack: Pack, command: PackCommand): Promise<number> {
  const { terminal, folder } = command;
  const packages = packagesOf(pack, command);
  if (!packages) {
    const system = systemOf(command.system ?? process);
    terminal.line(`${pack.name} has no part for this system (${system}); it has ${systems(pack)}.`);
    return 2;
  }
  let fetched = 0;
  for (const one of packages) {
    const bar = progressOf(terminal, command.now);
    try {
      const isNew = await installPackage(one, folder, {
        fetch: command.fetch,
        progress: bar.show,
        findPackage: command.findPackage ?? askNpm,
        ...(command.signal && { signal: command.signal }),
      });
      if (isNew) fetched += 1;
    } catch (error) {
      terminal.line(`${pack.name} could not be installed: ${one.name} ${one.version}: ${(error as Error).message}`);
      return 3;
    }
  }
  const what = fetched === 0 ? 'is here already' : 'is installed';
  terminal.line(`${pack.name} ${what}, in ${folder}. It is used from the next start on.`);
  return 0;
}

async function remove(pack: Pack, command: PackCommand): Promise<number> {
  const { terminal, folder } = command;
  const removed = await Promise.all((packagesOf(pack, command) ?? []).map((one) => removePackage(one, folder)));
  terminal.line(removed.some(Boolean) ? `${pack.name} is gone.` : `${pack.name} was not here.`);
  return 0;
}

function listLines(command: PackCommand): string[] {
  const { catalogue = packs, folder } = command;
  const width = Math.max(...catalogue.map(({ name }) => name.length));
  return catalogue.map((pack) => {
    const packages = packagesOf(pack, command);
    return `${pack.name.padEnd(width)}  ${packStatus(pack, packages, folder)}  ${pack.brings} (${pack.licence})`;
  });
}

function packStatus(pack: Pack, packages: readonly PackPackage[] | undefined, folder: string): string {
  if (!packages) return `not for this system: it has ${systems(pack)}.`;
  if (packages.every(({ name, version }) => installedVersion(folder, name) === version)) return 'installed.';
  return `${packages.reduce((sum, { megabytes }) => sum + megabytes, 0)} MB to fetch.`;
}

function packagesOf(pack: Pack, { system = process }: PackCommand): readonly PackPackage[] | undefined {
  return pack.packages[systemOf(system)];
}

function systems({ packages }: Pack): string {
  return Object.keys(packages).join(', ');
}
