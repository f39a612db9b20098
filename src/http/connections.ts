import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Aborted } from '../core/abort-cause.ts';

/**
 * The requests in flight on each socket. The socket's own end is what counts: it comes in every phase (while a body is
 * read, while a request waits or runs or streams), over TLS too, and for requests that were sent ahead on one connection.
 */
export interface Connections {
  /** For every socket at its first event, before anything is awaited: from then on its errors end it alone. */
  add(socket: Duplex): void;
  /** Aborts when the socket closes before the response is complete, and never after. */
  controllerFor(request: IncomingMessage, response: ServerResponse): AbortController;
  /** Whether the head of an answer is out: whatever is written beside it would land in its middle. */
  answering(socket: Duplex): boolean;
  /** Settles when every request that came whole on the socket is answered, or the socket is closed. */
  answered(socket: Duplex): Promise<void>;
  /** Settles when every socket is closed and every signal that hung on one has fired. */
  destroyAll(): Promise<void>;
}

interface PendingRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly controller: AbortController;
}

export function createConnections(): Connections {
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
    add(socket) {
      // The HTTP server takes its own listener off when a connection is upgraded. A socket without one that is reset ends
      // the process; its `close` event follows and is what everybody here listens to.
      socket.on('error', () => undefined);
      if (sockets.has(socket)) return;
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    },
    controllerFor(request, response) {
      const { socket } = request;
      const pending = { request, response, controller: new AbortController() };
      const open = requestsOf(socket);
      open.add(pending);
      response.once('finish', () => open.delete(pending));
      if (socket.destroyed) pending.controller.abort(gone());
      return pending.controller;
    },
    answering: (socket) => [...(requests.get(socket) ?? [])].some(({ response }) => response.headersSent),
    async answered(socket) {
      for (;;) {
        const ahead = [...(requests.get(socket) ?? [])].find(({ request }) => request.complete);
        if (!ahead) return;
        await new Promise<void>((resolve) => {
          ahead.response.once('finish', resolve);
          socket.once('close', resolve);
        });
      }
    },
    async destroyAll() {
      closing = true;
      await Promise.all(
        [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve).destroy())),
      );
    },
  };
}
