import type { Settings } from '../config/flags.ts';
import { readDrawingRemote } from '../config/remote.ts';
import type { ImageFacts } from '../core/image.ts';
import type { PictureEdit, PictureEditor } from '../core/pictures.ts';
import type { BackendPoolParts } from '../engines/remote/backend-pool.ts';
import { RemoteDrawing } from '../engines/remote/drawing/engine.ts';
import { type AsPng, drawingFacts } from '../engines/remote/drawing-server.ts';
import { RemoteImage, remoteImageFacts } from '../engines/remote/image.ts';
import { EngineLifecycle } from './lifecycle.ts';
import { pictureEditor } from './picture-editor.ts';
import { backendPool, type Console, remoteModel } from './remote-pool.ts';
import { type ImageModel, remoteSpec } from './task-model.ts';

/** Remote backends for images (`for=images`). */
export function remoteImage(
  settings: Settings,
  terminal: Console,
  editor: PictureEditor = pictureEditor,
): ImageModel | undefined {
  const remote = remoteModel(settings, 'images');
  if (!remote) return undefined;
  const { name, model, addresses, atOnce } = remote;
  const make = () => {
    const pool = backendPool('image', { addresses }, terminal);
    return new EngineLifecycle(new RemoteImage(pool, { name, model, asPng: asPng(editor) }));
  };
  return { given: true, atOnce, facts: remoteImageFacts(name), spec: { name, kind: 'image', ...remoteSpec, make } };
}

/** The backend of `--sdremote`. It may start later than this server, and may stop: image requests then get an error. */
export function remoteDrawing(words: readonly string[], terminal: Console): ImageModel {
  const { address, kind } = readDrawingRemote(words, process.env);
  // The adapters of the products are loaded only if there is such a backend.
  const identify: BackendPoolParts['identify'] = async (connection) =>
    (await import('../engines/remote/drawing/identify.ts')).identifyDrawing(connection, kind);
  const pool = () => backendPool('image', { addresses: [address], identify }, terminal);
  const make = () => new EngineLifecycle(new RemoteDrawing(pool(), { asPng: asPng(pictureEditor) }));
  // Before it has answered.
  const { base } = address;
  const facts: ImageFacts = {
    name: base,
    title: base,
    path: base,
    ...drawingFacts,
    samplers: ['Euler a'],
    schedulers: ['automatic'],
    upscalers: [],
    ...(kind !== 'a1111' && { graphs: kind === 'comfyui' ? 'whole' : 'perhaps' }),
  };
  const spec = { name: address.base, kind: 'image', auxiliary: true, need: async () => 0, make };
  return { given: true, optional: true, facts, spec };
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
