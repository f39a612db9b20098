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

/** Remote backends for embeddings (`--remote URL,for=embeddings`); undefined if there are none. */
export function remoteEmbedding(settings: Settings, terminal: Terminal): TaskModel<'embedding'> | undefined {
  const place = placeOf(settings, 'embeddings');
  if (!place) return undefined;
  const { name, model, atOnce } = place;
  const make = () =>
    new EngineLifecycle(new RemoteEmbedding(poolFor(settings, 'embeddings', 'embedding', terminal), model));
  return { given: true, atOnce, spec: { name, kind: 'embedding', ...noNeed, make } };
}

/** Remote backends for images (`for=images`). */
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
  // Until they are probed, only the command line is known.
  const chosen = first.model;
  const name = chosen === undefined ? first.host : shownName(chosen);
  const atOnce = addresses.reduce((sum, { parallel }) => sum + parallel, 0);
  return { name, model: chosen === undefined ? undefined : name, atOnce: () => atOnce };
}

/** Decodes and encodes every picture of a remote backend, which validates it and removes its text chunks. */
export const asPng =
  (editor: PictureEditor): AsPng =>
  async (bytes, size) => {
    const edit: PictureEdit = size ? { type: 'resize', size } : { type: 'encode', format: 'png', quality: 100 };
    const png = Buffer.from((await editor.edit(edit, [{ bytes, field: 'it' }])) ?? bytes);
    // The first chunk of a PNG begins with its size.
    return { png, width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
  };
