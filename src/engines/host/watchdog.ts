import { Socket } from 'node:net';
import { workerData } from 'node:worker_threads';
import { HeartbeatMemory, StallDetector, tickMs } from './heartbeat.ts';

export interface WatchdogData {
  readonly memory: SharedArrayBuffer;
  readonly descriptor: number;
}

/**
 * A thread of its own in each worker, which goes on while the main one is in native code. It tells the server how the main
 * thread is, and ends the process when the server is gone, whatever the main thread is doing.
 */
const { memory, descriptor } = workerData as WatchdogData;
const signs = new HeartbeatMemory(memory);
const judge = new StallDetector();
const pipe = new Socket({ fd: descriptor, readable: true, writable: true });

pipe.on('error', () => {});
pipe.once('close', () => setTimeout(() => process.kill(process.pid, 'SIGKILL'), signs.closingMs));
pipe.resume();
giveSign();
setInterval(giveSign, tickMs);

/** Also at once: a worker is missed only if it has ever given a sign. */
function giveSign(): void {
  const { hung, patienceMs } = judge.tick(signs.read(), process.resourceUsage().majorPageFault);
  // A server that stands still reads nothing: there is no use in saying the same again.
  if (!pipe.destroyed && pipe.writableLength === 0) pipe.write(hung ? 'hung\n' : `${patienceMs}\n`);
}
