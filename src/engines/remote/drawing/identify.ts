import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { DrawingRemote } from '../../../config/remote.ts';
import type { BackendConnection } from '../connection.ts';
import { type DrawingServer, found } from '../drawing-server.ts';
import { RemoteFailure } from '../failure.ts';
import { type Identity, shownName } from '../probe.ts';
import { a1111Server, type Wait } from './a1111.ts';
import { comfyServer, type Listen } from './comfyui.ts';

type DrawingKind = NonNullable<DrawingRemote['kind']>;

/** Detects the product, unless it is configured, and lists its models and samplers. */
export async function identifyDrawing(connection: BackendConnection, told: DrawingRemote['kind']): Promise<Identity> {
  const kind = told ?? (await kindOf(connection));
  const server = serverOf(kind, connection);
  const facts = await server.facts();
  const model = { id: facts.name, name: shownName(facts.name), contextSize: undefined, embeds: false };
  return { kind, models: [model], inputs: { image: true, audio: false }, drawing: { server, facts } };
}

async function kindOf(connection: BackendConnection): Promise<DrawingKind> {
  if (Array.isArray(await found(connection, '/sdapi/v1/samplers'))) return 'a1111';
  const info = await found(connection, '/object_info/KSampler');
  if (typeof info === 'object' && info !== null && 'KSampler' in info) return 'comfyui';
  const { host } = connection.target;
  throw new RemoteFailure('failed', host, 'it is no image server that is known here: no /sdapi/v1 and no /object_info');
}

function serverOf(kind: DrawingKind, connection: BackendConnection): DrawingServer {
  const wait: Wait = (milliseconds, signal) => pause(milliseconds, undefined, { signal });
  if (kind === 'a1111') return a1111Server(connection, wait);
  return comfyServer({ connection, wait, listen: listening(connection), newId: randomUUID });
}

/** Progress messages are short; previews are larger and not used. */
const socketLimits = { maxPayload: 16 * 2 ** 20, handshakeTimeout: 10_000, perMessageDeflate: false };

/** Without the WebSocket only progress is missing. */
function listening({ target, headers }: BackendConnection): Listen {
  return (client, told) => {
    const url = `${target.base.replace(/^http/, 'ws')}/ws?clientId=${client}`;
    const socket = new WebSocket(url, { headers, ...socketLimits });
    socket.on('error', () => {});
    socket.on('message', (bytes, isBinary) => {
      if (isBinary) return;
      try {
        const { type, data } = JSON.parse(String(bytes)) as { type?: unknown; data?: unknown };
        if (typeof type === 'string') told(type, data);
      } catch {
        // Not JSON.
      }
    });
    return () => socket.terminate();
  };
}
