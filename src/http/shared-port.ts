import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createServer, type TlsOptions, type Server as TlsServer } from 'node:tls';

/** The type of a TLS record with a handshake, with which every TLS connection begins. No HTTP method begins with this byte. */
const handshakeRecord = 0x16;

interface SharedPortOptions extends Pick<TlsOptions, 'cert' | 'key' | 'handshakeTimeout'> {
  /** A connection that has sent nothing for this long is closed. */
  readonly silenceTimeout: number;
  /** A connection turned out to be TLS; `secureConnection` of the HTTP server follows with the socket over it. */
  readonly onTls: (carrier: Socket) => void;
}

/**
 * Lets an HTTP server accept TLS on the same port, too: the first byte of a connection tells. Both kinds of connections are in the lists of the HTTP
 * server, so that its time limits hold for both. Throws for a certificate and key that cannot be used.
 */
export function shareWithTls(server: Server, { silenceTimeout, onTls, ...tls }: SharedPortOptions): TlsServer {
  const secure = createServer({ ALPNProtocols: ['http/1.1'], ...tls });
  const accept = server.listeners('connection') as ((this: Server, socket: Socket) => void)[];
  server.removeAllListeners('connection');
  const handOver = (socket: Socket): void => {
    for (const listener of accept) listener.call(server, socket);
  };
  secure
    .on('secureConnection', (socket) => server.emit('secureConnection', socket))
    .on('tlsClientError', (error, socket) => {
      if (!server.emit('clientError', error, socket)) socket.destroy();
    });
  server.on('secureConnection', handOver).on('connection', (socket: Socket) => {
    const tooLate = (): void => void socket.destroy();
    const look = (): void => {
      const first = socket.read(1) as Buffer | null;
      if (first === null) return;
      socket.off('readable', look).off('end', tooLate).off('timeout', tooLate).setTimeout(0);
      socket.unshift(first);
      if (first[0] !== handshakeRecord) return void handOver(socket);
      onTls(socket);
      secure.emit('connection', socket);
    };
    socket.on('readable', look).on('end', tooLate).setTimeout(silenceTimeout, tooLate);
  });
  return secure;
}
