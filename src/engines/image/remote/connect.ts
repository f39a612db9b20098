import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { AppError } from '../../../core/errors.ts';
import { a1111Server, type Wait } from './a1111.ts';
import type { RemoteAddress, RemoteKind } from './address.ts';
import { comfyServer, type Listen } from './comfy.ts';
import type { RemoteServer } from './server.ts';
import { type Web, webOf } from './web.ts';

/** Finds out by asking what kind of server there is, unless somebody said so. */
export async function connectRemote(address: RemoteAddress, ask: typeof fetch = fetch): Promise<RemoteServer> {
  const web = webOf(address, ask);
  const wait: Wait = (milliseconds, signal) => pause(milliseconds, undefined, { signal });
  const kind = address.kind ?? (await kindOf(web));
  if (kind === 'a1111') return a1111Server(web, wait);
  return comfyServer({ web, wait, listen: listening(web), newId: randomUUID });
}

async function kindOf(web: Web): Promise<RemoteKind> {
  if (Array.isArray(await web.find('/sdapi/v1/samplers'))) return 'a1111';
  const info = await web.find('/object_info/KSampler');
  if (typeof info === 'object' && info !== null && 'KSampler' in info) return 'comfy';
  const reason = `${web.url} (--sdremote) is no image server that is known here: it has neither /sdapi/v1 nor /object_info`;
  throw new AppError('engine-failed', { capability: 'image', reason });
}

/** Without it there are no steps to be seen, and no other harm. */
function listening({ url, headers }: Web): Listen {
  return (client, told) => {
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws?clientId=${client}`, { headers });
    socket.on('error', () => {});
    socket.on('message', (bytes, isBinary) => {
      if (isBinary) return;
      try {
        const { type, data } = JSON.parse(String(bytes)) as { type?: unknown; data?: unknown };
        if (typeof type === 'string') told(type, data);
      } catch {
        // Something that is no message.
      }
    });
    return () => socket.terminate();
  };
}
