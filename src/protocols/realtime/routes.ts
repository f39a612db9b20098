import { AppError } from '../../core/errors.ts';
import { json } from '../../http/call.ts';
import { retryHeaders } from '../../http/error-reply.ts';
import type { SocketEndpoint } from '../../http/web-socket.ts';
import { information, keyInProtocol, write } from '../access.ts';
import { type DocumentedDialect, type PlainEndpoint, withShortPath } from '../endpoint.ts';
import { openaiError } from '../error-codes.ts';
import type { openConnection, RealtimeServices } from './connection.ts';
import { responseFields, sessionFields } from './fields.ts';
import { waitingAudio } from './waiting-audio.ts';

const realtimeDialect: DocumentedDialect = {
  name: 'realtime',
  title: 'OpenAI Realtime API',
  responses: () => import('./responses.ts'),
  errorReply: (error) => json({ error: openaiError(error, error.message, null) }, error.status, retryHeaders(error)),
};

const path = '/v1/realtime';

/** Requests without an upgrade get a reason, and the list of endpoints names the path. */
export const realtimeEndpoints: readonly PlainEndpoint[] = withShortPath({
  method: 'GET',
  match: 'ending',
  path,
  queued: false,
  recorded: true,
  response: 'refused',
  ...information,
  summary: 'A spoken conversation over a WebSocket: audio in, audio out.',
  dialect: realtimeDialect,
  events: { 'session.update': sessionFields, 'response.create': responseFields },
  handle: (call) => {
    const reply = realtimeDialect.errorReply(new AppError('upgrade-required', { path: call.path }));
    return { ...reply, headers: { ...reply.headers, upgrade: 'websocket', connection: 'upgrade' } };
  },
});

/** Each may hold megabytes of audio and text. */
const maxConnections = 100;

/** A spoken conversation over a WebSocket. Its code is loaded for the first one. */
export function realtimeSockets(services: RealtimeServices): SocketEndpoint[] {
  const rule = keyInProtocol(write('audio'));
  const row = {
    ...rule,
    recorded: true,
    summary: 'A spoken conversation.',
    dialect: realtimeDialect,
    protocols: ['realtime'],
  };
  const context = { ...services, holdAudio: waitingAudio() };
  let connect: typeof openConnection | undefined;
  const load = async (): Promise<void> => {
    connect = (await import('./connection.ts')).openConnection;
  };
  let connections = 0;
  const open: SocketEndpoint['open'] = (call, socket) => {
    if (connections >= maxConnections) return socket.close(1013, 'too many connections; try again later');
    connections += 1;
    socket.signal.addEventListener('abort', () => {
      connections -= 1;
    });
    connect?.(call, socket, context);
  };
  return [
    { ...row, match: 'ending', path, load, open },
    { ...row, match: 'exact', path: path.replace('/v1', ''), load, open },
  ];
}
