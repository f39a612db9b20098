import type { Probe } from '../core/probe.ts';
import { versionText } from '../core/product.ts';
import { byteSize } from '../core/readable.ts';
import type { GpuBuild } from '../engines/llama/load-options.ts';
import { howToGetCuda, unusedGpu } from '../engines/llama/present-gpus.ts';
import type { LanAddress } from '../lan/addresses.ts';
import { type Firewall, openingOf } from '../lan/firewall.ts';
import { engineChecks } from '../models/engine-kinds.ts';
import type { System } from '../models/engine-packages.ts';
import { type Pack, type PackPackage, systemOf } from '../packs/catalogue.ts';
import { type CommandContext, command, flag, print, printJson, readPort, text } from './command.ts';
import { type Machine, thisMachine } from './doctor-machine.ts';
import { engineRecipes } from './engines-command.ts';
import type { ProbedDevice, ProbeResult } from './probe.ts';

const usage = `parley doctor           what works here, what is missing, and what to do
parley doctor --json    the same for scripts
parley doctor --port N  for a server on another port than 5001`;

/** `parley doctor`: the exit code is 0 if Parley can serve. */
export const doctorCommand = command(
  { usage, options: { json: flag, port: text } },
  async (
    { values, positionals },
    { terminal, machine = thisMachine }: CommandContext & { readonly machine?: (port: number) => Machine },
  ) => {
    const port = readPort(values.port);
    if (positionals.length > 0 || port === undefined) return undefined;
    const report = await examine(machine(port));
    const { name, version, commit } = report.product;
    if (values.json) printJson(terminal, { ...report, product: { name, version, commit } });
    else print(terminal, [reportLines(report).join('\n')]);
    return report.canServe ? 0 : 1;
  },
);

/** One line of the report. */
interface Finding {
  readonly section: Section;
  readonly name: string;
  readonly status: 'ok' | 'missing' | 'problem';
  readonly detail: string;
  /** What to do if it is not ok, or does not suffice. */
  readonly advice?: string;
  /** Whether Parley cannot serve without it. */
  readonly needed?: boolean;
}

type Section = keyof typeof sections;
type Check = Omit<Finding, 'section'>;

/** In the order of the report. */
const sections = {
  Program: program,
  Engines: engines,
  'Built-in': builtIn,
  Documents: documents,
  Packs: packs,
  'Engine programs': enginePrograms,
  'Graphics cards': gpus,
  Models: models,
  Folders: folders,
  Network: network,
} satisfies Readonly<Record<string, (machine: Machine) => Promise<readonly Check[]>>>;

/** Examines everything at the same time. What cannot be examined is a problem in the report and never an exception. */
export async function examine(machine: Machine) {
  const known = new Map<Probe, Promise<ProbeResult>>();
  const probe = (name: Probe): Promise<ProbeResult> => {
    const result = known.get(name) ?? machine.probe(name);
    known.set(name, result);
    return result;
  };
  const checks = await Promise.all(
    Object.entries(sections).map(async ([section, look]) => {
      const results = await look({ ...machine, probe }).catch((error: unknown): readonly Check[] => {
        const advice = 'Correct this, or report it, and run parley doctor again.';
        return [{ ...problem('Not examined', reasonOf(error), advice), needed: section === 'Engines' }];
      });
      return results.map((result) => ({ section: section as Section, ...result }));
    }),
  );
  const findings: readonly Finding[] = checks.flat();
  return { product: machine.product, canServe: !findings.some(isFatal), findings };
}

function isFatal({ needed, status }: Finding): boolean {
  return needed === true && status !== 'ok';
}

const reinstall = 'Install Parley again (in a clone: npm ci), with its optional packages.';
const oldestNode = 20;

async function program({ product, system, hardware }: Machine): Promise<readonly Check[]> {
  const facts = hardware();
  const old = Number.parseInt(system.nodeVersion, 10) < oldestNode;
  return [
    ok('Version', versionText(product)),
    {
      name: 'Node',
      detail: system.nodeVersion,
      needed: true,
      ...(old ? { status: 'problem', advice: `Install Node ${oldestNode} or later.` } : { status: 'ok' }),
    },
    ok('System', facts.system),
    ok('Processor', facts.processor),
    ok('Memory', facts.memory),
  ];
}

async function engines({ system, versionOf, probe }: Machine): Promise<readonly Check[]> {
  return Promise.all(
    engineChecks.map(async ({ name, library, probe: probeName, packages, needed = false }): Promise<Check> => {
      const names = packages(system);
      const installed = names.find((one) => versionOf(one) !== undefined);
      if (installed === undefined) {
        const detail = `${library} is not installed (package ${names.join(' or ')})`;
        return { ...missing(name, detail, reinstall), needed };
      }
      const result = await probe(probeName);
      const from = `${installed} ${versionOf(installed)}`;
      if (result.type === 'failed')
        return { ...problem(name, `${library} (${from}) cannot be loaded: ${result.reason}`, reinstall), needed };
      const version = result.version === undefined ? '' : ` ${result.version}`;
      return { ...ok(name, `${library}${version} (${from})`), needed };
    }),
  );
}

/** Those of the recipes that are here; none of them is needed. */
async function enginePrograms({ programPath }: Machine): Promise<readonly Check[]> {
  const programs = engineRecipes.flatMap((recipe) => {
    const path = programPath(recipe);
    return path === undefined ? [] : [ok(recipe.title, path)];
  });
  return programs.length > 0 ? programs : [ok('None found', 'parley engines lists programs that can be engines')];
}

async function builtIn({ ownFiles }: Machine): Promise<readonly Check[]> {
  return Promise.all(
    ownFiles.map(async ({ name, content, check, needed = false }): Promise<Check> => {
      try {
        await check();
        return { ...ok(name, content), needed };
      } catch (error) {
        const advice = 'Install Parley again (in a clone: npm run build).';
        return { ...problem(name, reasonOf(error), advice), needed };
      }
    }),
  );
}

async function documents({ sqlite }: Machine): Promise<readonly Check[]> {
  const name = 'SQLite';
  try {
    return [ok(name, sqlite())];
  } catch (error) {
    return [problem(name, `cannot be used: ${reasonOf(error)}`, `${reinstall} Until then, --nodocuments.`)];
  }
}

async function packs({ catalogue, system, packState, probe }: Machine): Promise<readonly Check[]> {
  const fitting = catalogue.filter((pack) => packagesOf(pack, system).length > 0);
  return Promise.all(
    fitting.map(async (pack): Promise<Check> => {
      const { name, brings } = pack;
      const state = await packState(pack);
      if (state === 'broken')
        return problem(name, 'incomplete or damaged', `parley pack repair ${name} downloads what is broken.`);
      if (state === 'outdated')
        return problem(name, 'of another version than this program needs', `parley pack add ${name} updates it.`);
      if (state === 'installed') {
        const result: ProbeResult = pack.probe ? await probe(pack.probe) : { type: 'loaded' };
        if (result.type === 'loaded') return ok(name, `installed. ${brings}`);
        const advice = `parley pack remove ${name}, then parley pack add ${name}, installs it anew.`;
        return problem(name, `cannot be loaded: ${result.reason}`, advice);
      }
      const megabytes = packagesOf(pack, system).reduce((sum, one) => sum + one.megabytes, 0);
      const advice = `parley pack add ${name} downloads it (${megabytes} MB).`;
      return missing(name, `not installed (optional). ${brings}`, advice);
    }),
  );
}

function packagesOf({ packages }: Pack, system: System): readonly PackPackage[] {
  return packages[systemOf(system)] ?? [];
}

const buildNames: Partial<Record<GpuBuild, string>> = {
  'cuda-built': 'CUDA (compiled here)',
  cuda: 'CUDA',
  'cuda-ext': 'CUDA 12',
  'cuda-system': 'CUDA (of the system)',
  vulkan: 'Vulkan',
  metal: 'Metal',
};

async function gpus({ builds, gpus, catalogue, system, probe }: Machine): Promise<readonly Check[]> {
  const present = gpus();
  const known: readonly Check[] = present.map((gpu) => ok('Card', gpu));
  const usable = builds().filter((build) => build !== 'none');
  const how = howToGetCuda(false, systemOf(system), catalogue);
  const unused = unusedGpu(present, usable, how);
  if (usable.length > 0)
    return [...known, ...(await Promise.all(usable.map((build) => gpusOf(build, present, probe, unused))))];
  if (present.length === 0) return [ok('Cards', 'none found; Parley computes on the processor')];
  const advice =
    unused?.advice ??
    'Parley computes on the processor; npm has no build of llama.cpp for graphics cards of this system.';
  return [...known, missing('Use', 'no installed build can use a card', advice)];
}

async function gpusOf(
  build: GpuBuild,
  present: readonly string[],
  probe: Machine['probe'],
  unused: ReturnType<typeof unusedGpu>,
): Promise<Check> {
  const name = buildNames[build] ?? build;
  const compile =
    build === 'cuda' || build === 'cuda-ext' ? ', or parley pack build cuda compiles it for this card' : '';
  const driver = `Install or update the graphics driver${compile}; until then Parley computes on the processor (--usecpu).`;
  const advice = unused?.advice ?? driver;
  const result = await probe(`llama ${build}`);
  if (result.type === 'failed') return problem(name, `cannot be used: ${result.reason}`, advice);
  const devices = (result.devices ?? []).filter(({ graphics }) => graphics);
  if (devices.length > 0) return ok(name, devices.map(gpuText).join(', '));
  if (present.length === 0) return ok(name, 'installed, and no card found; Parley computes on the processor');
  return problem(name, 'installed, but it finds no card that it can use', advice);
}

function gpuText({ name, freeBytes, totalBytes }: ProbedDevice): string {
  return totalBytes > 0 ? `${name} (${byteSize(freeBytes)} of ${byteSize(totalBytes)} free)` : name;
}

async function models({ models: find }: Machine): Promise<readonly Check[]> {
  const all = await find();
  if (all.length === 0) {
    const advice =
      'parley pull OWNER/NAME downloads one (parley search WORDS finds it); any GGUF file can be given with --model FILE.';
    return [missing('Models', 'none besides the built-in ones', advice)];
  }
  const programs = [...new Set(all.map(({ program: from }) => from))];
  return programs.flatMap((name): readonly Check[] => {
    const own = all.filter(({ program: from }) => from === name);
    const whole = own.filter((one) => one.type === 'model');
    const bytes = whole.reduce((sum, one) => sum + one.bytes, 0);
    const count = `${whole.length} ${whole.length === 1 ? 'model' : 'models'}, ${byteSize(bytes)}`;
    const damaged = own.filter((one) => one.type === 'damaged');
    const advice = 'Download it again, or delete it.';
    return [
      ...(whole.length > 0 ? [ok(name, count)] : []),
      ...damaged.map(({ path, reason }) => problem(name, `${path}: ${reason}`, advice)),
    ];
  });
}

/** Less than a small model needs. */
const minFreeBytes = 1e9;

async function folders({ folders: list, folder }: Machine): Promise<readonly Check[]> {
  return Promise.all(
    list().map(async ({ name, path }): Promise<Check> => {
      const { exists, writable, freeBytes } = await folder(path);
      const move = 'set PARLEY_HOME to another folder';
      if (!writable) return problem(name, `${path} cannot be written`, `Allow this user to write there, or ${move}.`);
      const detail = `${path}${exists ? '' : ' (created when it is needed)'}, ${byteSize(freeBytes)} free`;
      if (freeBytes >= minFreeBytes) return ok(name, detail);
      return problem(name, detail, `Free some space on this disk, or ${move}.`);
    }),
  );
}

async function network({ port, portState, addresses, firewall }: Machine): Promise<readonly Check[]> {
  return [portCheck(port, await portState(port)), addressesCheck(addresses()), firewallCheck(await firewall(), port)];
}

function portCheck(port: number, state: Awaited<ReturnType<Machine['portState']>>): Check {
  const name = `Port ${port}`;
  if (state === 'free') return ok(name, 'free');
  if (state === 'parley') return ok(name, 'in use by Parley, which is running');
  const advice = 'Stop the program that uses it, or start Parley with another --port.';
  return problem(name, 'in use by another program', advice);
}

function addressesCheck(all: readonly LanAddress[]): Check {
  const name = 'Addresses';
  if (all.length === 0) return ok(name, 'none: this machine is in no network');
  const check = ok(name, all.map(({ address, interfaceName }) => `${address} (${interfaceName})`).join(', '));
  if (new Set(all.map(({ interfaceName }) => interfaceName)).size < 2) return check;
  return {
    ...check,
    advice: 'Several networks: a phone reaches the address of its own. --host ADDRESS serves one only.',
  };
}

function firewallCheck(active: Firewall | undefined, port: number): Check {
  if (active === undefined) return ok('Firewall', 'none was found');
  const advice = `If phones and other computers do not reach --lan: ${openingOf(active, port)}`;
  return { ...ok('Firewall', `${active}, switched on`), advice };
}

const ok = (name: string, detail: string): Check => ({ name, status: 'ok', detail });

const missing = (name: string, detail: string, advice: string): Check => ({ name, status: 'missing', detail, advice });

const problem = (name: string, detail: string, advice: string): Check => ({ name, status: 'problem', detail, advice });

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The report as a page for people. */
export function reportLines({ findings, canServe }: Awaited<ReturnType<typeof examine>>): readonly string[] {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ section, name, status, detail, advice }, index) => [
    ...(findings[index - 1]?.section === section ? [] : [...(index > 0 ? [''] : []), section]),
    `  ${status.padEnd(7)}  ${name.padEnd(width)}  ${detail}`,
    ...(advice ? [`${' '.repeat(width + 13)}${advice}`] : []),
  ]);
  const fatal = findings.filter(isFatal).map(({ section, name }) => `${name} (${section})`);
  const verdict = canServe ? 'Parley can serve.' : `Parley cannot serve until this is corrected: ${fatal.join(', ')}.`;
  return [...lines, '', verdict];
}
