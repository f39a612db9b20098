import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Probe } from '../core/probe.ts';
import type { EngineVersions } from '../core/product.ts';
import { gpuBuilds, packagesFor } from '../engines/llama/gpu-builds.ts';
import { packageFolder } from '../engines/package-folder.ts';

export type System = Pick<NodeJS.Process, 'platform' | 'arch'>;

/** The packages with the native code or program of an engine kind, also those of packs. */
export type EnginePackages = (system: System) => readonly string[];

/** A library that comes with the program, as `parley doctor` examines it; packs bring others. */
export interface EngineCheck {
  readonly name: string;
  readonly library: string;
  readonly probe: Probe;
  /** Any of them has the library. */
  readonly packages: EnginePackages;
  /** Whether Parley cannot serve without it. */
  readonly needed?: boolean;
}

/** A built-in model of a kind, which `parley doctor` checks. */
export interface BuiltInModel extends Pick<EngineCheck, 'name' | 'needed'> {
  readonly content: string;
  /** Paths, or names in the folder `weights`. */
  readonly files: readonly { readonly file: string; readonly sha256?: string }[];
}

export function llamaPackages({ platform, arch }: System): readonly string[] {
  return [...new Set(gpuBuilds.auto.flatMap((build) => packagesFor(build, platform, arch)))];
}

export function onnxPackage({ platform, arch }: System): string {
  return `sherpa-onnx-${platform === 'win32' ? 'win' : platform}-${arch}`;
}

export function whisperPackage({ platform, arch }: System, variant = ''): string {
  return `@fugood/node-whisper-${platform}-${arch}${variant}`;
}

/** Versions of the installed ones. A package that cannot be read is left out. */
export function installedVersions(
  packages: EnginePackages,
  versionOf: (name: string) => string | undefined = packageVersion,
  system: System = process,
): EngineVersions[string] {
  return Object.fromEntries(
    packages(system).flatMap((name) => {
      const version = versionOf(name);
      return version === undefined ? [] : [[name, version]];
    }),
  );
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
