import { availableParallelism } from 'node:os';
import { availableBytes } from '../core/available-memory.ts';
import { byteSize } from '../core/readable.ts';
import { progressBar, progressOf, type Terminal } from '../observe/terminal.ts';
import { type BuildParts, buildCuda, workFolder } from '../packs/build-cuda.ts';
import { cudaBuilt } from '../packs/built.ts';
import { engineSource, systemOf } from '../packs/catalogue.ts';
import { askNpm } from './npm-package.ts';
import { runProbe } from './probe.ts';

export interface BuildCommand {
  /** Where packs are installed. */
  readonly folder: string;
  readonly system?: Pick<NodeJS.Process, 'platform' | 'arch'>;
  readonly terminal: Terminal;
  readonly fetch: typeof fetch;
  readonly findPackage?: BuildParts['findPackage'];
  readonly signal?: AbortSignal;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** For the programs that compile. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly probe?: typeof runProbe;
}

interface BuildWords {
  readonly source: string | undefined;
  readonly architectures: readonly string[];
  readonly jobs: number | undefined;
}

/** `parley pack build cuda`: resolves to the exit code. */
export async function buildCommand(words: readonly string[], command: BuildCommand, usage: string): Promise<number> {
  const { terminal, folder, signal, fetch, findPackage = askNpm, system = process } = command;
  const asked = readWords(words);
  if (!asked) {
    terminal.line(usage);
    return 2;
  }
  const name = systemOf(system);
  if (!Object.hasOwn(cudaBuilt.packages, name)) {
    terminal.line(`The CUDA engine can be compiled on Linux only, not on this system (${name}).`);
    return 2;
  }
  const parts: BuildParts = {
    folder,
    system: name,
    environment: command.environment ?? process.env,
    source: asked.source,
    architectures: asked.architectures,
    jobs: asked.jobs ?? jobsFor(availableParallelism(), availableBytes()),
    fetch,
    findPackage,
    progress: sourceProgress(terminal, command.now),
    started: ({ toolkit, architectures, jobs }) =>
      terminal.line(
        `Compiling llama.cpp ${engineSource.llama} for CUDA, with the toolkit ${toolkit}, for compute capability ${architectures.join(', ')}, ${jobs === 1 ? '1 file' : `${jobs} files`} at once. On 16 cores this takes about five minutes.`,
      ),
    compiled: compileProgress(terminal),
    ...(signal && { signal }),
  };
  try {
    await buildCuda(parts);
  } catch (error) {
    terminal.line(`The CUDA engine was not compiled: ${(error as Error).message}`);
    if (signal?.aborted) terminal.line(`What is compiled so far is in ${workFolder(folder)}.`);
    return 3;
  }
  terminal.line(`cuda-built is installed, in ${folder}. It is used from the next start on.`);
  terminal.line(await checked(command.probe ?? runProbe));
  return 0;
}

/** Undefined if they are not understood. */
export function readWords([what, ...words]: readonly string[]): BuildWords | undefined {
  let found: BuildWords = { source: undefined, architectures: [], jobs: undefined };
  if (what !== 'cuda' || words.length % 2 !== 0) return undefined;
  for (let index = 0; index < words.length; index += 2) {
    const value = words[index + 1] ?? '';
    if (words[index] === '--source') found = { ...found, source: value };
    else if (words[index] === '--arch' && /^\d+[af]?(-real|-virtual)?([,;]\d+[af]?(-real|-virtual)?)*$/.test(value))
      found = { ...found, architectures: value.split(/[,;]/) };
    else if (words[index] === '--jobs' && /^[1-9]\d{0,3}$/.test(value)) found = { ...found, jobs: Number(value) };
    else return undefined;
  }
  return found;
}

/** The largest files of the source need about this much while they are compiled. */
const bytesPerJob = 2 * 2 ** 30;

export function jobsFor(processors: number, freeBytes: number): number {
  return Math.max(1, Math.min(processors, Math.floor(freeBytes / bytesPerJob)));
}

/** Begins with the first bytes: a given source is not downloaded. */
function sourceProgress(terminal: Terminal, now: () => number): BuildParts['progress'] {
  let show: BuildParts['progress'] | undefined;
  return (done, total) => {
    show ??= progressOf(terminal, now, 'Source').show;
    show(done, total);
  };
}

/** A bar on a terminal, a line per tenth in a log file. */
function compileProgress(terminal: Terminal): BuildParts['compiled'] {
  let toldTenths = 0;
  return (done, total) => {
    terminal.status(`Compiling ${progressBar(done / total)} [${done}/${total}]`);
    const tenths = Math.floor((done / total) * 10);
    if (tenths <= toldTenths) return;
    toldTenths = tenths;
    if (!terminal.interactive) terminal.line(`Compiling: ${tenths * 10}% [${done}/${total}]`);
  };
}

/** Loads the new library as the engine does, in a process of its own. */
async function checked(probe: typeof runProbe): Promise<string> {
  const result = await probe('llama cuda-built');
  if (result.type === 'failed') return `It cannot be used here: ${result.reason}`;
  const cards = (result.devices ?? []).filter(({ graphics }) => graphics);
  const named = cards.map(
    ({ name, freeBytes, totalBytes }) => `${name}, ${byteSize(freeBytes)} of ${byteSize(totalBytes)} free`,
  );
  return `It works with: ${named.join('; ')}.`;
}
