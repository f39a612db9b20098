import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What a server does wrong with one request. The response is untouched. */
export type Misbehaviour = (response: ServerResponse, socket: Socket) => void;

export interface Upstream {
  readonly port: number;
  readonly url: string;
  /** How many requests came. */
  requests(): number;
  /** Misbehaves in requests of this method and path from now on; in none without. */
  misbehave(how?: Misbehaviour, where?: (request: IncomingMessage) => boolean): void;
  /** Refuses connections, and ends those that there are. */
  close(): Promise<void>;
  /** Listens again. */
  open(): Promise<void>;
}

type Answer = (request: IncomingMessage, body: string, response: ServerResponse) => void;

/** A real server that answers correctly until a test makes it misbehave. */
export async function startUpstream(answer: Answer): Promise<Upstream> {
  let port = 0;
  let count = 0;
  let misbehaviour: Misbehaviour | undefined;
  let concerns = (_: IncomingMessage) => true;
  let server: Server | undefined;
  /** Timers and sockets of misbehaviours end with them. */
  const sockets = new Set<Socket>();
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    count += 1;
    request.on('error', () => {});
    response.on('error', () => {});
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    request.on('end', () => {
      if (misbehaviour && concerns(request)) misbehaviour(response, request.socket);
      else answer(request, body, response);
    });
  };
  const open = () =>
    new Promise<void>((resolve) => {
      const next = createServer({ keepAliveTimeout: 60_000 }, handle).listen(port, '127.0.0.1', () => {
        port = (next.address() as AddressInfo).port;
        resolve();
      });
      server = next;
      next.on('connection', (socket) => {
        sockets.add(socket.on('error', () => {}));
        socket.once('close', () => sockets.delete(socket));
      });
    });
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  };
  await open();
  return {
    get port() {
      return port;
    },
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    requests: () => count,
    misbehave: (how, where = () => true) => {
      misbehaviour = how;
      concerns = where;
      if (how === undefined) for (const socket of sockets) socket.destroy();
    },
    open,
    close,
  };
}

/** Writes a piece again and again, as fast as it is read, until the other side hangs up. */
function flood(socket: Socket, piece: string): void {
  const write = (): void => {
    while (!socket.destroyed && socket.write(piece));
    if (!socket.destroyed) socket.once('drain', write);
  };
  write();
}

/** Writes a text byte by byte, and ends. */
export function drip(socket: Socket, text: string): void {
  const bytes = Buffer.from(text);
  let sent = 0;
  const timer = setInterval(() => {
    if (socket.destroyed || sent >= bytes.length) {
      socket.end();
      return clearInterval(timer);
    }
    socket.write(bytes.subarray(sent, sent + 1));
    sent += 1;
  }, 2);
}

const head = (type: string, more = '') =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\n${more}connection: close\r\n\r\n`;
const events = head('text/event-stream');
const json = head('application/json');

/** Ways to fail that do not depend on the protocol above HTTP. `begin` is a valid beginning of a reply. */
export const misbehaviours = {
  hang: () => undefined,
  'hang after the head': (_, socket) => void socket.write(events),
  'close at once': (_, socket) => void socket.destroy(),
  'reset at once': (_, socket) => void socket.resetAndDestroy(),
  'close after the head': (_, socket) => void socket.end(events),
  garbage: (_, socket) => void socket.end('this is no HTTP at all\r\n\r\n'),
  'endless headers': (_, socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    flood(socket, `x-flood: ${'x'.repeat(4000)}\r\n`);
  },
  'one endless event': (_, socket) => {
    socket.write(`${events}data: `);
    flood(socket, 'x'.repeat(65_536));
  },
  'an endless body': (_, socket) => {
    socket.write(`${json}{"a":"`);
    flood(socket, 'x'.repeat(65_536));
  },
  'invalid JSON': (_, socket) => void socket.end(`${json}{"choices":[{"mess`),
  'invalid events': (_, socket) => void socket.end(`${events}data: {"choices":[{"del\n\n`),
  'a web page': (_, socket) => void socket.end(`${head('text/html')}<html><body>Welcome!</body></html>`),
  'a compressed reply': (_, socket) =>
    void socket.end(`${head('application/json', 'content-encoding: gzip\r\n')}\x1f\x8b\x08`),
  'status 500 with a page': (response) => void response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>500'),
  'status 429': (response) =>
    void response.writeHead(429, { 'retry-after': '1' }).end('{"error":{"message":"slow down"}}'),
} as const satisfies Readonly<Record<string, Misbehaviour>>;

export const redirectTo =
  (location: string): Misbehaviour =>
  (response) =>
    void response.writeHead(307, { location }).end();
