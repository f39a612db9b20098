import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkVersion, versionKey } from '../core/file-version.ts';
import { isObject, tryParseJson } from '../core/json.ts';
import { cudaSource, type Pack, type PackPackage, packageFolder } from './catalogue.ts';

/** Made on this machine by `parley pack build cuda`; it has the form of an installed package. */
export const builtPackage: PackPackage = {
  name: '@parley/cuda-built',
  version: cudaSource.version,
  integrity: '',
  megabytes: 0,
};

export const cudaBuilt: Pack = {
  name: 'cuda-built',
  brings: 'Text on NVIDIA cards through CUDA, compiled on this machine for its cards.',
  licence: 'MIT',
  packages: { 'linux-x64': [builtPackage], 'linux-arm64': [builtPackage] },
};

/** The facts about a compiled library, in the `package.json` next to it. */
interface BuiltFacts {
  /** Version of the source, which is that of the engine packages. */
  readonly version: string;
  /** `linux-x64` */
  readonly system: string;
  /** Version of the CUDA toolkit. */
  readonly toolkit: string;
  /** As CMake names them: `90`, `120`. */
  readonly architectures: readonly string[];
  /** Libraries of the toolkit that it needs, in the order in which they are loaded. */
  readonly libraries: readonly string[];
}

export interface BuiltLibrary extends BuiltFacts {
  readonly library: string;
}

export const libraryName = 'libggml-cuda.so';

export function factsFile(facts: BuiltFacts): string {
  return `${JSON.stringify({ [versionKey]: 1, name: builtPackage.name, ...facts }, null, 1)}\n`;
}

/** The compiled library of a packs folder; undefined if there is none that this version of Parley can read. */
export function builtLibrary(packsFolder: string): BuiltLibrary | undefined {
  const folder = packageFolder(packsFolder, builtPackage.name);
  const library = join(folder, libraryName);
  const path = join(folder, 'package.json');
  if (!existsSync(library) || !existsSync(path)) return undefined;
  const facts = readFacts(readFileSync(path, 'utf8'));
  return facts && { ...facts, library };
}

/** Undefined for what this version of Parley cannot read. */
export function readFacts(text: string): BuiltFacts | undefined {
  const facts = tryParseJson(text);
  if (!isObject(facts)) return undefined;
  try {
    checkVersion(facts);
  } catch {
    return undefined;
  }
  const { version, system, toolkit, architectures, libraries } = facts;
  const lists = [architectures, libraries].every((list) => Array.isArray(list) && list.every(isText));
  if (!isText(version) || !isText(system) || !isText(toolkit) || !lists) return undefined;
  return facts as unknown as BuiltFacts;
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** Why a compiled library is not used on this system; undefined if it is. */
export function builtProblem(
  { version, system }: Pick<BuiltFacts, 'version' | 'system'>,
  needed: Pick<BuiltFacts, 'version' | 'system'>,
): string | undefined {
  const again = 'Run: parley pack build cuda';
  if (version !== needed.version) {
    return `the compiled CUDA library is for another version of the engine (${version}, not ${needed.version}). ${again}`;
  }
  if (system !== needed.system)
    return `the compiled CUDA library is for another system (${system}, not ${needed.system}). ${again}`;
  return undefined;
}

/**
 * Whether code for these architectures runs on a GPU of this compute capability (`9.0`). Machine code runs on GPUs of the same
 * major version and the same or a later minor one, and with a letter on that GPU only; other code is compiled by the driver, for
 * later GPUs only.
 */
export function runsOn(architectures: readonly string[], capability: string): boolean {
  const [major = 0, minor = 0] = capability.split('.').map(Number);
  return architectures.some((architecture) => {
    const found = /^(?<number>\d+)(?<letter>[af]?)(?<only>-real|-virtual)?$/.exec(architecture)?.groups;
    if (!found) return false;
    const number = Number(found.number);
    const [ownMajor, ownMinor] = [Math.floor(number / 10), number % 10];
    if (found.letter) return ownMajor === major && ownMinor === minor;
    if (found.only !== '-virtual' && ownMajor === major && ownMinor <= minor) return true;
    return found.only !== '-real' && number <= major * 10 + minor;
  });
}
