import { type ChildProcess, fork } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { type StartFailure, startFailure } from '../../core/processes.ts';
import { AttachmentReader, type Attachments, announced, descriptors, LineReader, pulseOf } from './channel.ts';
import type { Pulse } from './heartbeat.ts';

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last lines of its standard error, where native code says why it aborted. */
  readonly lastLines: readonly string[];
  /** It never ran. */
  readonly unstarted?: StartFailure;
}

export interface ChildListeners<Incoming> {
  message(message: Incoming, attachments: Attachments): void;
  exit(exit: ChildExit): void;
  /** A heartbeat. */
  pulse?(pulse: Pulse): void;
  /** Each line of its standard error (`--debugmode`). */
  line?(line: string): void;
}

/** A child process for native code. It may crash at any time, and ends by itself when the server is gone, because its pipes close. */
export interface Child<Outgoing> {
  readonly pid: number | undefined;
  send(message: Outgoing, attachments?: Attachments): void;
  /** Sends SIGKILL; `exit` follows. */
  kill(): void;
  /** Closes the channel, and sends SIGKILL after the grace time. */
  stop(graceMs: number): Promise<void>;
}

export type Spawn = <Outgoing, Incoming>(
  entry: string,
  listeners: ChildListeners<Incoming>,
  /** Options of Node, such as the size of the heap. */
  execArgv?: readonly string[],
) => Child<Outgoing>;

/** A process that the system cannot end, because a driver hangs, is not waited for any longer. */
const maxExitMs = 5000;
/** Of the standard error. */
const maxLines = 60;

export const spawnChild: Spawn = (entry, listeners, execArgv) => spawnChildWith(fork, entry, listeners, execArgv);

/** A process that cannot be started exits like one that has ended. */
export function spawnChildWith<Outgoing, Incoming>(
  start: typeof fork,
  entry: string,
  listeners: ChildListeners<Incoming>,
  execArgv: readonly string[] = [],
): Child<Outgoing> {
  const lastLines: string[] = [];
  const errors = new LineReader((line) => {
    lastLines.push(line);
    if (lastLines.length > maxLines) lastLines.shift();
    listeners.line?.(line);
  });
  let child: ChildProcess;
  try {
    child = start(entry, [], {
      // On Windows only overlapped pipes can be read and written at the same time; elsewhere all can.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'overlapped', 'overlapped'],
      execArgv: [...execArgv],
      // On an abort llama.cpp would start a debugger, which hangs the process.
      env: { ...process.env, GGML_NO_BACKTRACE: '1' },
    });
  } catch (error) {
    return unstartedChild(startFailure(error as Error), listeners);
  }
  const pulse = pipeOf(child, descriptors.pulse);
  const attachmentsPipe = pipeOf(child, descriptors.attachments);
  const exited = new Promise<void>((resolve) => {
    let over = false;
    const report = (code: number | null, signal: NodeJS.Signals | null, unstarted?: StartFailure) => {
      if (over) return;
      over = true;
      pulse?.destroy();
      attachmentsPipe?.destroy();
      const lines = errors.open === '' ? lastLines : [...lastLines, errors.open];
      listeners.exit({ code, signal, lastLines: lines, ...(unstarted && { unstarted }) });
      resolve();
    };
    // `on` and not `once`: a kill or send that fails emits another error event, which must have a listener.
    child.on('error', (error) => {
      errors.push(`${error.message}\n`);
      report(null, null, child.pid === undefined ? startFailure(error) : undefined);
    });
    // The last lines may arrive after the exit. The child's own `close` never comes if we have closed the channel.
    child.once('exit', (code, signal) => {
      const stderr = child.stderr;
      if (!stderr || stderr.closed) report(code, signal);
      else stderr.once('close', () => report(code, signal));
    });
  });
  child.stderr
    ?.setEncoding('utf8')
    .on('error', () => {})
    .on('data', (text: string) => errors.push(text));
  const reader = new AttachmentReader((message, attachments) => listeners.message(message as Incoming, attachments));
  child.on('message', (message) => reader.message(message as object));
  attachmentsPipe?.on('data', (chunk: Uint8Array) => reader.bytes(chunk));
  const pulses = new LineReader((line) => listeners.pulse?.(pulseOf(line)));
  pulse?.setEncoding('utf8').on('data', (text: string) => pulses.push(text));
  return {
    pid: child.pid,
    send: (message, attachments = []) => {
      // A failed send means that the child is ending; `exit` follows.
      if (!child.connected) return;
      child.send(announced(message as object, attachments), () => {});
      for (const bytes of attachments) attachmentsPipe?.write(bytes);
    },
    kill: () => void child.kill('SIGKILL'),
    stop: (graceMs) => stopChild(child, exited, graceMs),
  };
}

function unstartedChild<Incoming>(unstarted: StartFailure, listeners: ChildListeners<Incoming>): Child<unknown> {
  const exit = { code: null, signal: null, lastLines: [unstarted.reason], unstarted };
  // Callers get the child first.
  const exited = Promise.resolve().then(() => listeners.exit(exit));
  return { pid: undefined, send: () => undefined, kill: () => undefined, stop: () => exited };
}

/** A pipe error means that the child has failed, and its exit reports that. There are no pipes if they could not be made. */
function pipeOf({ stdio }: { readonly stdio: ChildProcess['stdio'] | undefined }, descriptor: number) {
  return (stdio?.[descriptor] as Duplex | null | undefined)?.on('error', () => {});
}

async function stopChild(child: ChildProcess, exited: Promise<void>, graceMs: number): Promise<void> {
  if (child.connected) child.disconnect();
  const timers: NodeJS.Timeout[] = [];
  const givenUp = new Promise<void>((resolve) => {
    timers.push(
      setTimeout(() => child.kill('SIGKILL'), graceMs),
      setTimeout(resolve, graceMs + maxExitMs),
    );
  });
  await Promise.race([exited, givenUp]);
  for (const timer of timers) clearTimeout(timer);
}
