import { type ChildProcess, fork } from 'node:child_process';
import { LineRing } from './line-ring.ts';

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The last lines it wrote: usually the only place where native code says why it died. */
  readonly lastLines: readonly string[];
}

export interface ChildListeners<Incoming> {
  message(message: Incoming): void;
  exit(exit: ChildExit): void;
  /** Each line of the child's standard error, for people who asked to see it. */
  line?(line: string): void;
}

/**
 * A process of ours that does native work. It is spoken to in messages, it may die at any time without harm to us, and
 * it ends by itself when we are gone (its channel closes).
 */
export interface Child<Outgoing> {
  readonly pid: number | undefined;
  send(message: Outgoing): void;
  /** Asks it to end by closing the channel, and ends it the hard way after the grace time. */
  stop(graceMs: number): Promise<void>;
}

export type Spawn = <Outgoing, Incoming>(entry: string, listeners: ChildListeners<Incoming>) => Child<Outgoing>;

export const spawnChild: Spawn = <Outgoing, Incoming>(
  entry: string,
  listeners: ChildListeners<Incoming>,
): Child<Outgoing> => {
  const lines = new LineRing(60, listeners.line);
  const child = fork(entry, [], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: [],
    // A debugger that llama.cpp starts on an abort would hang the process that should simply be gone.
    env: { ...process.env, GGML_NO_BACKTRACE: '1' },
  });
  const exited = new Promise<void>((resolve) => {
    let over = false;
    const report = (code: number | null, signal: NodeJS.Signals | null) => {
      if (over) return;
      over = true;
      listeners.exit({ code, signal, lastLines: lines.last() });
      resolve();
    };
    child.once('error', (error) => {
      lines.push(`${error.message}\n`);
      report(null, null);
    });
    // The last lines may arrive after the exit. The child's own `close` would wait for them too, but it never comes
    // when it was us who closed the channel.
    child.once('exit', (code, signal) => {
      const stderr = child.stderr;
      if (!stderr || stderr.closed) report(code, signal);
      else stderr.once('close', () => report(code, signal));
    });
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => lines.push(text));
  child.on('message', (message) => listeners.message(message as Incoming));
  return {
    pid: child.pid,
    send: (message) => {
      // A send that fails means that the child is gone or going: `exit` tells the rest.
      if (child.connected) child.send(message as object, () => {});
    },
    stop: (graceMs) => stopChild(child, exited, graceMs),
  };
};

async function stopChild(child: ChildProcess, exited: Promise<void>, graceMs: number): Promise<void> {
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await exited;
  clearTimeout(timer);
}
