import type { Settings } from '../config/flags.ts';
import { type RemotePurpose, remoteAddresses } from '../config/remote.ts';
import type { PictureEdit, PictureEditor } from '../core/pictures.ts';
import { BackendPool } from '../engines/remote/backend-pool.ts';
import type { AsPng } from '../engines/remote/drawing-server.ts';
import { RemoteEmbedding } from '../engines/remote/embedding.ts';
import { RemoteImage, remoteImageFacts } from '../engines/remote/image.ts';
import { shownName } from '../engines/remote/probe.ts';
import type { Terminal } from '../observe/terminal.ts';
import { EngineLifecycle } from './engine-lifecycle.ts';
import type { TaskModel, TaskModels } from './kinds.ts';
import { pictureEditor } from './picture-editor.ts';
import { engineTimer } from './text-engine.ts';

/** Engines elsewhere for vectors (`--remote URL,for=embeddings`); undefined where none is named. */
export function remoteEmbedding(settings: Settings, terminal: Terminal): TaskModel<'embedding'> | undefined {
  const place = placeOf(settings, 'embeddings');
  if (!place) return undefined;
  const { name, model, atOnce } = place;
  const make = () =>
    new EngineLifecycle(new RemoteEmbedding(poolFor(settings, 'embeddings', 'embedding', terminal), model));
  return { given: true, atOnce, spec: { name, kind: 'embedding', ...noNeed, make } };
}

/** And for pictures (`for=images`). */
export function remoteImage(
  settings: Settings,
  terminal: Terminal,
  editor: PictureEditor = pictureEditor,
): TaskModels['image'] | undefined {
  const place = placeOf(settings, 'images');
  if (!place) return undefined;
  const { name, model, atOnce } = place;
  const make = () =>
    new EngineLifecycle(
      new RemoteImage(poolFor(settings, 'images', 'image', terminal), { name, model, asPng: asPng(editor) }),
    );
  return { given: true, atOnce, facts: remoteImageFacts(name), spec: { name, kind: 'image', ...noNeed, make } };
}

const noNeed = { besides: true, pinned: true, need: async () => 0 } as const;

function poolFor({ remote }: Settings, purpose: RemotePurpose, capability: string, terminal: Terminal): BackendPool {
  return new BackendPool({
    addresses: remoteAddresses(remote, purpose),
    environment: process.env,
    capability,
    startTimer: engineTimer,
    now: () => performance.now(),
    say: (line) => terminal.line(line),
  });
}

function placeOf({ remote }: Settings, purpose: RemotePurpose) {
  const addresses = remoteAddresses(remote, purpose);
  const [first] = addresses;
  if (!first) return undefined;
  // Until they are asked nothing is known of them but what the command line says.
  const chosen = first.model;
  const name = chosen === undefined ? first.host : shownName(chosen);
  const atOnce = addresses.reduce((sum, { parallel }) => sum + parallel, 0);
  return { name, model: chosen === undefined ? undefined : name, atOnce: () => atOnce };
}

/** Every picture that a remote backend sends, decoded and encoded anew: so it is a picture, and has no texts in it. */
export const asPng =
  (editor: PictureEditor): AsPng =>
  async (bytes, size) => {
    const edit: PictureEdit = size ? { type: 'resize', size } : { type: 'encode', format: 'png', quality: 100 };
    const png = Buffer.from((await editor.edit(edit, [{ bytes, field: 'it' }])) ?? bytes);
    // The first chunk of a PNG begins with its size.
    return { png, width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
  };
