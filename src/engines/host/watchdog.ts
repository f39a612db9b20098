import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { workerData } from 'node:worker_threads';
import { descriptors } from './channel.ts';
import { HeartbeatMemory, StallDetector, tickMs } from './heartbeat.ts';

/** Runs while the main thread is in native code: reports its state to the server, and ends an orphaned process. */
const signs = new HeartbeatMemory(workerData as SharedArrayBuffer);
const detector = new StallDetector();
const pipe = new Socket({ fd: descriptors.pulse, readable: true, writable: true });

pipe.on('error', () => {});
pipe.once('close', () => setTimeout(() => process.kill(process.pid, 'SIGKILL'), signs.closingMs));
pipe.resume();
sendPulse();
setInterval(sendPulse, tickMs);

/** Also sent at once: a worker is checked only after its first pulse. */
function sendPulse(): void {
  if (signs.maxMegabytes > 0 && process.memoryUsage.rss() > signs.maxMegabytes * 1_048_576) {
    writeSync(2, `out of memory: more than ${signs.maxMegabytes} MB\n`);
    process.kill(process.pid, 'SIGKILL');
  }
  const { hung, timeoutMs } = detector.tick(signs.read(), process.resourceUsage().majorPageFault);
  // A server that is stopped reads nothing: more pulses would only fill the pipe.
  if (!pipe.destroyed && pipe.writableLength === 0) pipe.write(hung ? 'hung\n' : `${timeoutMs}\n`);
}
