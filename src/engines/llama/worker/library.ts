import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { LoadOptions } from '../load-options.ts';
import { cpuBuilds } from './cpu-builds.ts';
import { mediaLibraryFolder } from './media-library.ts';
import { type Native, openFabric, openLibraries, variantName } from './native.ts';
import type { NativeMedia } from './native-media.ts';

/** The packages that can serve a backend on this system, in the order of preference. */
export function packagesFor(backend: LoadOptions['backend'], platform: string, arch: string): string[] {
  const system = { linux: 'linux', win32: 'win', darwin: 'mac' }[platform] ?? platform;
  const plain = `${system}-${arch}`;
  const suffixes = {
    auto: ['-cuda', '-vulkan', '-metal', ''],
    cpu: ['', '-vulkan', '-cuda', '-metal'],
    vulkan: ['-vulkan'],
    cuda: ['-cuda'],
  }[backend];
  return suffixes.map((suffix) => `@node-llama-cpp/${plain}${suffix}`);
}

export function libraryFolder(backend: LoadOptions['backend']): string {
  const packages = packagesFor(backend, process.platform, process.arch);
  const resolve = createRequire(import.meta.url).resolve;
  for (const name of packages) {
    try {
      const bins = join(dirname(resolve(name)), '..', 'bins');
      const [folder] = readdirSync(bins);
      if (folder) return join(bins, folder);
    } catch {
      // Not installed: the next one may be.
    }
  }
  throw new Error(
    `none of the engine packages for this system is installed (${packages.join(', ')}). Install one with: npm install ${packages.at(-1)}@3.21.1`,
  );
}

export interface Engine {
  readonly native: Native;
  /** Only with a projector: it needs another library, which then does everything. */
  readonly media: NativeMedia | undefined;
  readonly cpuVariant: string;
}

type EngineOptions = Pick<LoadOptions, 'backend' | 'cpuLevel' | 'cpuBuild' | 'skipCpuVariants' | 'projector'>;

/** Loads the library and its backends. The CPU build is chosen here and not by the library; see `cpuBuilds`. */
export function openEngine(options: EngineOptions): Engine {
  const { native, media } = options.projector
    ? openFabric(mediaLibraryFolder(process.env))
    : { native: openLibraries(libraryFolder(options.backend)), media: undefined };
  const paths = native.cpuVariants();
  const builds = cpuBuilds(paths.map(variantName), options);
  const build = builds[Math.min(options.skipCpuVariants, builds.length - 1)];
  const variant = paths.find((path) => variantName(path) === build);
  if (variant) {
    native.backendLoad(variant);
    if (options.backend !== 'cpu')
      native.backendFiles(/^(lib)?(qvac-)?ggml-(vulkan|cuda|metal)\.(so|dll|dylib)$/).map(native.backendLoad);
  } else {
    native.backendLoadAll(native.folder);
  }
  native.backendInit();
  return { native, media, cpuVariant: build ?? 'builtin' };
}
