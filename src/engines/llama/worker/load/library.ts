import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemOf } from '../../../../packs/catalogue.ts';
import { hasCudaCompiler } from '../../../../packs/toolkit.ts';
import type { Watch } from '../../../host/heartbeat.ts';
import { mediaPackage, packageFolder, packageFolders, packageProblem } from '../../../package-folder.ts';
import {
  type BuildFiles,
  engineVersion,
  gpuBuilds,
  type InstalledBuilds,
  installedBuilds,
  nextGpuBuild,
  packagesFor,
} from '../../gpu-builds.ts';
import type { GpuBuild, LoadOptions } from '../../load-options.ts';
import { howToGetCuda } from '../../present-gpus.ts';
import { checkArchitectures, checkSystemBase, GpuBuildError, preload, whyNotLoaded } from '../native/cuda-libraries.ts';
import { type Native, type NativeMedia, openFabric, openLibraries, variantName } from '../native/native.ts';
import { allGpus } from '../native/weights.ts';

export interface Engine {
  readonly native: Native;
  /** Only with a projector, which needs another library for everything. */
  readonly media: NativeMedia | undefined;
  readonly cpuVariant: string;
}

type EngineOptions = Pick<
  LoadOptions,
  'backend' | 'cpuLevel' | 'cpuBuild' | 'skipCpuVariants' | 'failedGpuBuilds' | 'projector'
>;

/** Loads the library and its backends. The CPU build is chosen here and not by the library; see `cpuBuilds`. */
export function openEngine(options: EngineOptions): Engine {
  const outdated: string[] = [];
  const installed = () => installedBuilds((sentence) => outdated.push(sentence));
  const { build, files } = options.projector ? mediaBuild(options) : chosenBuild(options, installed(), outdated);
  const { native, media } = files
    ? { native: openLibraries(files.folder), media: undefined }
    : openFabric(mediaLibraryFolder());
  const paths = native.cpuVariants();
  const names = cpuBuilds(paths.map(variantName), options);
  const name = names[Math.min(options.skipCpuVariants, names.length - 1)];
  const variant = paths.find((path) => variantName(path) === name);
  if (variant) {
    native.backendLoad(variant);
    if (build !== 'none') openGpuAndReport(native, build, files);
  } else {
    native.backendLoadAll(native.folder);
  }
  native.backendInit();
  return { native, media, cpuVariant: name ?? 'builtin' };
}

function openGpuAndReport(native: Native, build: GpuBuild, files: BuildFiles | undefined): void {
  try {
    openGpu(native, build, files);
  } catch (error) {
    if (error instanceof GpuBuildError && !error.isPrinted) process.stderr.write(`CUDA error: ${error.message}\n`);
    throw error;
  }
}

/** Throws `GpuBuildError` for a CUDA build that cannot be used. Vulkan is part of the default packages, so its absence is no error. */
function openGpu(native: Native, build: GpuBuild, files: BuildFiles | undefined): void {
  if (files?.built) {
    checkArchitectures(files.built.architectures);
    preload(files.built.libraries);
  }
  if (files?.systemBase) checkSystemBase(files.systemBase);
  const libraries = gpuLibraries(native, files);
  const loaded = libraries.filter((path) => native.backendLoad(path) !== null);
  if (!build.startsWith('cuda')) return;
  if (loaded.length === 0) throw new GpuBuildError(libraries.map(whyNotLoaded).join('; ') || 'it has no CUDA library');
  if (allGpus(native).length === 0) throw new GpuBuildError('no NVIDIA card is found', true);
}

/** The package for images and audio has one GPU library. */
function mediaBuild({ backend, failedGpuBuilds }: EngineOptions): { build: GpuBuild; files: undefined } {
  const processorOnly = backend === 'cpu' || failedGpuBuilds.includes('vulkan');
  return { build: processorOnly ? 'none' : 'vulkan', files: undefined };
}

/** The best build that is installed and has not failed. Without one, throws a sentence with what to do. */
export function chosenBuild(
  { backend, failedGpuBuilds }: Pick<LoadOptions, 'backend' | 'failedGpuBuilds'>,
  installed: InstalledBuilds,
  outdated: readonly string[] = [],
  canBuild = hasCudaCompiler,
): { readonly build: GpuBuild; readonly files: BuildFiles } {
  const build = nextGpuBuild(backend, [...installed.keys()], failedGpuBuilds);
  const files = build && installed.get(build);
  if (build && files) return { build, files };
  if (outdated[0] !== undefined && backend === 'cuda') throw new Error(outdated[0]);
  const packages = gpuBuilds[backend].flatMap((one) => packagesFor(one, process.platform, process.arch));
  const names = [...new Set(packages)];
  const best = backend === 'auto' ? packagesFor('none', process.platform, process.arch)[0] : names[0];
  const how = backend === 'cuda' ? howToGetCuda(canBuild(), systemOf(process)) : `npm install ${best}@${engineVersion}`;
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

/** The CPU builds to try, best first. Some virtual machines advertise instructions that kill one: the host skips it. */
export function cpuBuilds(
  runnable: readonly string[],
  { cpuLevel, cpuBuild }: Pick<LoadOptions, 'cpuLevel' | 'cpuBuild'>,
): readonly string[] {
  if (cpuBuild !== undefined) {
    const index = runnable.indexOf(cpuBuild);
    if (index === -1) {
      const names = runnable.length > 0 ? `one of ${runnable.join(', ')}` : 'none: there is one build only';
      throw new Error(`this machine has no CPU build "${cpuBuild}" (--cpubuild takes ${names})`);
    }
    return runnable.slice(index);
  }
  if (cpuLevel === 'no-avx') return runnable.filter((build) => withoutAvx.includes(build));
  if (cpuLevel === 'no-avx2') return runnable.filter((build) => withoutAvx2.includes(build));
  return runnable;
}

/** The package for images and audio is large and not a dependency: it is installed separately, or as a pack. */
export function mediaLibraryFolder(folders: readonly string[] = packageFolders(mediaPackage)): string {
  const folder = packageFolder(mediaPackage, folders);
  if (folder === undefined) {
    throw new Error(
      `pictures and sound (--mmproj) need the package ${mediaPackage}; fetch it with: parley pack add vision`,
    );
  }
  const reason = packageProblem(folder, mediaPackage);
  if (reason !== undefined) throw new Error(`pictures and sound (--mmproj) cannot be used: ${reason}`);
  const libraries = join(folder, 'prebuilds', `${process.platform}-${process.arch}`);
  if (!existsSync(libraries)) {
    throw new Error(`${mediaPackage} has no library for this system (${process.platform}-${process.arch})`);
  }
  return libraries;
}

/** Watchdog limits for copying a state and for encoding a medium. */
const boundsMs = { state: 60_000, medium: 600_000 };

/** The engine with a watchdog for each call that may take long. */
export function watchedEngine(engine: Engine, watch: Watch, now: () => number): Engine {
  const { native, media } = engine;
  const pace = new StepPace();
  const paced =
    (step: typeof native.decode): typeof native.decode =>
    async (context, batch) => {
      const rows = batch.n_tokens;
      const startedAt = now();
      const result = await watch.aside(pace.boundMs(rows), () => step(context, batch));
      pace.took(rows, now() - startedAt);
      return result;
    };
  return {
    ...engine,
    native: {
      ...native,
      decodeNow: (context, batch) => {
        const startedAt = now();
        const result = watch.here(pace.boundMs(batch.n_tokens), () => native.decodeNow(context, batch));
        pace.took(batch.n_tokens, now() - startedAt);
        return result;
      },
      decode: paced(native.decode),
      encode: paced(native.encode),
      stateGet: (...state) => watch.here(boundsMs.state, () => native.stateGet(...state)),
      stateSet: (...state) => watch.here(boundsMs.state, () => native.stateSet(...state)),
    },
    media: media && {
      ...media,
      encode: (...chunk) => watch.aside(boundsMs.medium, () => media.encode(...chunk)),
      decode: (...chunk) => watch.aside(boundsMs.medium, () => media.decode(...chunk)),
    },
  };
}

/** The minimum bound: other programs may delay any step by seconds. */
const minBoundMs = 8000;
/** A step this many times slower than the slowest recent one hangs. */
const tolerance = 10;
/** A single slow step is forgotten after some hundred others. */
const decay = 0.99;

/** How long a step may take before it counts as hanging, learned from earlier steps: models take from milliseconds to minutes per token. */
export class StepPace {
  #slowestRowMs = 0;

  boundMs(rows: number): number {
    return Math.max(minBoundMs, tolerance * rows * this.#slowestRowMs);
  }

  took(rows: number, milliseconds: number): void {
    this.#slowestRowMs = Math.max(this.#slowestRowMs * decay, milliseconds / Math.max(1, rows));
  }
}
