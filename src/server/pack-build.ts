import { availableParallelism } from 'node:os';
import { availableBytes } from '../core/memory.ts';
import { byteSize } from '../core/readable.ts';
import { downloadProgress, progressBar, type Terminal } from '../observe/terminal.ts';
import { type BuildDeps, buildCuda, workFolder } from '../packs/build-cuda.ts';
import { cudaBuilt } from '../packs/built.ts';
import { engineSource, systemOf } from '../packs/catalogue.ts';
import { type Command, CommandError, command, text } from './command.ts';
import { findNpmPackage } from './npm-package.ts';
import { runProbe } from './probe.ts';

export interface BuildCommand
  extends Pick<Command, 'args' | 'folder' | 'terminal' | 'fetch' | 'signal' | 'now'>,
    Partial<Pick<BuildDeps, 'findPackage' | 'environment'>> {
  readonly system?: Pick<NodeJS.Process, 'platform' | 'arch'>;
  readonly probe?: typeof runProbe;
}

export const packUsage = `parley pack list            the packs that there are, what each brings, and which are here
parley pack add NAME        fetch one, checked by its hash; what broke off is taken up again by the same command
parley pack build cuda      compile the CUDA engine for the cards of this machine (Linux; needs the CUDA toolkit, cmake and git)
                            --source FILE: the npm package of the source, or a folder with it, on a machine without network
                            --arch 90: another compute capability; --jobs N: files that are compiled at once
parley pack remove NAME     delete it
parley pack verify [NAME]   check every file of what is installed
parley pack repair [NAME]   fetch again what is broken`;

/** `parley pack build cuda`; the arguments begin with `cuda`. */
export const buildCommand = command(
  { usage: packUsage, options: { source: text, arch: text, jobs: text } },
  async ({ values, positionals: [what, ...rest] }, context: BuildCommand) => {
    const { terminal, folder, signal, fetch, now, findPackage = findNpmPackage, probe = runProbe } = context;
    const { source, arch = '', jobs = '' } = values;
    const isValid = /^(\d+[af]?(-real|-virtual)?([,;](?=\d)|$))*$/.test(arch) && /^([1-9]\d{0,3})?$/.test(jobs);
    if (what !== 'cuda' || rest.length > 0 || !isValid) return undefined;
    const system = systemOf(context.system ?? process);
    if (!Object.hasOwn(cudaBuilt.packages, system))
      throw new CommandError(`The CUDA engine can be compiled on Linux only, not on this system (${system}).`);
    await buildCuda({
      folder,
      system,
      source,
      fetch,
      findPackage,
      environment: context.environment ?? process.env,
      architectures: arch === '' ? [] : arch.split(/[,;]/),
      jobs: jobs === '' ? jobsFor(availableParallelism(), availableBytes()) : Number(jobs),
      progress: sourceProgress(terminal, now),
      started: ({ toolkit, architectures, jobs }) =>
        terminal.line(
          `Compiling llama.cpp ${engineSource.llama} for CUDA, with the toolkit ${toolkit}, for compute capability ${architectures.join(', ')}, ${jobs === 1 ? '1 file' : `${jobs} files`} at once. On 16 cores this takes about five minutes.`,
        ),
      compiled: compileProgress(terminal),
      ...(signal && { signal }),
    }).catch((error: Error) => {
      const left = signal?.aborted ? `\nWhat is compiled so far is in ${workFolder(folder)}.` : '';
      throw new CommandError(`The CUDA engine was not compiled: ${error.message}${left}`, 3);
    });
    terminal.line(`cuda-built is installed, in ${folder}. It is used from the next start on.`);
    terminal.line(await checked(probe));
    return 0;
  },
);

/** The largest files of the source need about this much while they are compiled. */
const bytesPerJob = 2 * 2 ** 30;

export function jobsFor(processors: number, freeBytes: number): number {
  return Math.max(1, Math.min(processors, Math.floor(freeBytes / bytesPerJob)));
}

/** Begins with the first bytes: a given source is not downloaded. */
function sourceProgress(terminal: Terminal, now: () => number): BuildDeps['progress'] {
  let show: BuildDeps['progress'] | undefined;
  return (done, total) => {
    show ??= downloadProgress(terminal, now, 'Source');
    show(done, total);
  };
}

/** A bar on a terminal, a line per tenth in a log file. */
function compileProgress(terminal: Terminal): BuildDeps['compiled'] {
  let shownTenths = 0;
  return (done, total) => {
    terminal.status(`Compiling ${progressBar(done / total)} [${done}/${total}]`);
    const tenths = Math.floor((done / total) * 10);
    if (tenths <= shownTenths) return;
    shownTenths = tenths;
    if (!terminal.interactive) terminal.line(`Compiling: ${tenths * 10}% [${done}/${total}]`);
  };
}

/** Loads the new library as the engine does, in a process of its own. */
async function checked(probe: typeof runProbe): Promise<string> {
  const result = await probe('llama cuda-built');
  if (result.type === 'failed') return `It cannot be used here: ${result.reason}`;
  const gpus = (result.devices ?? []).filter(({ graphics }) => graphics);
  const named = gpus.map(
    ({ name, freeBytes, totalBytes }) => `${name}, ${byteSize(freeBytes)} of ${byteSize(totalBytes)} free`,
  );
  return `It works with: ${named.join('; ')}.`;
}
