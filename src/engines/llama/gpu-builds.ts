import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { attempt } from '../../core/attempt.ts';
import { ownFolder } from '../../core/data-folder.ts';
import { type BuiltLibrary, builtLibrary, builtProblem } from '../../packs/built.ts';
import { engineSource, systemOf } from '../../packs/catalogue.ts';
import { packageFolder, packageProblem } from '../package-folder.ts';
import type { GpuBuild, LoadOptions } from './load-options.ts';

/** The required version of the engine packages. */
export const engineVersion = '3.21.1';

/** The folder of the libraries of a build, and its GPU library if that is elsewhere. */
export interface BuildFiles {
  readonly folder: string;
  readonly gpuLibrary?: string;
  /** Of a library that was compiled here. */
  readonly built?: Pick<BuiltLibrary, 'architectures' | 'libraries'>;
  /** The base library that a CUDA library of the system needs. */
  readonly systemBase?: string;
}

export type InstalledBuilds = ReadonlyMap<GpuBuild, BuildFiles>;

/** The packages of a build, in the order of preference; every package can also run on the CPU alone. */
const endings: Readonly<Record<GpuBuild, readonly string[]>> = {
  'cuda-built': [],
  cuda: ['-cuda'],
  'cuda-ext': ['-cuda'],
  'cuda-system': [],
  vulkan: ['-vulkan'],
  metal: ['-metal'],
  none: ['', '-vulkan', '-metal', '-cuda'],
};

export function packagesFor(build: GpuBuild, platform: string, arch: string): string[] {
  const system = { linux: 'linux', win32: 'win', darwin: 'mac' }[platform] ?? platform;
  return endings[build].map((ending) => `@node-llama-cpp/${system}-${arch}${ending}`);
}

/** Where CUDA libraries that are in no package come from. */
export interface OtherCuda {
  readonly built: () => BuiltLibrary | undefined;
  readonly system: (log: (sentence: string) => void) => SystemCuda | undefined;
}

const ofThisMachine: OtherCuda = {
  built: () => builtLibrary(ownFolder('packs')),
  system: (log) => (process.platform === 'linux' ? systemCuda(log) : undefined),
};

/** The installed builds. Calls `log` with a sentence for each package or library that is damaged or of another version, and not used. */
export function installedBuilds(
  log: (sentence: string) => void = () => undefined,
  installed: (name: string) => string | undefined = packageFolder,
  { platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process,
  other: OtherCuda = ofThisMachine,
): InstalledBuilds {
  const builds = new Map<GpuBuild, BuildFiles>();
  const logged = new Set<string>();
  const usableFolder = (name: string): string | undefined => {
    const folder = installed(name);
    const reason = folder && packageProblem(folder, name);
    if (!reason) return folder;
    if (!logged.has(name)) log(reason);
    logged.add(name);
    return undefined;
  };
  for (const build of Object.keys(endings) as GpuBuild[]) {
    for (const name of packagesFor(build, platform, arch)) {
      const folder = binaries(usableFolder(name));
      const gpuLibrary = build === 'cuda-ext' ? fallbackLibrary(usableFolder(`${name}-ext`)) : undefined;
      if (!folder || builds.has(build) || (build === 'cuda-ext' && !gpuLibrary)) continue;
      builds.set(build, { folder, ...(gpuLibrary && { gpuLibrary }) });
    }
  }
  addOtherCuda(builds, systemOf({ platform, arch }), other, log);
  return builds;
}

/** CUDA libraries outside of packages are used with the other libraries of any package: all are built from the same source. */
function addOtherCuda(
  builds: Map<GpuBuild, BuildFiles>,
  system: string,
  other: OtherCuda,
  log: (sentence: string) => void,
): void {
  const folder = builds.get('none')?.folder;
  if (folder === undefined) return;
  const built = other.built();
  const problem = built && builtProblem(built, { version: engineVersion, system });
  if (problem) log(problem);
  else if (built) builds.set('cuda-built', { folder, gpuLibrary: built.library, built });
  // A library of the system is not missed if there is another CUDA build, so its problem is not logged.
  const hasCuda = gpuBuilds.cuda.some((build) => builds.has(build));
  const theirs = other.system(hasCuda ? () => undefined : log);
  if (theirs) builds.set('cuda-system', { folder, gpuLibrary: theirs.library, systemBase: theirs.base });
}

/** A package has one folder under `bins`, named for its system. */
function binaries(packageFolderPath: string | undefined): string | undefined {
  if (packageFolderPath === undefined) return undefined;
  const bins = join(packageFolderPath, 'bins');
  const [folder] = existsSync(bins) ? readdirSync(bins) : [];
  return folder === undefined ? undefined : join(bins, folder);
}

/** The CUDA library that was built with an older toolkit; it replaces that of the main package. */
function fallbackLibrary(packageFolderPath: string | undefined): string | undefined {
  const folder = binaries(packageFolderPath);
  if (folder === undefined) return undefined;
  return ['libggml-cuda.so', 'ggml-cuda.dll'].map((file) => join(folder, 'fallback', file)).find(existsSync);
}

/** The next best build; a backend that was requested by a flag is not replaced. */
export function nextGpuBuild(
  backend: LoadOptions['backend'],
  installed: readonly GpuBuild[],
  failed: readonly GpuBuild[],
): GpuBuild | undefined {
  return gpuBuilds[backend].find((build) => installed.includes(build) && !failed.includes(build));
}

/** The builds for a backend, the fastest first. `none` is the CPU alone. */
export const gpuBuilds: Readonly<Record<LoadOptions['backend'], readonly GpuBuild[]>> = {
  auto: ['cuda-built', 'cuda', 'cuda-ext', 'cuda-system', 'vulkan', 'metal', 'none'],
  cuda: ['cuda-built', 'cuda', 'cuda-ext', 'cuda-system'],
  vulkan: ['vulkan'],
  cpu: ['none'],
};

/** A CUDA library that came with the system, and the base library that it is used with. */
interface SystemCuda {
  readonly library: string;
  readonly base: string;
}

interface SystemFiles {
  readonly exists: (path: string) => boolean;
  readonly read: (path: string) => Buffer;
  readonly arch: string;
  readonly libraryPath: string;
}

const thisMachine = (): SystemFiles => ({
  exists: existsSync,
  read: (path) => readFileSync(path),
  arch: process.arch,
  libraryPath: process.env.LD_LIBRARY_PATH ?? '',
});

/**
 * The `libggml-cuda.so` of a llama.cpp that is installed on this system (Linux). Structures change between commits without a new
 * version, so it is used only if the base library next to it has the version and the commit of the engine packages; the worker
 * compares them again by calling that library. Calls `log` with the reason why a library is not used.
 */
export function systemCuda(
  log: (sentence: string) => void,
  { exists, read, arch, libraryPath }: SystemFiles = thisMachine(),
): SystemCuda | undefined {
  const folders = libraryFolders(arch, libraryPath);
  for (const folder of folders) {
    const library = join(folder, 'libggml-cuda.so');
    if (!exists(library)) continue;
    const near = [folder, dirname(folder), dirname(dirname(folder))];
    const base = near
      .flatMap((one) => ['libggml-base.so.0', 'libggml-base.so'].map((name) => join(one, name)))
      .find(exists);
    if (base !== undefined && hasIdentity(attempt(() => read(base), Buffer.of()))) return { library, base };
    const { ggml, commit } = engineSource;
    log(`${library} is not of the same llama.cpp as this engine, or does not say so (ggml ${ggml}, commit ${commit})`);
  }
  return undefined;
}

function libraryFolders(arch: string, libraryPath: string): readonly string[] {
  const triplet = arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  const roots = [`/usr/lib/${triplet}`, '/usr/lib64', '/usr/lib', '/usr/local/lib64', '/usr/local/lib'];
  const named = libraryPath.split(':').filter((folder) => folder.startsWith('/'));
  return [...named, ...roots.flatMap((root) => [root, join(root, 'ggml'), join(root, 'ggml/backends0')])];
}

/** Version and commit are zero-terminated strings in the library. */
function hasIdentity(bytes: Buffer): boolean {
  return [engineSource.ggml, engineSource.commit].every((text) => bytes.includes(`\0${text}\0`, 0, 'latin1'));
}
