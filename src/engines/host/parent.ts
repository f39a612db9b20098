import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { AttachmentReader, type Attachments, announced, descriptors } from './channel.ts';
import { HeartbeatMemory, tickMs, type Watch } from './heartbeat.ts';

/** The server's side of a worker's channel. Called once in a worker, before any long work. */
export function openParent<Incoming, Outgoing extends object>(listeners: {
  message(message: Incoming, attachments: Attachments): void;
  /** The channel was closed, or the server is gone. The process ends when this is done. */
  closed(): Promise<void> | undefined;
}) {
  // Ctrl+C in a terminal reaches all processes of the program; the server decides when its workers end.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  const watch = startWatchdog();
  const reader = new AttachmentReader((message, attachments) => listeners.message(message as Incoming, attachments));
  const pipe = new Socket({ fd: descriptors.attachments, readable: true, writable: true });
  pipe.on('error', () => {}).on('data', (chunk: Uint8Array) => reader.bytes(chunk));
  process.on('message', (message) => reader.message(message as object));
  process.on('disconnect', () => {
    setTimeout(endNow, watch.closingMs);
    void Promise.resolve(listeners.closed()).finally(endNow);
  });
  return {
    send: (message: Outgoing, attachments: Attachments = [], sent = () => {}): void => {
      process.send?.(announced(message, attachments), undefined, undefined, () => sent());
      for (const bytes of attachments) pipe.write(bytes);
    },
    watch: watch as Watch,
    /** Ends the process when it uses more memory than this, whatever its main thread does. */
    limitMemory: (megabytes: number): void => watch.limitMemory(megabytes),
  };
}

function startWatchdog(): HeartbeatMemory {
  const signs = new HeartbeatMemory();
  const thread = new Worker(new URL('./watchdog.js', import.meta.url), { workerData: signs.memory, execArgv: [] });
  // The worker works without a watchdog.
  thread.on('error', (error) => process.stderr.write(`the watchdog could not start: ${error.message}\n`));
  thread.unref();
  setInterval(() => signs.beat(), tickMs).unref();
  return signs;
}

/** Not `process.exit`, which waits for native calls on other threads. */
function endNow(): void {
  process.kill(process.pid, 'SIGKILL');
}
