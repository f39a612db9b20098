import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { SdRemote } from '../../../config/remote.ts';
import { tryParseJson } from '../../../core/json.ts';
import type { BackendConnection } from '../connection.ts';
import { RemoteFailure } from '../failure.ts';
import { listAt, objectAt } from '../json.ts';
import { type Identity, shortName } from '../kinds.ts';
import { a1111Server } from './a1111.ts';
import type { Listen } from './comfyui.ts';
import { comfyServer } from './comfyui.ts';
import { optionalJson } from './server.ts';

/** Detects the product, unless it is configured, and lists its models and samplers. */
export async function identifyImageServer(
  connection: BackendConnection,
  configured: SdRemote['kind'],
): Promise<Identity> {
  const kind = configured ?? (await kindOf(connection));
  const wait = (milliseconds: number, signal: AbortSignal) => pause(milliseconds, undefined, { signal });
  const server =
    kind === 'a1111' ? a1111Server(connection, wait) : comfyServer(connection, wait, listening(connection));
  const facts = await server.facts();
  const model = { id: facts.name, name: shortName(facts.name), contextSize: undefined, embeds: false };
  const title = kind === 'a1111' ? await productOf(connection) : undefined;
  const inputs = { image: true, audio: false };
  return { kind, ...(title && { title }), models: [model], inputs, imageServer: { server, facts } };
}

/** Other products with the API of A1111, where they can be recognised. */
async function productOf(connection: BackendConnection): Promise<string | undefined> {
  const { data } = objectAt(await optionalJson(connection, '/v1/models'));
  return objectAt(listAt(data)[0]).id === 'sd-cpp-local' ? 'sd-server' : undefined;
}

async function kindOf(connection: BackendConnection): Promise<NonNullable<SdRemote['kind']>> {
  if (Array.isArray(await optionalJson(connection, '/sdapi/v1/samplers'))) return 'a1111';
  if ('KSampler' in objectAt(await optionalJson(connection, '/object_info/KSampler'))) return 'comfyui';
  const { host } = connection.target;
  throw new RemoteFailure('failed', host, 'it is no image server that is known here: no /sdapi/v1 and no /object_info');
}

/** Progress messages are short; previews, and images that nodes send, are larger. */
const socketLimits = { maxPayload: 64 * 2 ** 20, handshakeTimeout: 10_000, perMessageDeflate: false };

/** Without the WebSocket only progress is missing. */
function listening({ target, headers }: BackendConnection): Listen {
  return (client, received, binary) => {
    const url = `${target.base.replace(/^http/, 'ws')}/ws?clientId=${client}`;
    const socket = new WebSocket(url, { headers, ...socketLimits });
    socket.on('error', () => {});
    const opened = new Promise<void>((resolve) => void socket.once('open', resolve).once('close', () => resolve()));
    socket.on('message', (bytes, isBinary) => {
      if (isBinary) return binary?.(bytes as Buffer);
      const { type, data } = objectAt(tryParseJson(String(bytes)));
      if (typeof type === 'string') received(type, data);
    });
    return Object.assign(() => socket.terminate(), { opened });
  };
}
