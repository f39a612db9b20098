import { access, constants, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { cpus, freemem, networkInterfaces, release, totalmem, type } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ownFolder, thisSystem } from '../core/data-folder.ts';
import type { Probe } from '../core/probe.ts';
import { product } from '../core/product.ts';
import { hasNodeSqlite, openDatabase } from '../documents/storage/sqlite.ts';
import { installedBuilds } from '../engines/llama/gpu-builds.ts';
import type { GpuBuild } from '../engines/llama/load-options.ts';
import { presentGpus } from '../engines/llama/present-gpus.ts';
import { hashOf, weightsFolder } from '../engines/weights.ts';
import { readGguf } from '../gguf/gguf.ts';
import { lanAddresses, reachableAddresses } from '../lan/addresses.ts';
import { activeFirewall } from '../lan/firewall.ts';
import { findModels } from '../library/find-models.ts';
import { type ModelFacts, modelFacts } from '../library/model-facts.ts';
import { knownModelFolders } from '../library/model-folders.ts';
import { builtInModels } from '../models/engine-kinds.ts';
import { packageVersion } from '../models/engine-packages.ts';
import { type Pack, packs } from '../packs/catalogue.ts';
import { checkPack } from '../packs/check.ts';
import { builtPages } from '../protocols/pages/web-client.ts';
import { type EngineRecipe, installed } from './engines-command.ts';
import { runProbe } from './probe.ts';

/** The machine as the report sees it; every function may throw. */
export type Machine = ReturnType<typeof thisMachine>;

/** The machine that this process runs on; the port is that of the server. */
export function thisMachine(port: number) {
  const { platform, arch, version } = process;
  return {
    product,
    system: { platform, arch, nodeVersion: version.replace(/^v/, '') },
    hardware,
    /** Version of an installed package. */
    versionOf: packageVersion,
    probe: (probe: Probe) => runProbe(probe),
    ownFiles,
    catalogue: packs,
    packState: async (pack: Pack) => (await checkPack(pack, { folder: ownFolder('packs') }, 'quick')).type,
    sqlite,
    /** Builds of llama.cpp that are installed. */
    builds: (): readonly GpuBuild[] => [...installedBuilds().keys()],
    /** GPUs that the system knows, where that can be read. */
    gpus: (): readonly string[] => presentGpus(),
    /** Path of a program that can be an engine. */
    programPath: (recipe: EngineRecipe) => installed(recipe),
    /** Models in the folders of this and other programs. */
    models: async (): Promise<readonly ModelFacts[]> =>
      Promise.all((await findModels(knownModelFolders(thisSystem()))).map(modelFacts)),
    folders: (): readonly { readonly name: string; readonly path: string }[] => [
      { name: 'data', path: dirname(ownFolder('models')) },
      ...(['documents', 'config', 'cache', 'packs'] as const).map((name) => ({ name, path: ownFolder(name) })),
    ],
    folder: folderFacts,
    port,
    portState,
    /** Addresses that other devices can open, the likeliest first. */
    addresses: () => reachableAddresses(lanAddresses(networkInterfaces())),
    firewall: () => activeFirewall(),
  };
}

/** Opens a database with a full-text index, as a collection of documents is. Throws where SQLite cannot be used. */
function sqlite(): string {
  const database = openDatabase(':memory:');
  try {
    database.exec('create virtual table words using fts5(text)');
    const version = database.prepare('select sqlite_version() as version').get()?.version;
    const name = 'node-sqlite3-wasm';
    const own = hasNodeSqlite() ? 'of Node' : `${name} ${packageVersion(name)}; Node 22.13 and later have a faster one`;
    return `${version} (${own})`;
  } finally {
    database.close();
  }
}

function hardware() {
  const processors = cpus();
  const model = processors[0]?.model.trim();
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
  return {
    system: `${type()} ${release()} ${process.arch}`,
    processor: `${processors.length} × ${model && model !== 'unknown' ? model : process.arch}`,
    memory: `${gigabytes(totalmem())}, ${gigabytes(freemem())} free`,
  };
}

/** Files that come with the program; `check` rejects if one is missing or damaged. */
const ownFiles: readonly OwnFile[] = [
  ...builtInModels.map(({ files, ...model }) => ({
    ...model,
    check: () => Promise.all(files.map(({ file, sha256 }) => checkFile(resolve(weightsFolder, file), sha256))),
  })),
  { name: 'Web client', content: 'built', check: () => checkFile(join(builtPages, 'index.html')) },
];

interface OwnFile {
  readonly name: string;
  readonly content: string;
  readonly needed?: boolean;
  readonly check: () => Promise<unknown>;
}

/** Without a hash only whether it can be read, and whether a GGUF file begins as one. */
export async function checkFile(path: string, sha256?: string): Promise<void> {
  await access(path, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? `${path} is missing` : `${path} cannot be read (${error.code})`);
  });
  if (sha256 !== undefined && (await hashOf(path)) !== sha256) {
    throw new Error(`${path} is damaged (its SHA-256 differs)`);
  }
  if (sha256 === undefined && path.endsWith('.gguf')) await readGguf(path);
}

/** Of the folder, or of the nearest one above it that exists. `exists`: the folder itself; it can be created in a writable one. */
export async function folderFacts(
  path: string,
): Promise<{ readonly exists: boolean; readonly writable: boolean; readonly freeBytes: number }> {
  const exists = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
  const parent = dirname(path);
  if (!exists && parent !== path) return { ...(await folderFacts(parent)), exists };
  const { bavail, bsize } = await statfs(path);
  const writable = await access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
  return { exists, writable, freeBytes: bavail * bsize };
}

/** Whether it can be opened; if not, whether a Parley answers there. */
async function portState(port: number): Promise<'free' | 'parley' | 'taken'> {
  const server = createServer();
  const free = await new Promise<boolean>((settle) => {
    server.once('error', () => settle(false));
    server.listen(port, '127.0.0.1', () => server.close(() => settle(true)));
  });
  if (free) return 'free';
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/api/extra/version`, { signal: AbortSignal.timeout(2000) });
    return 'parley' in ((await reply.json()) as object) ? 'parley' : 'taken';
  } catch {
    return 'taken';
  }
}
