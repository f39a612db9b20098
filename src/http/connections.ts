import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Aborted } from '../core/abort-cause.ts';

interface PendingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly controller: AbortController;
}

/** The requests in flight on each socket. Its `close` event counts: it comes in every phase, and over TLS too. */
export function createConnections() {
  const sockets = new Set<Duplex>();
  let closing = false;
  const requests = new WeakMap<Duplex, Set<PendingRequest>>();

  const gone = (): Aborted => new Aborted(closing ? 'shutdown' : 'client-gone');

  const requestsOf = (socket: Duplex): Set<PendingRequest> => {
    const known = requests.get(socket);
    if (known) return known;
    const open = new Set<PendingRequest>();
    requests.set(socket, open);
    socket.once('close', () => {
      for (const { controller } of open) controller.abort(gone());
      open.clear();
    });
    return open;
  };

  return {
    /** For every socket at its first event, before anything is awaited. */
    add(socket: Duplex): void {
      // The HTTP server removes its own listener on an upgrade, and an unhandled `error` would end the process.
      socket.on('error', () => undefined);
      if (sockets.has(socket)) return;
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    },
    /** Aborts when the socket closes before the response is complete, and never after. */
    controllerFor(request: IncomingMessage, response: ServerResponse): AbortController {
      const { socket } = request;
      const pending = { request, response, controller: new AbortController() };
      const open = requestsOf(socket);
      open.add(pending);
      response.once('finish', () => open.delete(pending));
      if (socket.destroyed) pending.controller.abort(gone());
      return pending.controller;
    },
    /** Whether the head of a response is sent, so that nothing else may be written to the socket. */
    answering: (socket: Duplex) => [...(requests.get(socket) ?? [])].some(({ response }) => response.headersSent),
    /** Settles when every complete request on the socket is answered, or the socket is closed. */
    async answered(socket: Duplex): Promise<void> {
      for (;;) {
        const ahead = [...(requests.get(socket) ?? [])].find(({ request }) => request.complete);
        if (!ahead) return;
        await new Promise<void>((resolve) => {
          ahead.response.once('finish', resolve);
          socket.once('close', resolve);
        });
      }
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
