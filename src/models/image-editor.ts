import { fileURLToPath } from 'node:url';
import type { ImageEdit, ImageEditor } from '../core/image-editing.ts';
import { spawnChild } from '../engines/host/child.ts';
import { ImageEditorHost } from '../engines/image-editing/host.ts';
import type { AsPng } from '../engines/remote/image-servers/server.ts';
import { engineTimer } from './lifecycle.ts';

/** Decodes and encodes images for the whole server, in one process that the first image starts. */
export const imageEditor = new ImageEditorHost({
  entry: fileURLToPath(new URL('../engines/image-editing/worker/main.js', import.meta.url)),
  spawn: spawnChild,
  startTimer: engineTimer,
});

/** Decodes and encodes every image of a remote backend, which validates it and removes its text chunks. */
export const asPng =
  (editor: ImageEditor): AsPng =>
  async (bytes, size) => {
    const edit: ImageEdit = size ? { type: 'resize', size } : { type: 'encode', format: 'png', quality: 100 };
    const png = Buffer.from((await editor.edit(edit, [{ bytes, field: 'it' }])) ?? bytes);
    // The first chunk of a PNG begins with its size.
    return { png, width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
  };
