import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder, wrongVersion } from '../package-folder.ts';
import type { GpuBuild, LoadOptions } from './load-options.ts';

/** The required version of the engine packages. */
export const engineVersion = '3.21.1';

/** The folder of the libraries of a build, and its GPU library if that is in another package. */
export interface BuildFiles {
  readonly folder: string;
  readonly gpuLibrary?: string;
}

export type InstalledBuilds = ReadonlyMap<GpuBuild, BuildFiles>;

/** The packages of a build, in the order of preference; every package can also run on the CPU alone. */
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

/** The installed builds. `tell` is called with a sentence for each package of another version, which is not used. */
export function installedBuilds(
  tell: (sentence: string) => void = () => undefined,
  installed: (name: string) => string | undefined = packageFolder,
  { platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process,
): InstalledBuilds {
  const found = new Map<GpuBuild, BuildFiles>();
  const told = new Set<string>();
  const find = (name: string): string | undefined => {
    const folder = installed(name);
    const reason = folder && wrongVersion(folder, name);
    if (!reason) return folder;
    if (!told.has(name)) tell(reason);
    told.add(name);
    return undefined;
  };
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

/** The CUDA library that was built with an older toolkit; it replaces that of the main package. */
function fallbackLibrary(packageFolderPath: string | undefined): string | undefined {
  const folder = binaries(packageFolderPath);
  if (folder === undefined) return undefined;
  return ['libggml-cuda.so', 'ggml-cuda.dll'].map((file) => join(folder, 'fallback', file)).find(existsSync);
}

/** The reason of a GPU failure in the last lines; the very last is often just "…/ggml-cuda.cu:108: CUDA error". */
export function gpuFailure(lines: readonly string[]): string | undefined {
  const said = lines.map((line) => /\b(?:CUDA|HIP|MUSA|Metal) error: (?<reason>.*\S)/.exec(line)?.groups?.reason);
  const unexplained = lines.findLast((line) => /\bggml-(cuda|vulkan|metal)\b.*(error|abort|assert)/i.test(line));
  return said.findLast((found) => found !== undefined) ?? vulkanReason(lines) ?? unexplained?.trim();
}

/** Vulkan prints `ggml_vulkan: … failed`, or the C++ runtime an uncaught `vk::…Error`. */
function vulkanReason(lines: readonly string[]): string | undefined {
  const thrown = lines.findLast((line) => /vk::\w*Error|ErrorDeviceLost|ErrorOutOfDeviceMemory/.test(line));
  const printed = lines.findLast((line) => /^ggml_vulkan: .*(error|failed|unable)/i.test(line));
  const text = thrown ?? printed;
  return text?.replace(/^(ggml_vulkan:|\s*what\(\):)\s*/, '').trim();
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
  auto: ['cuda', 'cuda-ext', 'vulkan', 'metal', 'none'],
  cuda: ['cuda', 'cuda-ext'],
  vulkan: ['vulkan'],
  cpu: ['none'],
};

const title: Readonly<Record<GpuBuild, string>> = {
  cuda: 'CUDA',
  'cuda-ext': 'CUDA 12 (cuda-ext)',
  vulkan: 'Vulkan',
  metal: 'Metal',
  none: 'the CPU',
};

/** More CPU builds than any package has: more illegal instructions than this have another cause. */
const maximumVariants = 24;

/** Options with the next lower CPU build after an illegal instruction; undefined after another exit. */
export function withLowerCpuBuild<Options extends Pick<LoadOptions, 'skipCpuVariants'>>(
  { signal }: { readonly signal: string | null },
  options: Options,
): Options | undefined {
  const skipCpuVariants = options.skipCpuVariants + 1;
  return signal === 'SIGILL' && skipCpuVariants <= maximumVariants ? { ...options, skipCpuVariants } : undefined;
}

/** A sentence for the console if a build cannot be used and another one can. */
export function fallBackNote(failed: GpuBuild, reason: string, next: GpuBuild): string {
  return `${title[failed]} cannot be used here (${reason}); going on with ${title[next]}. ${whatToTry(failed, [next])}`;
}

/** The end of a sentence that begins with the model's name. */
export function failedForGood(failed: GpuBuild, reason: string, installed: readonly GpuBuild[]): string {
  const tried = installed.filter((build) => build === 'cuda-ext');
  return `${title[failed]} cannot be used here: ${reason}. ${whatToTry(failed, tried)}`;
}

const cudaExt =
  '@node-llama-cpp/linux-x64-cuda-ext (made with CUDA 12, needs the libraries of CUDA 12 on this machine)';

function whatToTry(failed: GpuBuild, tried: readonly GpuBuild[]): string {
  if (failed !== 'cuda' && failed !== 'cuda-ext') {
    return 'A newer graphics driver may help; --usecpu uses the processor alone.';
  }
  const tries = [
    'a newer NVIDIA driver',
    ...(failed === 'cuda' && !tried.includes('cuda-ext') ? [`the package ${cudaExt}`] : []),
    ...(tried.includes('vulkan') ? [] : ['--usevulkan']),
    ...(tried.includes('none') ? [] : ['--usecpu']),
  ];
  return `What may help: ${tries.join(', or ')}.`;
}

/** The line of standard error that best explains a failed load, as the end of a sentence. */
export function loadReason(lines: readonly string[], fallback: string): string {
  const failure = gpuFailure(lines);
  if (failure !== undefined) return failure;
  const telling = lines.filter((line) =>
    /error|failed|invalid|unknown|unsupported|unable|not enough|out of memory/i.test(line),
  );
  const best =
    telling.find((line) => /error loading model|unable to allocate|out of memory/i.test(line)) ?? telling.at(-1);
  return best === undefined ? fallback : best.replace(/^\s*(\w+:\s*)+(error loading model:\s*)?(?=\S)/, '').trim();
}
