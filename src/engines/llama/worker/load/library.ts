import {
  type BuildFiles,
  engineVersion,
  type InstalledBuilds,
  installedBuilds,
  packagesFor,
} from '../../gpu-builds.ts';
import { gpuBuilds, nextGpuBuild } from '../../gpu-failure.ts';
import type { GpuBuild, LoadOptions } from '../../load-options.ts';
import { mediaLibraryFolder } from '../media/media-library.ts';
import { type Native, openFabric, openLibraries, variantName } from '../native/native.ts';
import type { NativeMedia } from '../native/native-media.ts';

export interface Engine {
  readonly native: Native;
  /** Only with a projector: it needs another library, which then does everything. */
  readonly media: NativeMedia | undefined;
  readonly cpuVariant: string;
}

type EngineOptions = Pick<
  LoadOptions,
  'backend' | 'cpuLevel' | 'cpuBuild' | 'skipCpuVariants' | 'failedGpuBuilds' | 'projector'
>;

/** Loads the library and its backends. The CPU build is chosen here and not by the library; see `cpuBuilds`. */
export function openEngine(options: EngineOptions): Engine {
  const { build, files } = options.projector ? mediaBuild(options) : chosenBuild(options, installedBuilds());
  const { native, media } = files
    ? { native: openLibraries(files.folder), media: undefined }
    : openFabric(mediaLibraryFolder(process.env));
  const paths = native.cpuVariants();
  const names = cpuBuilds(paths.map(variantName), options);
  const name = names[Math.min(options.skipCpuVariants, names.length - 1)];
  const variant = paths.find((path) => variantName(path) === name);
  if (variant) {
    native.backendLoad(variant);
    if (build !== 'none') gpuLibraries(native, files).map(native.backendLoad);
  } else {
    native.backendLoadAll(native.folder);
  }
  native.backendInit();
  return { native, media, cpuVariant: name ?? 'builtin' };
}

/** The package for pictures and sound has one GPU library, and is found by itself. */
function mediaBuild({ backend, failedGpuBuilds }: EngineOptions): { build: GpuBuild; files: undefined } {
  const processorOnly = backend === 'cpu' || failedGpuBuilds.includes('vulkan');
  return { build: processorOnly ? 'none' : 'vulkan', files: undefined };
}

/** The best build that is installed and has not failed. */
export function chosenBuild(
  { backend, failedGpuBuilds }: Pick<LoadOptions, 'backend' | 'failedGpuBuilds'>,
  installed: InstalledBuilds,
): { readonly build: GpuBuild; readonly files: BuildFiles } {
  const build = nextGpuBuild(backend, [...installed.keys()], failedGpuBuilds);
  const files = build && installed.get(build);
  if (build && files) return { build, files };
  const wanted = gpuBuilds(backend).flatMap((one) => packagesFor(one, process.platform, process.arch));
  const names = [...new Set(wanted)];
  const best = backend === 'auto' ? packagesFor('none', process.platform, process.arch)[0] : names[0];
  const how = backend === 'cuda' ? 'parley pack add cuda' : `npm install ${best}@${engineVersion}`;
  throw new Error(
    `none of the engine packages for this system is installed (${names.join(', ')}). Install one with: ${how}`,
  );
}

function gpuLibraries(native: Native, files: BuildFiles | undefined): readonly string[] {
  if (files?.gpuLibrary) return [files.gpuLibrary];
  return native.backendFiles(/^(lib)?(qvac-)?ggml-(vulkan|cuda|metal)\.(so|dll|dylib)$/);
}

const withoutAvx = ['sse42', 'x64'];
const withoutAvx2 = ['sandybridge', 'ivybridge', 'piledriver', ...withoutAvx];

/**
 * The CPU builds to try, best first, of those that this processor says it can run. Some virtual machines advertise
 * instructions (AMX above all) that kill the process when used; whoever starts us passes over the builds that died.
 */
export function cpuBuilds(
  runnable: readonly string[],
  { cpuLevel, cpuBuild }: Pick<LoadOptions, 'cpuLevel' | 'cpuBuild'>,
): readonly string[] {
  if (cpuBuild !== undefined) {
    const place = runnable.indexOf(cpuBuild);
    if (place === -1) {
      const names = runnable.length > 0 ? `one of ${runnable.join(', ')}` : 'none: there is one build only';
      throw new Error(`this machine has no CPU build "${cpuBuild}" (--cpubuild takes ${names})`);
    }
    return runnable.slice(place);
  }
  if (cpuLevel === 'no-avx') return runnable.filter((build) => withoutAvx.includes(build));
  if (cpuLevel === 'no-avx2') return runnable.filter((build) => withoutAvx2.includes(build));
  return runnable;
}
