import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { RawData, WebSocket, WebSocketServer } from 'ws';
import { Aborted } from '../core/abort.ts';
import { AppError, asAppError } from '../core/errors.ts';
import type { KeyScope } from '../core/people.ts';
import type { RequestObserver } from '../core/request-observer.ts';
import type { StartTimer } from '../core/timers.ts';
import { plainAddress } from './address.ts';
import type { AccessRule, Call, ClientKey, Endpoint, Reply } from './call.ts';
import { errorRefusal } from './error-reply.ts';
import { type Identity, reportIdentity, withoutProtocolKey } from './guard.ts';
import type { RequestDeps } from './handle-request.ts';
import { plainPath, queryOf, router } from './router.ts';

type SharedDeps = 'stopping' | 'guard' | 'onRefused' | 'rate' | 'now' | 'newId' | 'observeRequest';

interface UpgradeDeps extends LiveSocketDeps, Pick<RequestDeps, SharedDeps> {
  readonly endpoints: readonly SocketEndpoint[];
  readonly maxMessageBytes: number;
  /** Writes an error response on a socket without a response object, and ends it. */
  readonly refuse: (socket: Duplex, reply: Reply) => void;
  readonly webSockets?: (() => Promise<typeof import('ws')>) | undefined;
  /** Settles when all earlier requests on the connection are answered. */
  readonly answered: (socket: Duplex) => Promise<void>;
}

/** A client that does not answer the closing frame for this long is disconnected. */
const closingMilliseconds = 1000;

/** WebSockets have the same guard as other endpoints. */
export function createUpgrades(deps: UpgradeDeps) {
  const { endpoints, refuse, maxMessageBytes, answered, webSockets = () => import('ws') } = deps;
  const routes = router(endpoints.map((endpoint) => ({ ...endpoint, method: 'GET' as const })));
  let sockets: Promise<WebSocketServer> | undefined;
  // Imported on first use: most servers never need it.
  const opening = async (): Promise<WebSocketServer> => {
    const { WebSocketServer: Server } = await webSockets();
    // `liveSocket` answers pings: those of a client that never reads must not fill the memory.
    return new Server({
      noServer: true,
      maxPayload: maxMessageBytes,
      perMessageDeflate: false,
      autoPong: false,
      // The first one that the endpoint knows: others may contain a key, which must not be sent back.
      handleProtocols: (offered, { url = '' }) => {
        const known = routes.find('GET', plainPath(url))?.protocols;
        return [...offered].find((name) => known?.includes(name) ?? true) ?? false;
      },
    });
  };

  /**
   * Handles the `upgrade` event of a server, on a socket that has an error listener. Never rejects. Upgrades to other protocols (`h2c`)
   * are ignored, and their requests served as plain HTTP.
   */
  async function take(listener: Server, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const known = /^websocket$/i.test(request.headers.upgrade ?? '');
    const path = plainPath(request.url ?? '');
    const route = known ? routes.find('GET', path) : undefined;
    let owner: ClientKey | undefined;
    try {
      const admitted = route && (await admission(deps, request, route));
      const error = admitted ? admitted.error : new AppError('not-found', { method: 'GET', path });
      owner = admitted && keyOf(admitted.identity);
      if (known && !error) sockets ??= opening();
      const loaded = known && !error ? route?.load?.() : undefined;
      const [server] = await Promise.all([known && !error ? sockets : undefined, loaded, answered(socket)]);
      if (socket.destroyed) return;
      if (!known) plainly(listener, request, socket, head);
      else if (error) {
        const reply = route ? route.dialect.errorReply(error) : errorRefusal(error);
        const remoteAddress = plainAddress(request.socket.remoteAddress);
        deps.onRefused?.({ error, status: reply.status, method: 'GET', path, remoteAddress });
        refuse(socket, reply);
      } else server?.handleUpgrade(request, socket, head, (opened) => begin(opened));
    } catch (failure) {
      sockets = undefined;
      deps.onError(failure);
      await answered(socket);
      refuse(socket, errorRefusal(asAppError(failure)));
    }
    function begin(opened: WebSocket): void {
      try {
        const { url = '' } = request;
        const headers = withoutProtocolKey(request.headers);
        const remoteAddress = plainAddress(request.socket.remoteAddress);
        const call = { path, query: queryOf(url), headers, remoteAddress, ...(owner ? { key: owner } : {}) };
        const begin = (options?: WorkOptions) => beginWork(deps, request, route as SocketEndpoint, call, options);
        route?.open({ ...call, begin }, liveSocket(opened, deps));
      } catch (error) {
        deps.onError(error);
        opened.close(1011, 'something unexpected went wrong');
      }
    }
  }

  /** Closes all of them. Settles when they are closed. */
  async function close(): Promise<void> {
    const server = await sockets?.catch(() => undefined);
    await Promise.all([...(server?.clients ?? [])].map((socket) => closed(socket, deps.startTimer)));
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

/** Who sends the request, and why it is refused. */
async function admission(
  { guard, stopping }: Pick<UpgradeDeps, 'guard' | 'stopping'>,
  { headers, url = '', socket }: IncomingMessage,
  route: SocketEndpoint,
  { scope, counted = true }: { readonly scope?: KeyScope | undefined; readonly counted?: boolean } = {},
): Promise<{ readonly identity: Identity; readonly error: AppError | undefined }> {
  const refused = guard.refuseHost(headers, route) ?? guard.refuseOrigin(headers, route);
  if (refused) return { identity: { type: 'nobody' }, error: refused };
  const identity = await guard.identify(headers, route, { target: url, address: plainAddress(socket.remoteAddress) });
  const scopeRefused = scope === undefined ? undefined : guard.refuseKey(identity, { ...route, scope }, 'part');
  const keyRefused = scopeRefused ?? guard.refuseKey(identity, route, counted ? 'work' : 'part');
  return { identity, error: keyRefused ?? (stopping() ? new AppError('stopping', {}) : undefined) };
}

/** Checks the key again, which may have been removed or be over its rate, and the rate of the address. */
async function beginWork(
  deps: UpgradeDeps,
  request: IncomingMessage,
  route: SocketEndpoint,
  { path, headers, remoteAddress }: Omit<SocketCall, 'begin'>,
  { scope, spaced = true }: WorkOptions = {},
): Promise<SocketWork> {
  const id = deps.newId();
  const { dialect, path: endpoint, recorded } = route;
  const head = { id, method: 'GET', path, family: dialect.name, endpoint, recorded, remoteAddress, headers };
  const { identity, error: notAdmitted } = await admission(deps, request, route, { scope });
  const refused = notAdmitted ?? deps.guard.refuseTokens(identity, scope);
  const retryAfterSeconds = refused || !spaced ? 0 : deps.rate(remoteAddress, deps.now());
  const error = refused ?? (retryAfterSeconds > 0 ? new AppError('rate-limited', { retryAfterSeconds }) : undefined);
  const watch = deps.observeRequest?.(head);
  if (error) {
    watch?.errored?.(error);
    watch?.replied?.(error.status, {});
    watch?.ended?.('sent');
    throw error;
  }
  reportIdentity(watch, identity);
  const check = async (): Promise<void> => {
    const now = await admission(deps, request, route, { scope, counted: false });
    if (now.error) throw now.error;
  };
  const key = keyOf(identity);
  return { id, watch, check, ...(key && { key }) };
}

const keyOf = (identity: Identity): ClientKey | undefined => (identity.type === 'key' ? identity.key : undefined);

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
export interface SocketEndpoint extends AccessRule, Pick<Endpoint, 'path' | 'summary' | 'dialect' | 'recorded'> {
  readonly match: 'exact' | 'ending';
  /** The subprotocols that it knows; without a list the first that a client offers is accepted. */
  readonly protocols?: readonly string[];
  /** Loads what `open` needs, before the connection is accepted: no message can arrive meanwhile. */
  readonly load?: () => Promise<void>;
  /** Called when the connection is open. An exception closes it. */
  readonly open: (call: SocketCall, socket: LiveSocket) => void;
}

export interface SocketCall extends Pick<Call, 'path' | 'query' | 'headers' | 'remoteAddress' | 'key'> {
  /** Begins work of this connection, as a request of its own for limits, logs and metrics. Throws if it is refused. */
  begin(options?: WorkOptions): Promise<SocketWork>;
}

export interface WorkOptions {
  /** Scope that a key needs besides that of the connection. */
  readonly scope?: KeyScope;
  /** False for work that follows from work that was just admitted: `--ratelimit` does not apply to it. */
  readonly spaced?: boolean;
}

export interface SocketWork {
  readonly id: string;
  readonly watch: RequestObserver | undefined;
  /** The key as it is now. */
  readonly key?: ClientKey;
  /** Throws if the work may not continue: the key was removed, has expired or has lost a scope. Counts against no rate. */
  check(): Promise<void>;
}

export type LiveSocket = ReturnType<typeof liveSocket>;

interface LiveSocketDeps {
  readonly startTimer: StartTimer;
  /** A client with more unsent bytes than this is disconnected. */
  readonly maxWaitingBytes: number;
  readonly pingMilliseconds: number;
  readonly onError: (error: unknown) => void;
}

/** Unsent bytes from which a client counts as slow: more than a few messages, less than a few pictures. */
const slowClientBytes = 2 ** 18;
/** How often a client that is behind is looked at. The `ws` package has no event for it. */
const writtenMilliseconds = 20;
/** Unsent bytes from which pings of the client are not answered. */
const maxWaitingPongs = 16_384;

/** An open WebSocket as an endpoint uses it. */
export function liveSocket(socket: WebSocket, deps: LiveSocketDeps) {
  const ended = new AbortController();
  let answered = true;
  // A client that has not answered a ping when the next is due is gone.
  const ping = deps.startTimer(deps.pingMilliseconds, () => {
    if (!answered) return socket.terminate();
    answered = false;
    socket.ping();
    ping.restart();
  });
  // Pongs to a client that reads nothing would fill the memory. It does not answer our pings either, which ends it.
  socket.on('ping', (data: Buffer) => {
    if (socket.readyState === socket.OPEN && socket.bufferedAmount < maxWaitingPongs) socket.pong(data);
  });
  socket.on('pong', () => {
    answered = true;
  });
  // An invalid frame ends the connection; `close` follows.
  socket.on('error', () => undefined);
  socket.on('close', () => {
    ping.cancel();
    ended.abort(new Aborted('client-gone'));
  });
  const send = (message: string | Uint8Array): void => {
    if (socket.readyState !== socket.OPEN) return;
    socket.send(message);
    if (socket.bufferedAmount > deps.maxWaitingBytes) socket.terminate();
  };
  return {
    /** Aborts when the connection has ended. */
    signal: ended.signal,
    /** Does nothing once the client is gone. Ends the connection if too many bytes are unsent. */
    send,
    /** For messages that may be lost, such as previews: dropped while the client is slow. */
    sendOrDrop: (message: string | Uint8Array): void => {
      if (socket.bufferedAmount < slowClientBytes) send(message);
    },
    /** Resolves when everything that was sent is written, or the client has disconnected: back-pressure for the sender. */
    written: (): Promise<void> =>
      new Promise((resolve) => {
        if (socket.readyState !== socket.OPEN || socket.bufferedAmount < slowClientBytes) return resolve();
        const wait = deps.startTimer(writtenMilliseconds, () => {
          const gone = socket.readyState !== socket.OPEN;
          if (gone || socket.bufferedAmount < slowClientBytes) resolve();
          else wait.restart();
        });
      }),
    close: (code?: number, reason?: string): void => socket.close(code, reason),
    /** Nothing more is read from the client while a promise of the listener is pending. */
    onMessage: (listener: (message: string | Buffer) => void | Promise<void>): void => {
      const fail = (error: unknown): void => {
        deps.onError(error);
        socket.close(1011, 'something unexpected went wrong');
      };
      // Messages that had arrived before the pause wait for the earlier ones.
      let waiting = 0;
      let last: Promise<void> = Promise.resolve();
      const handle = (data: RawData, binary: boolean): void | Promise<void> =>
        listener(binary ? wholeOf(data) : wholeOf(data).toString('utf8'));
      const inTurn = (work: Promise<void>): void => {
        if (waiting++ === 0) socket.pause();
        last = work.catch(fail).then(() => {
          if (--waiting === 0) socket.resume();
        });
      };
      socket.on('message', (data: RawData, binary: boolean) => {
        if (waiting > 0) return inTurn(last.then(() => handle(data, binary)));
        try {
          const pending = handle(data, binary);
          if (pending) inTurn(pending);
        } catch (error) {
          fail(error);
        }
      });
    },
  };
}

function wholeOf(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? Buffer.from(data) : data;
}
