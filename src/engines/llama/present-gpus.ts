import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { attempt } from '../../core/attempt.ts';
import { readText } from '../../core/read-text.ts';
import { type Pack, packs } from '../../packs/catalogue.ts';
import { gpuBuilds } from './gpu-builds.ts';
import type { GpuBuild } from './load-options.ts';

/** The files of this machine by which GPUs are detected: a few small reads, no process and no driver call. */
export interface GpuFiles {
  readonly platform: string;
  readonly list: (folder: string) => readonly string[];
  readonly read: (path: string) => string;
  readonly exists: (path: string) => boolean;
  readonly windowsFolder: string;
}

const ofThisMachine: GpuFiles = {
  platform: process.platform,
  list: (folder) => attempt(() => readdirSync(folder), []),
  read: readText,
  exists: existsSync,
  windowsFolder: process.env.SystemRoot ?? 'C:\\Windows',
};

/** GPUs whose NVIDIA driver is installed. Only Linux has their names in files. */
export function nvidiaGpus({ platform, list, read, exists, windowsFolder }: GpuFiles = ofThisMachine) {
  if (platform === 'win32') return exists(`${windowsFolder}\\System32\\nvml.dll`) ? ['NVIDIA card'] : [];
  if (platform !== 'linux') return [];
  const named = list('/proc/driver/nvidia/gpus').flatMap((name) => {
    const model = /^Model:\s*(.+)$/m.exec(read(join('/proc/driver/nvidia/gpus', name, 'information')))?.[1];
    return model ? [model.trim()] : [];
  });
  // In WSL the driver belongs to Windows.
  return named.length === 0 && exists('/usr/lib/wsl/lib/libcuda.so.1') ? ['NVIDIA card'] : named;
}

const vendors: Readonly<Record<string, string>> = { '0x10de': 'NVIDIA', '0x1002': 'AMD', '0x8086': 'Intel' };

/** The GPUs by name from the NVIDIA driver, or else by device number from the kernel. */
export function presentGpus(files: GpuFiles = ofThisMachine): readonly string[] {
  const { platform, list, read } = files;
  const nvidia = nvidiaGpus(files);
  const kernel = (platform === 'linux' ? list('/sys/class/drm') : [])
    .filter((name) => /^card\d+$/.test(name))
    .flatMap((name) => {
      const device = join('/sys/class/drm', name, 'device');
      const vendor = vendors[read(join(device, 'vendor')).trim()];
      return vendor ? [`${vendor} ${read(join(device, 'device')).trim()}`] : [];
    });
  return nvidia.length === 0 ? kernel : [...nvidia, ...kernel.filter((gpu) => !gpu.startsWith('NVIDIA'))];
}

/** There are packages for some systems only; on others a CUDA compiler can build it. */
export function howToGetCuda(canBuild: boolean, system: string, catalogue: readonly Pack[] = packs): string {
  const isPacked = catalogue.some(({ name, packages }) => name === 'cuda' && Object.hasOwn(packages, system));
  const ways = [...(isPacked ? ['parley pack add cuda'] : []), ...(canBuild ? ['parley pack build cuda'] : [])];
  return ways.join(', or ') || 'parley pack build cuda, which needs the CUDA toolkit of NVIDIA';
}

/** Why an NVIDIA GPU is not used, and how to get a CUDA build; undefined without such a GPU, or with a CUDA build. */
export function unusedGpu(gpus: readonly string[], installed: readonly GpuBuild[], howToGet: string) {
  const gpu = gpus.find((name) => /nvidia/i.test(name));
  if (gpu === undefined || installed.some((build) => gpuBuilds.cuda.includes(build))) return undefined;
  const reason = installed.includes('vulkan')
    ? 'Vulkan finds no card that it can use'
    : 'no installed build can use it';
  return { reason: `${gpu} is not used: ${reason}`, advice: `To use it: ${howToGet}` };
}
