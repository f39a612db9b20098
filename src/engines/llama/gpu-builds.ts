import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from '../package-folder.ts';
import type { GpuBuild } from './load-options.ts';

/** The version of the engine packages that this program was made for. */
export const engineVersion = '3.21.1';

/** Where the libraries of a build lie, and where its GPU library does if that comes in a package of its own. */
export interface BuildFiles {
  readonly folder: string;
  readonly gpuLibrary?: string;
}

export type InstalledBuilds = ReadonlyMap<GpuBuild, BuildFiles>;

/** The packages that hold a build, in the order of preference: every package can also compute on the processor alone. */
const endings: Readonly<Record<GpuBuild, readonly string[]>> = {
  cuda: ['-cuda'],
  'cuda-ext': ['-cuda'],
  vulkan: ['-vulkan'],
  metal: ['-metal'],
  none: ['', '-vulkan', '-metal', '-cuda'],
};

export function packagesFor(build: GpuBuild, platform: string, arch: string): string[] {
  const system = { linux: 'linux', win32: 'win', darwin: 'mac' }[platform] ?? platform;
  return endings[build].map((ending) => `@node-llama-cpp/${system}-${arch}${ending}`);
}

/** What is installed beside this program; `find` gives the folder of a package. */
export function installedBuilds(
  find: (name: string) => string | undefined = packageFolder,
  { platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process,
): InstalledBuilds {
  const found = new Map<GpuBuild, BuildFiles>();
  for (const build of Object.keys(endings) as GpuBuild[]) {
    for (const name of packagesFor(build, platform, arch)) {
      const folder = binaries(find(name));
      const gpuLibrary = build === 'cuda-ext' ? fallbackLibrary(find(`${name}-ext`)) : undefined;
      if (!folder || found.has(build) || (build === 'cuda-ext' && !gpuLibrary)) continue;
      found.set(build, { folder, ...(gpuLibrary && { gpuLibrary }) });
    }
  }
  return found;
}

/** A package has one folder under `bins`, named for its system. */
function binaries(packageFolderPath: string | undefined): string | undefined {
  if (packageFolderPath === undefined) return undefined;
  const bins = join(packageFolderPath, 'bins');
  const [folder] = existsSync(bins) ? readdirSync(bins) : [];
  return folder === undefined ? undefined : join(bins, folder);
}

/** The CUDA library that was made with an older toolkit: it replaces the one of the package that it extends. */
function fallbackLibrary(packageFolderPath: string | undefined): string | undefined {
  const folder = binaries(packageFolderPath);
  if (folder === undefined) return undefined;
  return ['libggml-cuda.so', 'ggml-cuda.dll'].map((file) => join(folder, 'fallback', file)).find(existsSync);
}
