import koffi from 'koffi';
import { runsOn } from '../../../../packs/built.ts';
import { engineSource } from '../../../../packs/catalogue.ts';

/** A GPU build cannot be used on this machine. The host reads the reason on standard error, as that of the library. */
export class GpuBuildError extends Error {
  override readonly name = 'GpuBuildError';

  constructor(
    reason: string,
    /** Whether the library has already printed the reason. */
    readonly isPrinted = false,
  ) {
    super(reason);
  }
}

/** Makes the libraries of the toolkit known by their names, wherever they are: the CUDA library asks for them by name. */
export function preload(libraries: readonly string[], load: (path: string) => unknown = koffi.load): void {
  for (const path of libraries) {
    try {
      load(path);
    } catch (error) {
      throw new GpuBuildError(`${path} cannot be loaded: ${loaderReason(error)}`);
    }
  }
}

/** Why the system cannot load a library. */
export function whyNotLoaded(path: string): string {
  try {
    koffi.load(path);
    return `${path} is no backend of this engine`;
  } catch (error) {
    const reason = loaderReason(error);
    // The reason names another library that is missing, but not this one.
    return /\.(so|dll|dylib)\b/.test(reason) ? reason : `${path}: ${reason}`;
  }
}

function loaderReason(error: unknown): string {
  return (error as Error).message.replace(/^Failed to load shared library: /, '').trim();
}

/** Throws unless a base library of the system is of the ggml of the engine packages. Afterwards it is the one that is used. */
export function checkSystemBase(path: string): void {
  const library = koffi.load(path);
  const ask = (name: string) => (library.func(`const char *${name}(void)`) as unknown as () => string)();
  const [version, commit] = [ask('ggml_version'), ask('ggml_commit')];
  if (version === engineSource.ggml && commit === engineSource.commit) return;
  throw new GpuBuildError(
    `${path} is of ggml ${version}, commit ${commit}; the engine is of ${engineSource.ggml}, commit ${engineSource.commit}`,
  );
}

/** Throws unless the code was compiled for a GPU of this machine. If the driver does not report any, the code is tried. */
export function checkArchitectures(
  architectures: readonly string[],
  capabilities: readonly string[] | undefined = gpuCapabilities(),
): void {
  if (!capabilities || capabilities.length === 0) return;
  if (capabilities.some((capability) => runsOn(architectures, capability))) return;
  throw new GpuBuildError(
    `it was compiled for ${architectures.join(', ')}, and the card is of compute capability ${capabilities.join(', ')}; parley pack build cuda compiles it again`,
  );
}

const majorAttribute = 75;
const minorAttribute = 76;

/** Compute capabilities of all GPUs, as the NVIDIA driver reports them; undefined without a driver. */
function gpuCapabilities(): readonly string[] | undefined {
  try {
    const driver = koffi.load(process.platform === 'win32' ? 'nvcuda.dll' : 'libcuda.so.1');
    const count = driver.func('int cuDeviceGetCount(_Out_ int *count)') as unknown as (count: number[]) => number;
    const attribute = driver.func(
      'int cuDeviceGetAttribute(_Out_ int *value, int attribute, int device)',
    ) as unknown as (value: number[], attribute: number, device: number) => number;
    const start = driver.func('int cuInit(uint32_t flags)') as unknown as (flags: number) => number;
    const gpuCount = [0];
    if (start(0) !== 0 || count(gpuCount) !== 0) return undefined;
    return Array.from({ length: gpuCount[0] ?? 0 }, (_, device) => {
      const [major, minor] = [[0], [0]];
      attribute(major as number[], majorAttribute, device);
      attribute(minor as number[], minorAttribute, device);
      return `${major?.[0]}.${minor?.[0]}`;
    });
  } catch {
    return undefined;
  }
}
