import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { attempt } from '../core/attempt.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The programs that compile the CUDA library; undefined for one that is missing. */
export type Tools = ReturnType<typeof findTools>;

export function findTools(environment: Environment) {
  const find = (...names: readonly string[]) => names.map((name) => onPath(name, environment)).find(Boolean);
  const named = environment.CXX;
  return {
    nvcc: findNvcc(environment),
    cmake: find('cmake'),
    compiler: (named && find(named)) || find('c++', 'g++', 'clang++'),
    ninja: find('ninja', 'ninja-build'),
    make: find('make'),
    git: find('git'),
  };
}

/** On the PATH, or else in the usual folders of the CUDA toolkit, the latest version first. */
export function findNvcc(environment: Environment, root = '/usr/local'): string | undefined {
  const homes = [environment.CUDA_HOME, environment.CUDA_PATH].filter((home) => home !== undefined && home !== '');
  const toolkits = attempt(() => readdirSync(root), [])
    .filter((name) => /^cuda(-\d[\d.]*)?$/.test(name))
    .sort(laterFirst)
    .map((name) => join(root, name));
  const inFolders = [...homes, ...toolkits].map((home) => join(home as string, 'bin', 'nvcc')).find(existsSync);
  return onPath('nvcc', environment) ?? inFolders;
}

/** By the numbers in the names: `cuda-12.10` is later than `cuda-12.4`. */
function laterFirst(a: string, b: string): number {
  const [left, right] = [a, b].map((name) => (name.match(/\d+/g) ?? []).map(Number)) as [number[], number[]];
  const differs = left.findIndex((number, index) => number !== right[index]);
  return differs === -1 ? right.length - left.length : (right[differs] ?? -1) - (left[differs] as number);
}

/** Whether a CUDA library can be compiled on this machine. */
export function hasCudaCompiler(): boolean {
  return process.platform === 'linux' && findNvcc(process.env) !== undefined;
}

function onPath(name: string, { PATH = '' }: Environment): string | undefined {
  if (name.includes('/')) return existsSync(name) ? resolve(name) : undefined;
  return PATH.split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(existsSync);
}

export type Toolkit = Awaited<ReturnType<typeof readToolkit>>;

/** A program of the person may be a script that starts another, so the compiler is asked where its toolkit is. */
export async function readToolkit(nvcc: string, environment: Environment) {
  const versionText = await output(nvcc, ['--version'], environment);
  const version = /\bV(\d+(?:\.\d+)+)/.exec(versionText)?.[1] ?? /release (\d+\.\d+)/.exec(versionText)?.[1];
  if (version === undefined) throw new Error(`${nvcc} does not say its version`);
  const dry = await output(nvcc, ['--dryrun', '-x', 'cu', '-c', '/dev/null', '-o', '/dev/null'], environment);
  const top = /^#\$ TOP=(.+)$/m.exec(dry)?.[1];
  const root = resolve(top ?? dirname(dirname(nvcc)));
  const own = join(root, 'bin', 'nvcc');
  return { nvcc: existsSync(own) ? own : nvcc, root, version, libraries: libraryFolder(root) };
}

/** Undefined without cuBLAS. */
function libraryFolder(root: string): string | undefined {
  const targets = join(root, 'targets');
  const folders = [
    join(root, 'lib64'),
    ...attempt(() => readdirSync(targets), []).map((target) => join(targets, target, 'lib')),
    join(root, 'lib'),
    join(root, 'lib', process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu'),
  ];
  return folders.find((folder) => existsSync(join(folder, 'libcublas.so')));
}

/** The libraries that the compiled one needs, in the order in which they are loaded. */
export function runtimeLibraries(folder: string, version: string): readonly string[] {
  const major = version.split('.')[0];
  return ['libcudart', 'libcublasLt', 'libcublas']
    .map((name) => join(folder, `${name}.so.${major}`))
    .filter(existsSync);
}

/** Compute capabilities of the GPUs of this machine as architectures (`9.0` is `90`), without repetitions. */
export async function gpuArchitectures(environment: Environment): Promise<readonly string[]> {
  const program = onPath('nvidia-smi', environment);
  if (program === undefined) return [];
  const text = await output(program, ['--query-gpu=compute_cap', '--format=csv,noheader'], environment);
  const found = [...text.matchAll(/^\s*(\d+)\.(\d+)\s*$/gm)].map(([, major, minor]) => `${major}${minor}`);
  return [...new Set(found)];
}

const timeoutMs = 60_000;

/** What a program writes, also if it fails: nvcc writes to standard error. */
async function output(program: string, args: readonly string[], environment: Environment): Promise<string> {
  const options = { env: environment as NodeJS.ProcessEnv, timeout: timeoutMs };
  const { stdout, stderr } = await promisify(execFile)(program, args, options).catch(
    (error: Error & { readonly stdout?: string; readonly stderr?: string }) => {
      if (error.stdout === undefined) throw error;
      return { stdout: error.stdout, stderr: error.stderr ?? '' };
    },
  );
  return `${stdout}\n${stderr}`;
}
