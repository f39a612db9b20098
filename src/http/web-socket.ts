import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { RawData, WebSocket, WebSocketServer } from 'ws';
import { AppError, asAppError } from '../core/errors.ts';
import { plainAddress } from './address.ts';
import type { AccessRule, Endpoint, Family, Reply } from './call.ts';
import { errorRefusal } from './error-reply.ts';
import type { Guard } from './guard.ts';
import { plainPath, queryOf, type Router, router } from './router.ts';
import type { StartTimer } from './timers.ts';

export interface UpgradeParts extends LiveSocketParts {
  readonly endpoints: readonly SocketEndpoint[];
  readonly guard: Guard;
  readonly mostMessageBytes: number;
  /** Writes a refusal on a socket that has no response object, and ends it. */
  readonly refuse: (socket: Duplex, reply: Reply) => void;
  /** Imports the package `ws`; a test decides when that is done. */
  readonly webSockets?: (() => Promise<typeof import('ws')>) | undefined;
  /** Settles when everything that is ahead of a request on its connection is answered. */
  readonly answered: (socket: Duplex) => Promise<void>;
}

export interface Upgrades {
  /** For the `upgrade` event of a server, on a socket that has an error listener. Never rejects. */
  take(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

/**
 * WebSockets, behind the same guard as all else: a page that somebody merely visits cannot open one. Other protocols that a
 * client would rather speak (`h2c`, which some send with their first request) are not spoken here: those requests go on as
 * the plain requests that they also are.
 */
export function createUpgrades(parts: UpgradeParts): Upgrades {
  const { endpoints, guard, refuse, mostMessageBytes, answered, webSockets = () => import('ws') } = parts;
  const routes: Router<SocketRoute> = router(endpoints.map(asRoute));
  let sockets: Promise<WebSocketServer> | undefined;
  // Loaded by the first who needs it: most servers never do.
  const opening = async (): Promise<WebSocketServer> => {
    const { WebSocketServer: Server } = await webSockets();
    // `liveSocket` answers pings itself: a client that never reads must not fill the memory with pongs.
    return new Server({ noServer: true, maxPayload: mostMessageBytes, perMessageDeflate: false, autoPong: false });
  };

  return {
    async take(listener, request, socket, head) {
      const known = /^websocket$/i.test(request.headers.upgrade ?? '');
      const path = plainPath(request.url ?? '');
      const found = known ? routes.find('GET', path) : undefined;
      const error = found ? refusalFor(guard, request, found) : new AppError('not-found', { method: 'GET', path });
      try {
        if (known && !error) sockets ??= opening();
        const [server] = await Promise.all([known && !error ? sockets : undefined, answered(socket)]);
        if (socket.destroyed) return;
        if (!known) plainly(listener, request, socket, head);
        else if (error) refuse(socket, found ? found.family.errorReply(error) : errorRefusal(error));
        else server?.handleUpgrade(request, socket, head, (opened) => begin(opened));
      } catch (failure) {
        sockets = undefined;
        parts.onError(failure);
        await answered(socket);
        refuse(socket, errorRefusal(asAppError(failure)));
      }
      function begin(opened: WebSocket): void {
        try {
          const { headers, url = '' } = request;
          const remoteAddress = plainAddress(request.socket.remoteAddress);
          found?.socket.open({ path, query: queryOf(url), headers, remoteAddress }, liveSocket(opened, parts));
        } catch (error) {
          parts.onError(error);
          opened.close(1011, 'something unexpected went wrong');
        }
      }
    },
  };
}

/** The guard and the router know endpoints; to them this is one that is asked for by GET. */
interface SocketRoute extends Endpoint {
  readonly socket: SocketEndpoint;
}

function asRoute(socket: SocketEndpoint): SocketRoute {
  const { path } = socket;
  const handle = (): Reply => errorRefusal(new AppError('not-found', { method: 'GET', path }));
  return { ...socket, method: 'GET', rateLimited: false, handle, socket };
}

function refusalFor(guard: Guard, { headers }: IncomingMessage, route: SocketRoute): AppError | undefined {
  return guard.refuseHost(headers, route) ?? guard.refuseOrigin(headers, route) ?? guard.refuseKey(headers, route);
}

/** Hands the request to the server once more, as if the client had never asked for another protocol. */
function plainly(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1]}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit(socket instanceof TLSSocket ? 'secureConnection' : 'connection', socket);
}

/** A path where a client may open a connection for messages in both directions. */
export interface SocketEndpoint extends AccessRule {
  readonly match: 'exact' | 'ending';
  readonly path: string;
  readonly summary: string;
  readonly family: Family;
  /** Called when the connection stands. What it throws ends the connection. */
  readonly open: (call: SocketCall, socket: LiveSocket) => void;
}

export interface SocketCall {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly remoteAddress: string;
}

/** One open connection as an endpoint sees it. */
export interface LiveSocket {
  /** Does nothing once the client is gone. Ends the connection when too much waits for the client. */
  send(message: string | Uint8Array): void;
  /** For what may be missed, such as previews: dropped while the client is behind. */
  sendOrDrop(message: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
  /** For each message of the client; texts as texts. */
  onMessage(listener: (message: string | Buffer) => void): void;
  /** Aborts when the connection has ended, whoever ended it. */
  readonly signal: AbortSignal;
}

interface LiveSocketParts {
  readonly startTimer: StartTimer;
  /** A client that takes nothing for so long that more than this waits for it is let go. */
  readonly mostWaitingBytes: number;
  readonly pingMilliseconds: number;
  readonly onError: (error: unknown) => void;
}

/** Bytes that may wait for a client before it is taken to be behind: more than a few messages, less than a few pictures. */
const mostBehind = 2 ** 18;
/** Bytes that may wait for a client before its pings are left without an answer. */
const mostWaitingPongs = 16_384;

export function liveSocket(socket: WebSocket, parts: LiveSocketParts): LiveSocket {
  const ended = new AbortController();
  let answered = true;
  // A client whose network is gone never says so: one that does not answer a ping until the next one is taken for gone.
  const ping = parts.startTimer(parts.pingMilliseconds, () => {
    if (!answered) return socket.terminate();
    answered = false;
    socket.ping();
    ping.restart();
  });
  // A pong for each ping of a client that reads nothing would fill the memory. It gets none while others wait for it; one
  // that never reads does not answer our pings either, and is ended by that.
  socket.on('ping', (data: Buffer) => {
    if (socket.readyState === socket.OPEN && socket.bufferedAmount < mostWaitingPongs) socket.pong(data);
  });
  socket.on('pong', () => {
    answered = true;
  });
  // A frame that is too long or broken ends the connection, and `close` tells of it.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    ping.cancel();
    ended.abort();
  });
  const send = (message: string | Uint8Array): void => {
    if (socket.readyState !== socket.OPEN) return;
    socket.send(message);
    if (socket.bufferedAmount > parts.mostWaitingBytes) socket.terminate();
  };
  return {
    signal: ended.signal,
    send,
    sendOrDrop: (message) => {
      if (socket.bufferedAmount < mostBehind) send(message);
    },
    close: (code, reason) => socket.close(code, reason),
    onMessage: (listener) => {
      socket.on('message', (data: RawData, binary: boolean) => {
        try {
          listener(binary ? wholeOf(data) : wholeOf(data).toString('utf8'));
        } catch (error) {
          parts.onError(error);
          socket.close(1011, 'something unexpected went wrong');
        }
      });
    },
  };
}

function wholeOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? Buffer.from(data) : data;
}
