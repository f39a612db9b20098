import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { type EngineProgram, secretValues } from '../../config/engine.ts';
import { hideSecrets } from '../../core/hide-secrets.ts';
import { type StartFailure, startFailure } from '../../core/processes.ts';
import { deferred } from '../../core/synchronization.ts';
import type { Guard } from '../../processes/guard.ts';
import { LineReader } from '../host/channel.ts';
import type { Child, ChildListeners } from '../host/child.ts';
import type { LoadMessage } from '../host/engine-process.ts';

/** Where the program listens, and the key that it was started with. */
export interface ProgramAddress {
  readonly port: number;
  readonly key: string;
}

export interface ProgramChildDeps<Facts> {
  readonly program: EngineProgram;
  readonly guard: Guard;
  readonly freePort: () => Promise<number>;
  readonly newKey: () => string;
  /** Whether it serves: what it is, or why not yet. */
  readonly probe: (address: ProgramAddress, signal: AbortSignal) => Promise<Facts | string>;
  /** How much of it is loaded, from 0 to 1, as far as that is known. */
  readonly loaded?: (pid: number) => number | undefined;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Each line that it prints. */
  readonly line: (line: string) => void;
}

export type ProgramMessage<Facts> = Exclude<LoadMessage<Facts>, { readonly type: 'note' }>;

const pollMs = 200;
/** One answer to the probe. */
const probeMs = 10_000;
/** Lines that explain an exit. */
const maxLines = 60;
/** For the last lines after its end: a child of the program may keep the pipes open. */
const lastLinesMs = 500;
/** A process that has not ended this long after SIGKILL is abandoned. */
const maxExitMs = 5000;

/** Starts a program with a new port and key, and reports `loaded` when it serves. */
export function programChild<Facts>(
  deps: ProgramChildDeps<Facts>,
  listeners: ChildListeners<ProgramMessage<Facts>>,
): Child<unknown> & { readonly died: Promise<void> } {
  const { program, guard, now } = deps;
  const lastLines: string[] = [];
  const ending = new AbortController();
  let child: ReturnType<typeof spawn> | undefined;
  const exited = deferred<void>();
  /** Before its last lines are read. */
  const died = deferred<void>();

  const exit = (code: number | null, signal: NodeJS.Signals | null, unstarted?: StartFailure): void => {
    ending.abort();
    died.resolve();
    const lines = unstarted ? [unstarted.reason] : lastLines;
    listeners.exit({ code, signal, lastLines: lines, ...(unstarted && { unstarted }) });
    exited.resolve();
  };

  async function run(): Promise<void> {
    const address = { port: await deps.freePort(), key: deps.newKey() };
    if (ending.signal.aborted) return exit(null, 'SIGTERM');
    const { command, env, cwd } = filled(program, address);
    const secrets = [address.key, ...secretValues(env)];
    const [file = '', ...args] = command;
    if (cwd !== undefined && !existsSync(cwd)) {
      return exit(null, null, { reason: `its folder ${cwd} does not exist`, isPassing: false });
    }
    child = spawn(file, args, {
      cwd,
      env: { ...process.env, ...env, PARLEY_ENGINE_KEY: address.key },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own process group, so that it can be ended with its children, and a Ctrl+C in the terminal is handled here first.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    const { pid } = child;
    if (pid !== undefined) guard.add(pid);
    const line = (text: string): void => {
      const redacted = hideSecrets(text, secrets);
      lastLines.push(redacted);
      if (lastLines.length > maxLines) lastLines.shift();
      deps.line(redacted);
    };
    const streams = [child.stdout, child.stderr].flatMap((stream) => (stream ? [stream] : []));
    for (const stream of streams) readLines(stream, line);
    let over = false;
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (over || pid !== undefined) return;
      over = true;
      exit(null, null, notStarted(error, file));
    });
    child.once('exit', (code, signal) => {
      if (over) return;
      over = true;
      died.resolve();
      // What is left of its group would hold the pipes.
      signalGroup(pid, 'SIGKILL');
      void Promise.race([Promise.all(streams.map(closed)), deps.wait(lastLinesMs)]).then(() => exit(code, signal));
    });
    if (pid !== undefined) await untilReady(address, pid);
  }

  async function untilReady(address: ProgramAddress, pid: number): Promise<void> {
    const until = now() + program.timeoutMs;
    let reason = 'it does not answer';
    while (!ending.signal.aborted) {
      const limit = AbortSignal.any([ending.signal, AbortSignal.timeout(probeMs)]);
      const facts = await deps.probe(address, limit).catch((error: Error) => error.message);
      if (ending.signal.aborted) return;
      if (typeof facts !== 'string') {
        listeners.message({ type: 'loaded', facts }, []);
        return;
      }
      reason = facts;
      if (now() >= until) break;
      listeners.message({ type: 'progress', fraction: deps.loaded?.(pid) ?? 0 }, []);
      await deps.wait(pollMs);
    }
    if (ending.signal.aborted) return;
    const seconds = Math.round(program.timeoutMs / 1000);
    const sentence = `it was not ready after ${seconds} s on 127.0.0.1:${address.port}: ${reason}. Does its command use \${port}?`;
    listeners.message({ type: 'load-failed', reason: sentence }, []);
    signalGroup(pid, 'SIGKILL');
  }

  void run().catch((error: Error) => exit(null, null, startFailure(error)));
  return {
    get pid() {
      return child?.pid;
    },
    died: died.promise,
    send: () => undefined,
    kill: () => signalGroup(child?.pid, 'SIGKILL'),
    stop: async (graceMs) => {
      ending.abort();
      const pid = child?.pid;
      if (pid !== undefined) guard.end(pid, graceMs + maxExitMs);
      signalGroup(pid, program.stop);
      const outcome = await Promise.race([exited.promise.then(() => 'exited'), timeout(graceMs)]);
      if (outcome === 'exited') return;
      signalGroup(pid, 'SIGKILL');
      await Promise.race([exited.promise, timeout(maxExitMs)]);
    },
  };
}

/** Does not keep the server running. */
const timeout = (milliseconds: number): Promise<void> => setTimeout(milliseconds, undefined, { ref: false });

const closed = (stream: Readable): Promise<void> =>
  new Promise((resolve) => (stream.closed ? resolve() : stream.once('close', () => resolve())));

function readLines(stream: Readable, line: (text: string) => void): void {
  // Progress bars overwrite their line.
  const reader = new LineReader((text) => line(text.replace(/^.*\r(?=.)/s, '').trimEnd()));
  stream
    .setEncoding('utf8')
    .on('error', () => undefined)
    .on('data', (text: string) => reader.push(text))
    .on('close', () => reader.open !== '' && line(reader.open));
}

/** Replaces `${port}`, `${host}`, `${model}` and `${key}`. */
export function filled({ command, env, cwd, model = '' }: EngineProgram, { port, key }: ProgramAddress) {
  const values: Readonly<Record<string, string>> = { port: String(port), host: '127.0.0.1', model, key };
  const fill = (text: string): string =>
    text.replace(/\$\{(port|host|model|key)\}/g, (_, name: string) => values[name] ?? '');
  return {
    command: command.map(fill),
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)])),
    cwd,
  };
}

/** The group of a program, or the program alone on Windows, where `taskkill` ends its children too. */
function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    if (process.platform !== 'win32') process.kill(-pid, signal);
    else if (signal === 'SIGKILL') spawn('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore' });
    else process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

function notStarted(error: NodeJS.ErrnoException, file: string): StartFailure {
  if (error.code === 'ENOENT') {
    const folders = process.env.PATH?.split(delimiter).length ?? 0;
    const where = /[/\\]/.test(file) ? 'there is no such file' : `it is in none of the ${folders} folders of PATH`;
    return { reason: `${file} was not found: ${where}`, isPassing: false };
  }
  if (error.code === 'EACCES') return { reason: `${file} is not executable`, isPassing: false };
  return startFailure(error);
}
