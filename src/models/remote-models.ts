import type { Settings } from '../config/flags.ts';
import { remoteAddresses } from '../config/remote.ts';
import type { BackendPool } from '../engines/remote/backend-pool.ts';
import { randomCallId, remoteChatService } from '../engines/remote/chat-service.ts';
import { RemoteText } from '../engines/remote/text.ts';
import { RemoteTokens } from '../engines/remote/tokens.ts';
import type { Terminal } from '../observe/terminal.ts';
import { EngineLifecycle } from './lifecycle.ts';
import type { ModelOffer } from './model-instance.ts';
import { type PreparedModel, prepareRemoteModel, type RemoteModel } from './prepared-model.ts';
import { backendPool } from './remote-tasks.ts';
import { remoteSpec } from './task-model.ts';

/** How long the start waits for remote backends to answer; later ones are added when they do. */
const firstLookMs = 5000;

/** The remote backends for text; undefined if there are none. */
export function textPool({ remote }: Pick<Settings, 'remote'>, terminal: Terminal): BackendPool | undefined {
  const addresses = remoteAddresses(remote, 'text');
  if (addresses.length === 0) return undefined;
  return backendPool('text', { addresses }, terminal);
}

/** Whether the text model is a remote one, and not a file. `--nomodel` means that no file is loaded here. */
export function servesRemote({ remote, model, nomodel }: Pick<Settings, 'remote' | 'model' | 'nomodel'>): boolean {
  return (nomodel || !model) && remoteAddresses(remote, 'text').length > 0;
}

/** Probes all backends; resolves when each has answered or timed out. */
export async function firstLook(pool: BackendPool): Promise<void> {
  await Promise.race([pool.start(), new Promise((late) => setTimeout(late, firstLookMs).unref())]);
}

interface RemoteModelConfig extends Pick<PreparedModel, 'settings' | 'given'> {
  readonly pool: BackendPool;
  /** Undefined for the backend's own model while it is unknown. */
  readonly model: string | undefined;
  /** Its name here, if it differs. */
  readonly name?: string;
}

/** A model on remote backends. It needs no memory and is never evicted. */
export async function prepareRemote(
  { settings, given, pool, model, name: called }: RemoteModelConfig,
  terminal: Terminal,
): Promise<PreparedModel> {
  const name = called ?? model ?? pool.backends[0]?.address.host ?? 'remote';
  const tokens = new RemoteTokens(pool, model);
  const remote: RemoteModel = {
    names: pool.models().flatMap((one) => (one.name === model ? [one.id] : [])),
    capacity: () => pool.capacity(model),
    chat: (text, own) => remoteChatService({ ...own, text, tokens }),
  };
  const defaultContext = settings.contextsize;
  const clock = { now: () => performance.now(), newCallId: randomCallId };
  return prepareRemoteModel({ name, settings, given }, terminal, remote, (loaded) => ({
    name,
    kind: 'text',
    ...remoteSpec,
    make: () => {
      const engine = new RemoteText({ pool, model, name, defaultContext, ...clock });
      return new EngineLifecycle(engine, () => loaded(engine));
    },
  }));
}

/** The current models of these backends, by name. */
export function remoteOffers(
  config: Omit<RemoteModelConfig, 'model'>,
  terminal: Terminal,
): () => readonly ModelOffer[] {
  return () =>
    config.pool.models().map(({ name, id }) => ({
      names: name === id ? [name] : [name, id],
      path: undefined,
      prepare: (called) => prepareRemote({ ...config, model: name, name: called }, terminal),
    }));
}
