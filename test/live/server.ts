import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, inject } from 'vitest';
import { childrenOf } from '../../bench/process-figures.ts';
import { isAlive } from './alive.ts';

/** The build under test; `PARLEY_DIST` names the folder of another than that of this repository. */
const build = process.env.PARLEY_DIST;
export const program =
  build === undefined ? fileURLToPath(new URL('../../dist/main.js', import.meta.url)) : join(build, 'main.js');

/** Builds modules of the program for a program of a test; the result gives their addresses by name. */
export async function builtModules(folder: string, names: readonly string[]): Promise<(name: string) => string> {
  const { bundleModules } = (await import(new URL('../../scripts/bundle.mjs', import.meta.url).href)) as {
    bundleModules: (from: string, to: string, names: readonly string[]) => Promise<void>;
  };
  await bundleModules(fileURLToPath(new URL('../../src', import.meta.url)), folder, names);
  // Their imports are those of modules, also outside of the repository.
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  return (name) => pathToFileURL(join(folder, `${name}.js`)).href;
}

export const embeddedModel = fileURLToPath(new URL('../../models/parley-mini.gguf', import.meta.url));

/** For a program that must not depend on the home folder of the person who runs the tests. */
export function programEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, HOME: process.env.PARLEY_HOME, USERPROFILE: process.env.PARLEY_HOME };
}

/** A server of its own process, as a user starts it. */
export interface LiveServer {
  readonly base: string;
  readonly port: number;
  readonly pid: number;
  /** Everything it has written, both streams together. */
  output(): string;
  /** Resolves when its output holds this text; rejects when it ends without, or with the output after a minute. */
  says(text: string): Promise<void>;
  /** The newest process of an engine, that for text unless told otherwise; undefined while there is none. */
  worker(engine?: string): number | undefined;
  /** Its exit code, when it has ended. */
  readonly exited: Promise<number | null>;
  /** Ends it by SIGTERM, or by force after a while. Resolves to its exit code, which is null in the second case. */
  stop(): Promise<number | null>;
}

export interface StartOptions {
  /** The text that says that it is far enough. */
  readonly until?: string;
  /** What precedes its address. */
  readonly listening?: string;
  /** The command that starts it, where it is not the build of this repository. */
  readonly command?: readonly string[];
  /** A free one unless told otherwise. */
  readonly port?: number;
}

export type StartServer = (flags?: readonly string[], options?: StartOptions) => Promise<LiveServer>;

/** The servers of one test file: whatever happens in its tests, none of them outlives it. */
export function liveServers(): StartServer {
  const children = new Set<ChildProcess>();
  const endAll = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.once('exit', endAll);
  afterAll(() => {
    endAll();
    process.off('exit', endAll);
  });
  return (flags = [], options = {}) => start(flags, options, children);
}

/**
 * The same with an untrained model, unless the flags name one: it has the name, the tokens and the chat format of the embedded
 * one, and its nonsense takes a fraction of the time. For tests to which the text of a reply does not matter.
 */
export function untrainedServers(): StartServer {
  const startServer = liveServers();
  const named = ['--model', '--nomodel'];
  return (flags = [], options) =>
    startServer(named.some((flag) => flags.includes(flag)) ? flags : ['--model', untrainedModel(), ...flags], options);
}

/** The file of that model. */
export const untrainedModel = (): string => inject('untrainedModel');

async function start(
  flags: readonly string[],
  {
    until = 'Please connect to custom endpoint',
    listening = 'Listening on ',
    command = [process.execPath, program],
    port: wantedPort = 0,
  }: StartOptions,
  children: Set<ChildProcess>,
): Promise<LiveServer> {
  const [file = '', ...first] = command;
  const child = spawn(file, [...first, '--port', String(wantedPort), '--threads', '1', ...flags], {
    env: programEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let output = '';
  let over = false;
  const listeners = new Set<() => void>();
  const wake = () => {
    for (const listener of [...listeners]) listener();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      wake();
    });
  }
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', () => {
      over = true;
      wake();
      resolve(child.exitCode);
    });
  });
  const says = (text: string, limit?: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = limit === undefined ? undefined : setTimeout(() => look(true), limit);
      const look = (late = false) => {
        const isPrinted = output.includes(text);
        if (!isPrinted && !over && !late) return;
        listeners.delete(look);
        clearTimeout(timer);
        if (isPrinted) resolve();
        else reject(new Error(`the server ${over ? 'ended without saying' : 'does not say'} "${text}":\n${output}`));
      };
      listeners.add(look);
      look();
    });
  await says(listening);
  await says(until);
  const [, scheme, port] = new RegExp(`${listening}(https?)://[^:\\s]+:(\\d+)`).exec(output) ?? [];
  return {
    base: `${scheme}://localhost:${port}`,
    port: Number(port),
    pid: child.pid as number,
    output: () => output,
    says: (text) => says(text, 60_000),
    worker: (engine = 'llama') => childOf(child.pid as number, `engines/${engine}/worker`),
    exited,
    stop: async () => {
      children.delete(child);
      if (over) return child.exitCode;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await once(child, 'close');
      clearTimeout(timer);
      return child.exitCode;
    },
  };
}

/** The newest child, which the system names last: an older one may still be on its way out. */
function childOf(parent: number, program: string): number | undefined {
  return childrenNow(parent)
    .filter(isAlive)
    .findLast((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(program);
      } catch {
        // It ended while we looked.
        return false;
      }
    });
}

function childrenNow(parent: number): number[] {
  try {
    return childrenOf(parent);
  } catch {
    // It is over itself.
    return [];
  }
}
