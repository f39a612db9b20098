import {
  createServer as createPlainServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type TLSSocket, type Server as TlsServer } from 'node:tls';
import { AppError } from '../core/errors.ts';
import { randomHex } from '../core/ids.ts';
import { heapShare } from '../core/memory.ts';
import { systemTimer } from '../core/timers.ts';
import { hostName, plainAddress } from './address.ts';
import { rateLimit } from './authorize.ts';
import { BodyBudget } from './body-budget.ts';
import type { Endpoint, Reply } from './call.ts';
import type { TlsPair } from './certificate-files.ts';
import { createConnections } from './connections.ts';
import { refusal } from './error-reply.ts';
import { removeLeftovers } from './form.ts';
import { createGuard, type GuardOptions } from './guard.ts';
import { handleRequest, type RequestDeps } from './handle-request.ts';
import { securityHeaders } from './pages.ts';
import { scopesRequests } from './request-scope.ts';
import { router } from './router.ts';
import { shareWithTls } from './shared-port.ts';
import { createUpgrades, type SocketEndpoint } from './web-socket.ts';

type RequestOptions =
  | 'maxRequestMegabytes'
  | 'scopeRequests'
  | 'openUpload'
  | 'now'
  | 'startTimer'
  | 'onRefused'
  | 'newId'
  | 'observeRequest'
  | 'streams';

export interface HttpServerOptions extends Pick<RequestDeps, 'onError'>, Partial<Pick<RequestDeps, RequestOptions>> {
  readonly endpoints: readonly Endpoint[];
  readonly sockets?: readonly SocketEndpoint[];
  /** Imports the package `ws`; for tests. */
  readonly webSockets?: () => Promise<typeof import('ws')>;
  readonly port: number;
  /** By default both loopback addresses. */
  readonly host?: string | undefined;
  readonly tls?: TlsPair | undefined;
  /** With `tls`: requests without TLS are served, too. By default they are redirected or refused. */
  readonly plainToo?: boolean;
  readonly guard?: GuardOptions;
  readonly rateLimitSeconds?: number;
  /** Of all request bodies in memory; by default an eighth of the heap. */
  readonly bodyBudgetBytes?: number;
  /** Disconnects a client that reads nothing of its response for this long; 0 never, by default 60. */
  readonly stallTimeoutSeconds?: number;
}

export type HttpServer = ReturnType<typeof createHttpServer>;

const stallMilliseconds = 60_000;
const lingerMilliseconds = 30_000;
/** Longer than clients keep idle connections, so that none is closed just when it is used again. */
const keepAliveMilliseconds = 75_000;
const pingMilliseconds = 30_000;
const maxWaitingBytes = 64 * 2 ** 20;

export function createHttpServer(options: HttpServerOptions) {
  const connections = createConnections();
  const servers: Server[] = [];
  const tlsServers: TlsServer[] = [];
  let tls = options.tls;
  const deps: RequestDeps = {
    maxRequestMegabytes: 32,
    scopeRequests: scopesRequests,
    startTimer: systemTimer,
    now: () => performance.now(),
    stopping: () => connections.draining,
    newId: newRequestId,
    ...options,
    router: router(options.endpoints),
    guard: createGuard(options.guard ?? {}),
    rate: rateLimit(options.rateLimitSeconds ?? 0),
    bodies: new BodyBudget(options.bodyBudgetBytes ?? heapShare(Number.POSITIVE_INFINITY)),
    stallMilliseconds,
    lingerMilliseconds,
    stallTimeoutMs: (options.stallTimeoutSeconds ?? 60) * 1000,
  };

  const upgrades = createUpgrades({
    ...deps,
    maxWaitingBytes,
    pingMilliseconds,
    refuse: endRaw,
    webSockets: options.webSockets,
    endpoints: options.sockets ?? [],
    maxMessageBytes: deps.maxRequestMegabytes * 1024 * 1024,
    onError: (error) => options.onError(error, { method: 'GET', path: 'a socket' }),
    answered: connections.answered,
  });

  const reportBroken = (reason: string, socket: Duplex): void => {
    const error = new AppError('request-broken', { reason });
    const remoteAddress = plainAddress((socket as Socket).remoteAddress);
    options.onRefused?.({ error, status: 400, method: '', path: '', remoteAddress });
  };

  const isRefusedPlain = ({ socket }: IncomingMessage): boolean =>
    options.tls !== undefined && !options.plainToo && !(socket as TLSSocket).encrypted;

  const refusePlain = (request: IncomingMessage): void => {
    const reply = plainReply(request);
    if (reply.status !== redirectStatus) reportBroken(plainOnTls, request.socket);
    endRaw(request.socket, reply);
  };

  const take =
    (expectsContinue: boolean) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      // A failed write aborts the signal; an unhandled `error` event would end the process.
      request.on('error', () => undefined);
      response.on('error', () => undefined);
      if (isRefusedPlain(request)) return void refusePlain(request);
      const controller = connections.controllerFor(request, response);
      void handleRequest(deps, { request, response, controller, expectsContinue });
    };

  /** For invalid HTTP or TLS. Earlier complete requests of the socket are answered first. */
  const broken = new WeakSet<Duplex>();
  const breakOff = async (error: NodeJS.ErrnoException, socket: Duplex): Promise<void> => {
    const handshake = handshakeFault(error.code);
    if (handshake !== undefined) reportBroken(handshake, socket);
    if (handshake !== undefined || error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    // Everything that follows on this socket is invalid too.
    if (broken.has(socket)) return;
    broken.add(socket);
    await connections.answered(socket);
    if (!socket.writable || connections.answering(socket)) return void socket.destroy();
    const reply = brokenReply(error.code);
    if (reply.status === 400) reportBroken('it is not valid HTTP', socket);
    endRaw(socket, reply);
  };

  const acceptTls = (server: Server, { certificate: cert, key }: TlsPair): TlsServer => {
    const times = { handshakeTimeout: stallMilliseconds, silenceTimeout: stallMilliseconds };
    try {
      return shareWithTls(server, { ...times, cert, key, onTls: connections.addCarrier });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`The certificate and key of --ssl cannot be used: ${reason}.`, { cause: error });
    }
  };

  const open = async (host: string, port: number): Promise<number> => {
    const server = createPlainServer(serverSettings);
    if (tls) tlsServers.push(acceptTls(server, tls));
    server
      .prependListener('connection', connections.add)
      .on('request', take(false))
      .on('checkContinue', take(true))
      .on('secureConnection', connections.add)
      .on('upgrade', (request: IncomingMessage, socket, head) => {
        if (isRefusedPlain(request)) return void refusePlain(request);
        connections.handOver(socket);
        void upgrades.take(server, request, socket, head);
      })
      .on('connect', async (_request: IncomingMessage, socket: Duplex) => {
        await connections.answered(socket);
        endRaw(socket, notATunnel);
      })
      .on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => void breakOff(error, socket));
    const bound = await listenOn(server, host, port);
    // For example too many open files: other connections go on.
    server.on('error', (error) => options.onError(error, { method: 'ACCEPT', path: 'a connection' }));
    servers.push(server);
    return bound;
  };

  /** Addresses of both versions; those of version 4 where there are no others. */
  const openAll = async (): Promise<{ readonly port: number; readonly addresses: readonly string[] }> => {
    try {
      return { port: await open('::', options.port), addresses: ['::'] };
    } catch (error) {
      if (!isAddressMissing(error)) throw error;
      return { port: await open('0.0.0.0', options.port), addresses: ['0.0.0.0'] };
    }
  };

  return {
    async listen(): Promise<{ readonly port: number; readonly addresses: readonly string[] }> {
      if (options.endpoints.some(({ form }) => form)) void removeLeftovers();
      const host = options.host || 'localhost';
      if (host === '::') return openAll();
      if (host !== 'localhost') return { port: await open(host, options.port), addresses: [host] };
      const port = await open('127.0.0.1', options.port);
      try {
        await open('::1', port);
        return { port, addresses: ['127.0.0.1', '::1'] };
      } catch (error) {
        // A free port of the first address (port 0) may be taken on the second.
        if (isAddressMissing(error) || options.port === 0) return { port, addresses: ['127.0.0.1'] };
        await closeAll(servers.splice(0));
        throw error;
      }
    },
    /** For new connections; others keep theirs. Throws for a pair that cannot be used; nothing changes then. */
    setCertificate(pair: TlsPair): void {
      const context = { cert: pair.certificate, key: pair.key };
      createSecureContext(context);
      tls = pair;
      for (const server of tlsServers) server.setSecureContext(context);
    },
    /** How many requests are in flight. */
    get running(): number {
      return connections.running;
    },
    /**
     * Takes no new connections and requests, and ends idle connections, WebSockets, and streams without a reader, which no client can take
     * up any more. Settles when the requests in flight are answered; `close` follows.
     */
    async drain(): Promise<void> {
      // The method of HTTP servers also destroys connections whose response is written but not yet sent.
      for (const server of servers) NetServer.prototype.close.call(server);
      await Promise.all([connections.drain(), upgrades.close(), deps.streams?.endDetached()]);
      // Those whose clients have left meanwhile.
      await deps.streams?.endDetached();
    },
    /** Ends every connection and all streams, and aborts the signals of running requests. */
    async close(): Promise<void> {
      await Promise.all([closeAll(servers.splice(0)), connections.destroyAll()]);
      deps.streams?.close();
    },
  };
}

const newRequestId = (): string => `req_${randomHex(12)}`;

/** No limit on the whole request: a large body may be slow, and its reader has a stall timer. */
const serverSettings = {
  keepAliveTimeout: keepAliveMilliseconds,
  headersTimeout: stallMilliseconds,
  requestTimeout: 0,
};

async function closeAll(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
}

const notATunnel = refusal(501, 'CONNECT is not possible on this server.', 'not_implemented');

const plainOnTls = 'it is plain HTTP, and this port speaks HTTPS';
/** The method stays the same. */
const redirectStatus = 308;

/** For a request without TLS to a server that needs it: browsers are led to the right address, others are told about it. */
function plainReply({ method = '', url = '', headers }: IncomingMessage): Reply {
  const { host = '', accept = '' } = headers;
  const address = `https://${hostName(host) === undefined ? '' : host}`;
  const isPage = (method === 'GET' || method === 'HEAD') && accept.includes('text/html');
  if (isPage && address !== 'https://' && url.startsWith('/'))
    return { status: redirectStatus, headers: { location: `${address}${url}` }, body: '' };
  const where = address === 'https://' ? 'https:// at the beginning of the address' : address;
  return refusal(426, `This port speaks HTTPS only. Use ${where}`, 'upgrade_required');
}

/** What is wrong with a TLS handshake; undefined for all other errors. */
function handshakeFault(code = ''): string | undefined {
  if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return 'the TLS handshake was not finished in time';
  return code.startsWith('ERR_SSL_') ? 'the TLS handshake failed' : undefined;
}

function brokenReply(code: string | undefined): Reply {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refusal(408, 'The request did not come in time.', 'request_timeout');
  if (code === 'HPE_HEADER_OVERFLOW') return refusal(431, 'The headers of the request are too long.', 'bad_input');
  return refusal(400, 'The request could not be read: it is not valid HTTP.', 'bad_input');
}

/** Writes a response without a response object. */
function endRaw(socket: Duplex, reply: Reply): void {
  const body = 'body' in reply ? String(reply.body) : '';
  const head = [
    `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status] ?? ''}`,
    'server: Parley',
    'content-type: application/json',
    `x-request-id: ${newRequestId()}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...(reply.headers?.location === undefined ? [] : [`location: ${reply.headers.location}`]),
    ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.on('error', () => undefined);
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** Resolves with the port, or rejects with a sentence for the user. */
function listenOn(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => reject(explain(error, host, port));
    server.once('error', failed);
    server.listen({ host, port }, () => {
      server.off('error', failed);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** A machine without IPv6 has no `::1`. */
function isAddressMissing(error: unknown): boolean {
  const code = (error as { cause?: NodeJS.ErrnoException }).cause?.code;
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT';
}

const sentences: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `Port ${port} on ${host} is taken by another program. Stop that one, or choose another port with --port.`,
  EACCES: (_, port) => `This user may not open port ${port}. Choose one above 1023 with --port.`,
  EADDRNOTAVAIL: (host) => `This machine has no address ${host}. Check --host.`,
  ENOTFOUND: (host) => `The name ${host} leads to no address. Check --host.`,
};

function explain(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const sentence = sentences[error.code ?? '']?.(host, port);
  return new Error(sentence ?? `The server cannot listen on ${host}, port ${port}: ${error.message}.`, {
    cause: error,
  });
}
