import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { RawData, WebSocket, WebSocketServer } from 'ws';
import { AppError, asAppError } from '../core/errors.ts';
import { plainAddress } from './address.ts';
import type { AccessRule, Call, Endpoint, Reply } from './call.ts';
import { errorRefusal } from './error-reply.ts';
import type { Guard } from './guard.ts';
import { plainPath, queryOf, router } from './router.ts';
import type { StartTimer } from './timers.ts';

interface UpgradeParts extends LiveSocketParts {
  /** Whether the server is stopping and takes no new requests. */
  readonly stopping: () => boolean;
  readonly endpoints: readonly SocketEndpoint[];
  readonly guard: Guard;
  readonly mostMessageBytes: number;
  /** Writes an error response on a socket without a response object, and ends it. */
  readonly refuse: (socket: Duplex, reply: Reply) => void;
  readonly webSockets?: (() => Promise<typeof import('ws')>) | undefined;
  /** Settles when all earlier requests on the connection are answered. */
  readonly answered: (socket: Duplex) => Promise<void>;
}

/** A client that does not answer the closing frame for this long is disconnected. */
const closingMilliseconds = 1000;

/** WebSockets have the same guard as other endpoints. */
export function createUpgrades(parts: UpgradeParts) {
  const { endpoints, refuse, mostMessageBytes, answered, webSockets = () => import('ws') } = parts;
  const routes = router(endpoints.map((endpoint) => ({ ...endpoint, method: 'GET' as const })));
  let sockets: Promise<WebSocketServer> | undefined;
  // Imported on first use: most servers never need it.
  const opening = async (): Promise<WebSocketServer> => {
    const { WebSocketServer: Server } = await webSockets();
    // `liveSocket` answers pings: those of a client that never reads must not fill the memory.
    return new Server({ noServer: true, maxPayload: mostMessageBytes, perMessageDeflate: false, autoPong: false });
  };

  /**
   * Handles the `upgrade` event of a server, on a socket that has an error listener. Never rejects. Upgrades to other protocols (`h2c`)
   * are ignored, and their requests served as plain HTTP.
   */
  async function take(listener: Server, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const known = /^websocket$/i.test(request.headers.upgrade ?? '');
    const path = plainPath(request.url ?? '');
    const found = known ? routes.find('GET', path) : undefined;
    try {
      const error = found
        ? await refusalFor(parts, request, found)
        : new AppError('not-found', { method: 'GET', path });
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
        found?.open({ path, query: queryOf(url), headers, remoteAddress }, liveSocket(opened, parts));
      } catch (error) {
        parts.onError(error);
        opened.close(1011, 'something unexpected went wrong');
      }
    }
  }

  /** Closes all of them. Settles when they are closed. */
  async function close(): Promise<void> {
    const server = await sockets?.catch(() => undefined);
    await Promise.all([...(server?.clients ?? [])].map((socket) => closed(socket, parts.startTimer)));
  }

  return { take, close };
}

function closed(socket: WebSocket, startTimer: StartTimer): Promise<void> {
  return new Promise((resolve) => {
    const timer = startTimer(closingMilliseconds, () => socket.terminate());
    socket.once('close', () => {
      timer.cancel();
      resolve();
    });
    socket.close(1001, 'the server is stopping');
  });
}

async function refusalFor(
  { guard, stopping }: Pick<UpgradeParts, 'guard' | 'stopping'>,
  { headers, url }: IncomingMessage,
  route: SocketEndpoint,
): Promise<AppError | undefined> {
  const refused = guard.refuseHost(headers, route) ?? guard.refuseOrigin(headers, route);
  const refusedKey = refused ?? guard.refuseKey(await guard.identify(headers, route, url), route);
  return refusedKey ?? (stopping() ? new AppError('stopping', {}) : undefined);
}

/** Passes the request to the server again, without its upgrade headers. */
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

/** A path where clients open WebSockets. */
export interface SocketEndpoint extends AccessRule, Pick<Endpoint, 'path' | 'summary' | 'family'> {
  readonly match: 'exact' | 'ending';
  /** Called when the connection is open. An exception closes it. */
  readonly open: (call: SocketCall, socket: LiveSocket) => void;
}

export type SocketCall = Pick<Call, 'path' | 'query' | 'headers' | 'remoteAddress'>;
export type LiveSocket = ReturnType<typeof liveSocket>;

interface LiveSocketParts {
  readonly startTimer: StartTimer;
  /** A client with more unsent bytes than this is disconnected. */
  readonly mostWaitingBytes: number;
  readonly pingMilliseconds: number;
  readonly onError: (error: unknown) => void;
}

/** Unsent bytes from which a client counts as slow: more than a few messages, less than a few pictures. */
const mostBehind = 2 ** 18;
/** Unsent bytes from which pings of the client are not answered. */
const mostWaitingPongs = 16_384;

/** An open WebSocket as an endpoint uses it. */
export function liveSocket(socket: WebSocket, parts: LiveSocketParts) {
  const ended = new AbortController();
  let answered = true;
  // A client that has not answered a ping when the next is due is gone.
  const ping = parts.startTimer(parts.pingMilliseconds, () => {
    if (!answered) return socket.terminate();
    answered = false;
    socket.ping();
    ping.restart();
  });
  // Pongs to a client that reads nothing would fill the memory. It does not answer our pings either, which ends it.
  socket.on('ping', (data: Buffer) => {
    if (socket.readyState === socket.OPEN && socket.bufferedAmount < mostWaitingPongs) socket.pong(data);
  });
  socket.on('pong', () => {
    answered = true;
  });
  // An invalid frame ends the connection; `close` follows.
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
    /** Aborts when the connection has ended. */
    signal: ended.signal,
    /** Does nothing once the client is gone. Ends the connection if too many bytes are unsent. */
    send,
    /** For messages that may be lost, such as previews: dropped while the client is slow. */
    sendOrDrop: (message: string | Uint8Array): void => {
      if (socket.bufferedAmount < mostBehind) send(message);
    },
    close: (code?: number, reason?: string): void => socket.close(code, reason),
    onMessage: (listener: (message: string | Buffer) => void): void => {
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
