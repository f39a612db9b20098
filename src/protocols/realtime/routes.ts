import { type Family, json } from '../../http/call.ts';
import { retryHeaders } from '../../http/error-reply.ts';
import type { SocketEndpoint } from '../../http/web-socket.ts';
import { openaiError } from '../error-codes.ts';
import { openConnection, type RealtimeParts } from './connection.ts';

const realtimeFamily: Family = {
  name: 'realtime',
  title: 'OpenAI Realtime API',
  errorReply: (error) => json({ error: openaiError(error, error.message, null) }, error.status, retryHeaders(error)),
};

/** Each may hold megabytes of audio and text. */
const mostConnections = 100;

/** A spoken conversation over a WebSocket. */
export function realtimeSockets(parts: RealtimeParts): Omit<SocketEndpoint, 'access'>[] {
  const row = { summary: 'A spoken conversation.', family: realtimeFamily, protocols: ['realtime'] };
  let connections = 0;
  const open: SocketEndpoint['open'] = (call, socket) => {
    if (connections >= mostConnections) return socket.close(1013, 'too many connections; try again later');
    connections += 1;
    socket.signal.addEventListener('abort', () => {
      connections -= 1;
    });
    openConnection(call, socket, parts);
  };
  return [
    { ...row, match: 'ending', path: '/v1/realtime', open },
    { ...row, match: 'exact', path: '/realtime', open },
  ];
}
