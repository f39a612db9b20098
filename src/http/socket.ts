import type { IncomingHttpHeaders } from 'node:http';
import type { RawData, WebSocket } from 'ws';
import type { AccessRule, Family } from './call.ts';
import type { StartTimer } from './timers.ts';

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

export interface LiveSocketParts {
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
