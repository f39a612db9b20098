import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type StartTimer, systemTimer, type Timer } from '../core/timers.ts';
import type { KeepAlive, StatusComments } from './call.ts';

/** How long the head waits for the first piece, to be sent together with it: a write less, and the client wakes up once. */
const headMs = 5;

/** Characters collected before a write: a few packets. The buffer never exceeds this and one more piece. */
const maxPending = 16_384;

interface StreamOptions {
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
  readonly keepAlive?: KeepAlive | undefined;
  readonly statusComments?: StatusComments | undefined;
  readonly startTimer?: StartTimer;
  /** Starts the stall timer, at the first write that the socket does not take at once. */
  readonly watchWrites?: () => Timer;
  /** Called with each write, comments included. */
  readonly wrote?: ((piece: string | Uint8Array) => void) | undefined;
}

/**
 * Writes a stream whose head is already set. Pieces that are ready together (in one run of microtasks) become one write,
 * which is by far the dearest step: about 9 µs of 11 to 15. Corking by hand and passing buffers were slower.
 *
 * Back-pressure: the iterator is not pulled while the socket is full, and the stall timer runs (`watchWrites`). Resolves
 * when the last byte is written or the client is gone; rejects with the iterator's error, the response then unfinished.
 * Pulls with callbacks: racing each piece with the disconnect would add a listener to one long-lived promise per piece.
 */
export function writeStream(
  response: ServerResponse,
  stream: AsyncIterable<string | Uint8Array>,
  options: StreamOptions,
): Promise<void> {
  const { signal, keepAlive, statusComments, startTimer = systemTimer, watchWrites, wrote } = options;
  return new Promise((resolve, reject) => {
    const iterator = stream[Symbol.asyncIterator]();
    let pending = '';
    let pulling = false;
    let flushing = false;
    let blocked = false;
    let over = false;
    let begun = false;
    let stall: Timer | undefined;
    let head: NodeJS.Timeout | undefined;

    const leave = (settle: () => void): void => {
      if (over) return;
      over = true;
      clearTimeout(head);
      silence?.cancel();
      commentTimer?.cancel();
      stall?.cancel();
      signal.removeEventListener('abort', disconnected);
      settle();
    };
    const disconnected = (): void => {
      leave(resolve);
      // Not awaited: a generator returns only after its pending step. Its errors no longer matter.
      Promise.resolve(iterator.return?.()).catch(() => undefined);
    };
    const failed = (error: unknown): void => {
      // What a failure cuts off must have begun.
      response.flushHeaders();
      flush();
      leave(() => reject(error));
    };

    const watch = (): void => {
      if (stall) stall.restart();
      else stall = watchWrites?.();
    };
    const write = (piece: string | Uint8Array): void => {
      clearTimeout(head);
      silence?.restart();
      wrote?.(piece);
      if (response.write(piece)) return;
      blocked = true;
      watch();
      response.once('drain', () => {
        stall?.cancel();
        blocked = false;
        pull();
      });
    };
    const flush = (): void => {
      flushing = false;
      if (over || pending === '') return;
      const text = pending;
      pending = '';
      write(text);
    };
    const take = ({ done, value }: IteratorResult<string | Uint8Array>): void => {
      pulling = false;
      begun = true;
      if (over) return;
      if (done) {
        silence?.cancel();
        commentTimer?.cancel();
        clearTimeout(head);
        if (pending !== '') wrote?.(pending);
        response.end(pending, () => leave(resolve));
        pending = '';
        watch();
        return;
      }
      if (typeof value !== 'string') {
        flush();
        write(value);
        pull();
        return;
      }
      pending += value;
      if (pending.length >= maxPending) flush();
      else if (!flushing) {
        flushing = true;
        process.nextTick(flush);
      }
      pull();
    };
    const pull = (): void => {
      if (over || blocked || pulling) return;
      pulling = true;
      try {
        iterator.next().then(take, failed);
      } catch (error) {
        failed(error);
      }
    };

    const fill = ({ filler, initialFiller = filler, progress }: KeepAlive): void =>
      write(progress?.() ?? (begun ? filler : initialFiller));
    const silence =
      keepAlive &&
      startTimer(keepAlive.milliseconds, () => {
        if (blocked || pending !== '') silence?.restart();
        else fill(keepAlive);
      });

    const writeComment = (): void => {
      try {
        // Skipped while the client does not read, so that comments do not pile up.
        const text = blocked ? '' : statusComments?.next();
        if (text === undefined) return;
        if (text !== '') write(text);
        if (!over) commentTimer?.restart();
      } catch (error) {
        failed(error);
        Promise.resolve(iterator.return?.()).catch(() => undefined);
      }
    };
    const commentTimer = statusComments && startTimer(statusComments.milliseconds, writeComment);

    if (signal.aborted) return disconnected();
    signal.addEventListener('abort', disconnected);
    head = setTimeout(() => response.flushHeaders(), headMs);
    if (commentTimer) writeComment();
    else if (keepAlive?.immediately) fill(keepAlive);
    pull();
  });
}

export interface StallOptions {
  readonly startTimer: StartTimer;
  /** 0 for no time-out. */
  readonly stallTimeoutMs: number;
}

/**
 * Destroys the connection of a client that makes no progress in reading for the time-out. Runs until it is cancelled, but not for a
 * connection that is closed already: no event would come to cancel it.
 */
export function watchWrites(socket: Socket, { startTimer, stallTimeoutMs }: StallOptions): Timer {
  if (stallTimeoutMs <= 0 || socket.destroyed) return { restart: () => undefined, cancel: () => undefined };
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

/** Bytes that the system has not taken. Only the handle knows how much of a write in progress is left. */
function unsentBytes(socket: Socket): number {
  const handle = (socket as { readonly _handle?: { readonly writeQueueSize?: number } | null })._handle;
  return socket.writableLength + (handle?.writeQueueSize ?? 0);
}
