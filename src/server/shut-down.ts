import type { HttpServer } from '../http/server.ts';
import type { RequestQueue } from '../queue/request-queue.ts';

interface ShutDownDeps {
  readonly server: Pick<HttpServer, 'drain' | 'close' | 'running'>;
  readonly requestQueue: Pick<RequestQueue, 'close' | 'stopAll'>;
  /** `--shutdowntimeout` */
  readonly timeoutSeconds: number;
  readonly log: (line: string) => void;
  /** The signal ends the wait early. */
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/** Requests that take longer than this to finish are reported. */
const noticeMs = 100;
/** For the error events of streams that are stopped after the time-out. */
const lastEventsMs = 1000;

/**
 * Stops the server gracefully: no new connections and requests, errors for the requests that wait, and time for those that run. After
 * the time-out these end with an error in their dialect, and connections that remain after that are closed.
 */
export async function shutDown({ server, requestQueue, timeoutSeconds, log, wait }: ShutDownDeps): Promise<void> {
  requestQueue.close();
  const drained = server.drain();
  /** Whether all requests are answered within this time. */
  const within = async (milliseconds: number): Promise<boolean> => {
    if (milliseconds <= 0) return false;
    const stop = new AbortController();
    const late = wait(milliseconds, stop.signal).then(() => false);
    late.catch(() => undefined);
    return Promise.race([drained.then(() => true), late]).finally(() => stop.abort());
  };
  const timeoutMs = timeoutSeconds * 1000;
  const first = Math.min(noticeMs, timeoutMs);
  if (timeoutMs > 0 && !(await within(first))) {
    const { running } = server;
    const those = running === 1 ? '1 request is finishing' : `${running} requests are finishing`;
    if (running > 0) log(`${those}, for up to ${timeoutSeconds} s; press Ctrl+C again to end now.`);
    if (!(await within(timeoutMs - first))) {
      requestQueue.stopAll();
      await within(lastEventsMs);
    }
  }
  await server.close();
}
