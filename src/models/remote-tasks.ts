import type { Settings } from '../config/flags.ts';
import { type RemotePurpose, readSdRemote, remoteAddresses } from '../config/remote.ts';
import type { ImageEditor } from '../core/image-editing.ts';
import { identifySound, RemoteSpeech, RemoteTranscription } from '../engines/remote/audio.ts';
import { BackendPool, type BackendPoolDeps } from '../engines/remote/backend-pool.ts';
import { RemoteEmbedding } from '../engines/remote/embedding.ts';
import { RemoteImage } from '../engines/remote/image.ts';
import { ImageServerEngine } from '../engines/remote/image-servers/engine.ts';
import { unprobedImageFacts } from '../engines/remote/image-servers/server.ts';
import { shortName } from '../engines/remote/kinds.ts';
import type { Terminal } from '../observe/terminal.ts';
import { asPng, imageEditor } from './image-editor.ts';
import { EngineLifecycle, engineTimer } from './lifecycle.ts';
import { type ImageModel, remoteSpec } from './task-model.ts';

type Console = Pick<Terminal, 'line'>;

/** A pool of remote backends of one capability. */
export function backendPool(
  capability: string,
  deps: Pick<BackendPoolDeps, 'addresses' | 'identify'>,
  terminal: Console,
): BackendPool {
  return new BackendPool({
    ...deps,
    environment: process.env,
    capability,
    startTimer: engineTimer,
    now: () => performance.now(),
    log: (line) => terminal.line(line),
  });
}

interface RemoteDeps {
  readonly name: string;
  /** Undefined for the first that the backend lists. */
  readonly model: string | undefined;
  readonly editor?: ImageEditor;
}

/** The engines for tasks on remote backends, and in programs. */
export const remoteEngines = {
  embedding: (pool: BackendPool, deps: RemoteDeps) => new RemoteEmbedding(pool, deps),
  image: (pool: BackendPool, { editor = imageEditor, ...deps }: RemoteDeps) =>
    new RemoteImage(pool, { ...deps, asPng: asPng(editor) }),
  speech: (pool: BackendPool, deps: RemoteDeps) => new RemoteSpeech(pool, deps),
  transcription: (pool: BackendPool, deps: RemoteDeps) => new RemoteTranscription(pool, deps),
};
export type RemoteTask = keyof typeof remoteEngines;

/** What names their backends: `for=audio` is speech and transcription. */
const purposes: Readonly<Record<RemoteTask, readonly RemotePurpose[]>> = {
  embedding: ['embeddings'],
  image: ['images'],
  speech: ['speech', 'audio'],
  transcription: ['transcription', 'audio'],
};

/** The model of the backends that `--remote` names for this task; undefined if there are none. */
export function remoteTask<Task extends RemoteTask>(
  task: Task,
  { remote }: Settings,
  terminal: Console,
  editor?: RemoteDeps['editor'],
) {
  const addresses = purposes[task].map((purpose) => remoteAddresses(remote, purpose)).find(({ length }) => length > 0);
  const [first] = addresses ?? [];
  if (!addresses || !first) return undefined;
  // Until they are probed, only the command line is known.
  const model = first.model === undefined ? undefined : shortName(first.model);
  const name = model ?? first.host;
  const parallel = addresses.reduce((sum, { parallel: own }) => sum + own, 0);
  const identify: BackendPoolDeps['identify'] = (connection) => identifySound(connection, model ?? 'default');
  const pool = backendPool(task, { addresses, ...(purposes[task].includes('audio') && { identify }) }, terminal);
  const engine = remoteEngines[task](pool, { name, model, ...(editor && { editor }) }) as ReturnType<
    (typeof remoteEngines)[Task]
  >;
  const spec = { name, kind: task, ...remoteSpec, make: () => new EngineLifecycle(engine) };
  return { engine, given: true, concurrency: () => parallel, spec };
}

/** The models of the backends that `--remote` and `--sdremote` name, by their kinds. */
export function remoteTaskModels(settings: Settings, terminal: Console) {
  const models: Readonly<Record<string, () => object | undefined>> = {
    embedding: () => remoteTask('embedding', settings, terminal),
    image: () => {
      const model = remoteTask('image', settings, terminal);
      if (model) return { ...model, facts: model.engine.facts() };
      return settings.sdremote ? remoteDrawing(settings.sdremote, terminal) : undefined;
    },
    speech: () => {
      const model = remoteTask('speech', settings, terminal);
      return model && { ...model, maxWords: settings.ttsmaxlen, voices: () => model.engine.voices() };
    },
    transcription: () => remoteTask('transcription', settings, terminal),
  };
  return (kind: string) => models[kind]?.();
}

/** The backend of `--sdremote`. It may start later than this server, and may stop: image requests then get an error. */
function remoteDrawing(args: readonly string[], terminal: Console): ImageModel {
  const { address, kind } = readSdRemote(args, process.env);
  // The adapters of the products are loaded only if there is such a backend.
  const identify: BackendPoolDeps['identify'] = async (connection) =>
    (await import('../engines/remote/image-servers/identify.ts')).identifyImageServer(connection, kind);
  const pool = () => backendPool('image', { addresses: [address], identify }, terminal);
  const make = () => new EngineLifecycle(new ImageServerEngine(pool(), { asPng: asPng(imageEditor) }));
  const spec = { name: address.base, kind: 'image', auxiliary: true, need: async () => 0, make };
  return { given: true, optional: true, facts: unprobedImageFacts(address.base, kind), spec };
}
