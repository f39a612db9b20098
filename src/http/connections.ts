import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Aborted } from '../core/abort.ts';
import { Latch } from '../core/synchronization.ts';

interface PendingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly controller: AbortController;
}

/** The requests in flight on each socket. Its `close` event counts: it comes in every phase, and over TLS too. */
export function createConnections() {
  const sockets = new Set<Duplex>();
  /** Those that end when nothing is in flight on them, once the server is stopping. */
  const ending = new Set<Duplex>();
  let closing = false;
  let draining = false;
  const drained = new Latch();
  const requests = new WeakMap<Duplex, Set<PendingRequest>>();
  /** Of all sockets. */
  const inFlight = new Set<PendingRequest>();

  const abortReason = (): Aborted => new Aborted(closing ? 'shutdown' : 'client-gone');

  const finished = (pending: PendingRequest): void => {
    inFlight.delete(pending);
    if (draining && inFlight.size === 0) drained.release();
  };

  const requestsOf = (socket: Duplex): Set<PendingRequest> => {
    const known = requests.get(socket);
    if (known) return known;
    const open = new Set<PendingRequest>();
    requests.set(socket, open);
    socket.once('close', () => {
      for (const pending of open) {
        pending.controller.abort(abortReason());
        finished(pending);
      }
      open.clear();
    });
    return open;
  };

  const endIfIdle = (socket: Duplex): void => {
    if (ending.has(socket) && !requests.get(socket)?.size) endSoon(socket);
  };

  const add = (socket: Duplex): void => {
    ending.add(socket);
    // One that asked for an upgrade which is ignored comes again.
    if (sockets.has(socket)) return;
    sockets.add(socket);
    // The HTTP server removes its own listener on an upgrade, and an unhandled `error` would end the process.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      sockets.delete(socket);
      ending.delete(socket);
    });
  };

  return {
    /** For every socket at its first event, before anything is awaited. */
    add,
    /** For the socket under a TLS socket, which ends with that one. */
    addCarrier(socket: Duplex): void {
      add(socket);
      ending.delete(socket);
    },
    /** For a socket that speaks another protocol from now on. */
    handOver: (socket: Duplex) => void ending.delete(socket),
    /** Aborts when the socket closes before the response is complete, and never after. */
    controllerFor(request: IncomingMessage, response: ServerResponse): AbortController {
      const { socket } = request;
      const pending = { request, response, controller: new AbortController() };
      const open = requestsOf(socket);
      open.add(pending);
      inFlight.add(pending);
      if (draining) response.shouldKeepAlive = false;
      response.once('finish', () => {
        open.delete(pending);
        if (draining) endIfIdle(socket);
        finished(pending);
      });
      if (socket.destroyed) {
        pending.controller.abort(abortReason());
        finished(pending);
      }
      return pending.controller;
    },
    /** How many requests are in flight. */
    get running(): number {
      return inFlight.size;
    },
    get draining(): boolean {
      return draining;
    },
    /** Whether the head of a response is sent, so that nothing else may be written to the socket. */
    answering: (socket: Duplex) => [...(requests.get(socket) ?? [])].some(({ response }) => response.headersSent),
    /** Settles when every complete request on the socket is answered, or the socket is closed. */
    async answered(socket: Duplex): Promise<void> {
      for (;;) {
        const ahead = [...(requests.get(socket) ?? [])].find(({ request }) => request.complete);
        if (!ahead) return;
        await new Promise<void>((resolve) => {
          const done = (): void => {
            ahead.response.off('finish', done);
            socket.off('close', done);
            resolve();
          };
          ahead.response.once('finish', done);
          socket.once('close', done);
        });
      }
    },
    /** Ends idle connections now and the others after their last response. Settles when no request is in flight. */
    drain(): Promise<void> {
      draining = true;
      for (const { response } of inFlight) if (!response.headersSent) response.shouldKeepAlive = false;
      for (const socket of ending) endIfIdle(socket);
      return inFlight.size === 0 ? Promise.resolve() : drained.wait();
    },
    /** Settles when every socket is closed and the signals of its requests are aborted. */
    async destroyAll(): Promise<void> {
      closing = true;
      await Promise.all(
        [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve).destroy())),
      );
    },
  };
}

/** What is written is still sent. */
function endSoon(socket: Duplex & { destroySoon?: () => void }): void {
  if (socket.destroySoon) socket.destroySoon();
  else socket.end(() => socket.destroy());
}
