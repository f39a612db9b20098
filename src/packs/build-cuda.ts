import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, createWriteStream, existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type DownloadDeps, download, readIntegrity } from '../library/download.ts';
import { fileHash } from '../library/file-hash.ts';
import { readArchive } from '../library/tar.ts';
import { builtPackage, factsFile, libraryName } from './built.ts';
import { cudaSource, engineSource } from './catalogue.ts';
import { type InstallDeps, placePackage, stageFolder } from './install.ts';
import {
  type Environment,
  findTools,
  gpuArchitectures,
  readToolkit,
  runtimeLibraries,
  type Toolkit,
  type Tools,
} from './toolkit.ts';

export interface BuildDeps extends DownloadDeps, Pick<InstallDeps, 'findPackage'> {
  /** Where packs are installed. */
  readonly folder: string;
  /** `linux-x64` */
  readonly system: string;
  readonly environment: Environment;
  /** The package of the source as a file, or a folder with the source; without it, it is downloaded. */
  readonly source: string | undefined;
  /** As CMake names them; without them, those of the GPUs. */
  readonly architectures: readonly string[];
  /** How many files are compiled at once. */
  readonly jobs: number;
  /** Called before the first file is compiled. */
  readonly started: (plan: BuildPlan) => void;
  readonly compiled: (done: number, total: number) => void;
}

interface BuildPlan {
  readonly toolkit: string;
  readonly architectures: readonly string[];
  readonly jobs: number;
}

/**
 * Compiles the CUDA library of the engine from its own source, and installs it as a package. What is compiled stays in the work
 * folder until it is installed, so that the same command continues after an interruption.
 */
export async function buildCuda(deps: BuildDeps): Promise<BuildPlan> {
  const { folder, environment, jobs, signal } = deps;
  const tools = findTools(environment);
  const named = deps.source === undefined ? undefined : resolve(deps.source);
  const isFolder = named !== undefined && (await stat(named).catch(() => undefined))?.isDirectory() === true;
  checkTools(tools, isFolder);
  const toolkit = await readToolkit(tools.nvcc as string, environment);
  if (toolkit.libraries === undefined) {
    throw new Error(
      `the CUDA toolkit in ${toolkit.root} has no cuBLAS for linking (libcublas.so). Install its development files, such as libcublas-dev`,
    );
  }
  const architectures =
    deps.architectures.length > 0 ? deps.architectures : await gpuArchitectures(environment).catch(() => []);
  if (architectures.length === 0) {
    throw new Error(
      'nvidia-smi names no card. Name the compute capability of the card without its point, such as --arch 90 for 9.0',
    );
  }
  const work = workFolder(folder);
  await mkdir(work, { recursive: true });
  const source = isFolder ? named : await unpackedSource(work, named, tools.git as string, deps);
  const problem = await sourceProblem(source);
  if (problem !== undefined) throw new Error(problem);
  signal?.throwIfAborted();
  const plan = { toolkit: toolkit.version, architectures, jobs };
  deps.started(plan);
  const library = await compile({ ...deps, tools, toolkit, architectures, work, source });
  await install(library, toolkit, architectures, deps);
  await rm(work, { recursive: true, force: true });
  return plan;
}

export function workFolder(packsFolder: string): string {
  return join(packsFolder, 'cuda-build');
}

/** Throws one sentence with everything that is missing. */
export function checkTools(tools: Tools, sourceIsFolder: boolean): void {
  const missing = [
    ...(tools.nvcc
      ? []
      : ['the CUDA compiler nvcc (install the CUDA toolkit of NVIDIA, or set CUDA_HOME to its folder)']),
    ...(tools.cmake ? [] : ['cmake (for example: apt install cmake)']),
    ...(tools.compiler ? [] : ['a C++ compiler (for example: apt install g++)']),
    ...(tools.ninja || tools.make ? [] : ['ninja or make (for example: apt install ninja-build)']),
    ...(tools.git || sourceIsFolder ? [] : ['git (for example: apt install git)']),
  ];
  if (missing.length > 0) throw new Error(`this is missing: ${missing.join('; ')}`);
}

/** The source of the bundle in the package, which is downloaded unless its file is named. */
async function unpackedSource(work: string, file: string | undefined, git: string, deps: BuildDeps): Promise<string> {
  const source = join(work, 'source');
  if ((await sourceProblem(source)) === undefined) return source;
  await rm(source, { recursive: true, force: true });
  const expected = readIntegrity(cudaSource.integrity);
  const archive = file ?? join(work, 'source.tgz');
  if (file !== undefined) {
    const hash = await fileHash(file, 'sha512').catch((error: Error) => {
      throw new Error(`${file} cannot be read: ${error.message}`);
    });
    if (!expected?.digest.equals(hash)) {
      throw new Error(
        `${file} is not the package ${cudaSource.name} ${cudaSource.version} (its SHA-512 differs), nor a folder`,
      );
    }
  } else if (!existsSync(archive)) {
    const { tarball } = await deps.findPackage(`${cudaSource.name}@${cudaSource.version}`);
    await download({ url: tarball, target: archive, expected }, deps);
  }
  const bundle = join(work, 'source.bundle');
  await extract(archive, 'package/llama/gitRelease.bundle', bundle);
  const fresh = join(work, 'source.new');
  await rm(fresh, { recursive: true, force: true });
  const args = ['-c', 'advice.detachedHead=false', 'clone', '--quiet', bundle, fresh];
  await step('git', git, args, work, deps);
  await rm(bundle, { force: true });
  // By one rename: an interrupted clone is no source.
  await rename(fresh, source);
  return source;
}

async function extract(archive: string, path: string, target: string): Promise<void> {
  for await (const { name, content } of readArchive(archive)) {
    if (name !== path) continue;
    await pipeline(content, createWriteStream(target));
    return;
  }
  throw new Error(`${archive} has no ${path}`);
}

/** Why a source is not that of the engine packages: another version would have other structures. */
async function sourceProblem(source: string): Promise<string | undefined> {
  const read = (name: string) => readFile(join(source, name), 'utf8').catch(() => '');
  const found = {
    llama: cmakeVersion(await read('CMakeLists.txt'), 'LLAMA'),
    ggml: cmakeVersion(await read('ggml/CMakeLists.txt'), 'GGML'),
  };
  if (found.llama === undefined || found.ggml === undefined) return `${source} is not the source of llama.cpp`;
  if (found.llama === engineSource.llama && found.ggml === engineSource.ggml) return undefined;
  return `${source} is llama.cpp ${found.llama} with ggml ${found.ggml}; the engine is ${engineSource.llama} with ggml ${engineSource.ggml}`;
}

export function cmakeVersion(text: string, name: 'LLAMA' | 'GGML'): string | undefined {
  const numbers = ['MAJOR', 'MINOR', 'PATCH'].map(
    (part) => new RegExp(`set\\(${name}_VERSION_${part}\\s+(\\d+)\\)`).exec(text)?.[1],
  );
  return numbers.includes(undefined) ? undefined : numbers.join('.');
}

interface Compilation extends BuildDeps {
  readonly tools: Tools;
  readonly toolkit: Toolkit;
  readonly work: string;
  readonly source: string;
}

/** Returns the path of the compiled library. */
async function compile(deps: Compilation): Promise<string> {
  const { tools, toolkit, architectures, work, source, jobs } = deps;
  const options = [
    ...(tools.ninja ? ['-G', 'Ninja', `-DCMAKE_MAKE_PROGRAM=${tools.ninja}`] : ['-G', 'Unix Makefiles']),
    ...cmakeOptions(toolkit, architectures),
  ];
  // Another source, toolkit or GPU starts from scratch.
  const key = createHash('sha256')
    .update([source, ...options].join('\n'))
    .digest('hex')
    .slice(0, 12);
  const build = join(work, `build-${key}`);
  const cmake = tools.cmake as string;
  await step('cmake', cmake, ['-S', source, '-B', build, ...options], work, deps);
  await step('the compiler', cmake, ['--build', build, '--target', 'ggml-cuda', '-j', String(jobs)], work, {
    ...deps,
    line: (line) => {
      const found = buildProgress(line);
      if (found) deps.compiled(found.done, found.total);
    },
  });
  const library = join(build, 'bin', libraryName);
  if (!existsSync(library)) throw new Error(`the compiler has made no ${libraryName}`);
  return library;
}

/**
 * Only the backend is compiled. Its library has no version in its name, as in the engine packages, so that the loader takes the
 * base library of the package for both; and it finds the libraries of the toolkit where they are now.
 */
function cmakeOptions({ nvcc, root, libraries }: Toolkit, architectures: readonly string[]): readonly string[] {
  const switches = {
    BUILD_SHARED_LIBS: true,
    CMAKE_PLATFORM_NO_VERSIONED_SONAME: true,
    GGML_BACKEND_DL: true,
    GGML_CPU: false,
    GGML_CUDA: true,
    GGML_CUDA_NCCL: false,
    GGML_NATIVE: false,
    LLAMA_BUILD_APP: false,
    LLAMA_BUILD_COMMON: false,
    LLAMA_BUILD_EXAMPLES: false,
    LLAMA_BUILD_SERVER: false,
    LLAMA_BUILD_TESTS: false,
    LLAMA_BUILD_TOOLS: false,
    LLAMA_CURL: false,
    LLAMA_OPENSSL: false,
    LLAMA_USE_PREBUILT_UI: false,
  };
  return [
    '-DCMAKE_BUILD_TYPE=Release',
    `-DCMAKE_CUDA_COMPILER=${nvcc}`,
    `-DCUDAToolkit_ROOT=${root}`,
    `-DCMAKE_CUDA_ARCHITECTURES=${architectures.join(';')}`,
    `-DCMAKE_BUILD_RPATH=$ORIGIN;${libraries}`,
    ...Object.entries(switches).map(([name, on]) => `-D${name}=${on ? 'ON' : 'OFF'}`),
  ];
}

/** Of a line of ninja (`[12/154] …`) or make (`[ 12%] …`). */
export function buildProgress(line: string): { readonly done: number; readonly total: number } | undefined {
  const [, done, total] = /^\[\s*(\d+)(?:\/(\d+)|%)\]/.exec(line) ?? [];
  return done === undefined ? undefined : { done: Number(done), total: Number(total ?? 100) };
}

type StepOptions = Pick<BuildDeps, 'environment' | 'signal'> & { readonly line?: (line: string) => void };

/** Runs a program with its output in the log. Throws the lines that say why it failed. */
async function step(
  name: string,
  program: string,
  args: readonly string[],
  work: string,
  { environment, signal, line }: StepOptions,
): Promise<void> {
  const log = join(work, 'build.log');
  const lines: string[] = [];
  const code = await runProgram(program, args, {
    environment: { ...environment, NINJA_STATUS: '[%f/%t] ' },
    ...(signal && { signal }),
    line: (text) => {
      lines.push(text);
      if (lines.length > 200) lines.shift();
      appendFileSync(log, `${text}\n`);
      line?.(text);
    },
  });
  if (code !== 0) throw new Error(`${name} failed: ${failureOf(lines)}. All of its output: ${log}`);
}

/** The first line with an error, which mostly causes the others. */
export function failureOf(lines: readonly string[]): string {
  const index = lines.findIndex((line) => /\b(fatal|error)\b/i.test(line));
  const reported = index === -1 ? lines.slice(-1) : lines.slice(index, index + 2);
  return reported.map((line) => line.trim()).join(' ') || 'it said nothing';
}

interface Running {
  readonly environment: Environment;
  readonly signal?: AbortSignal;
  readonly line: (line: string) => void;
}

/** How long programs may take to end by themselves. */
const endingMs = 5000;

/** Runs a program to its end and resolves to its exit code. An abort ends it with all programs that it has started. */
async function runProgram(
  program: string,
  args: readonly string[],
  { environment, signal, line }: Running,
): Promise<number> {
  signal?.throwIfAborted();
  // In a process group of its own, which is ended as a whole: a compiler has many children.
  const child = spawn(program, args, {
    env: environment as NodeJS.ProcessEnv,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // There are none if they could not be made; the error follows.
  const outputs: readonly (Readable | null | undefined)[] = [child.stdout, child.stderr];
  for (const input of outputs) if (input) createInterface({ input }).on('line', line);
  const end = (how: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, how);
    } catch {
      // It has ended.
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => {
    end('SIGTERM');
    timer = setTimeout(() => end('SIGKILL'), endingMs);
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (status) => resolve(status ?? 1));
    });
    signal?.throwIfAborted();
    return code;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

async function install(
  library: string,
  { version: toolkit, libraries }: Toolkit,
  architectures: readonly string[],
  { folder, system }: BuildDeps,
): Promise<void> {
  const facts = {
    version: builtPackage.version,
    system,
    toolkit,
    architectures,
    libraries: runtimeLibraries(libraries ?? dirname(library), toolkit),
  };
  await stageFolder(builtPackage, folder, async (into) => {
    await copyFile(library, join(into, libraryName));
    await writeFile(join(into, 'package.json'), factsFile(facts));
  });
  await placePackage(builtPackage, folder);
}
