import type { Socket } from 'node:net';
import type { StartTimer, Timer } from './timers.ts';

export interface WriteStallParts {
  readonly startTimer: StartTimer;
  /** How long a client may take no byte of what waits for it; 0 for ever. */
  readonly stallTimeoutMs: number;
}

/**
 * Destroys the connection of a client that takes nothing of what is written to it: what it asked for is aborted, and its
 * model can be swapped. A slow client is not a stalled one, so progress is measured and not the time until all is sent.
 * Runs until it is cancelled; `restart` begins anew.
 */
export function watchWrites(socket: Socket, { startTimer, stallTimeoutMs }: WriteStallParts): Timer {
  if (stallTimeoutMs <= 0) return { restart: () => undefined, cancel: () => undefined };
  let before = unsentBytes(socket);
  const timer = startTimer(stallTimeoutMs, () => {
    const now = unsentBytes(socket);
    if (now > 0 && now === before) return void socket.destroy();
    before = now;
    timer.restart();
  });
  return {
    restart: () => {
      before = unsentBytes(socket);
      timer.restart();
    },
    cancel: () => timer.cancel(),
  };
}

/**
 * What the socket holds and the system has not taken. A write in progress counts as a whole in `writableLength`; only the
 * handle knows how much of it is left, as Node's own socket time-out looks at it. Whatever the handle counts, both change
 * only when something is sent.
 */
function unsentBytes(socket: Socket): number {
  const handle = (socket as { readonly _handle?: { readonly writeQueueSize?: number } | null })._handle;
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}
