import { availableParallelism } from 'node:os';
import { availableBytes } from '../core/memory.ts';
import { byteSize } from '../core/readable.ts';
import { progressBar, progressOf, type Terminal } from '../observe/terminal.ts';
import { type BuildParts, buildCuda, workFolder } from '../packs/build-cuda.ts';
import { cudaBuilt } from '../packs/built.ts';
import { engineSource, systemOf } from '../packs/catalogue.ts';
import { type Command, readWords, showUsage, text } from './command.ts';
import { askNpm } from './npm-package.ts';
import { runProbe } from './probe.ts';

export interface BuildCommand
  extends Pick<Command, 'folder' | 'terminal' | 'fetch' | 'signal' | 'now'>,
    Partial<Pick<BuildParts, 'findPackage' | 'environment'>> {
  readonly system?: Pick<NodeJS.Process, 'platform' | 'arch'>;
  readonly probe?: typeof runProbe;
}

/** `parley pack build cuda`: resolves to the exit code. */
export async function buildCommand(words: readonly string[], command: BuildCommand, usage: string): Promise<number> {
  const { terminal, folder, signal, fetch, findPackage = askNpm, system = process } = command;
  const asked = buildOptions(words);
  if (!asked) return showUsage(terminal, usage, { words, options: wordOptions });
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

const wordOptions = { source: text, arch: text, jobs: text };

/** Undefined if they are not understood. */
export function buildOptions([what, ...words]: readonly string[]) {
  const { values, others = [] } = readWords(words, wordOptions) ?? {};
  if (!values || what !== 'cuda' || others.length > 0) return undefined;
  const { source, arch = '', jobs = '' } = values;
  if (!/^(\d+[af]?(-real|-virtual)?([,;](?=\d)|$))*$/.test(arch) || !/^([1-9]\d{0,3})?$/.test(jobs)) return undefined;
  return { source, architectures: arch === '' ? [] : arch.split(/[,;]/), jobs: jobs === '' ? undefined : Number(jobs) };
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
