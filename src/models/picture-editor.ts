import { fileURLToPath } from 'node:url';
import type { PictureEdit, PictureEditor } from '../core/pictures.ts';
import { spawnChild } from '../engines/host/child.ts';
import { PictureHost } from '../engines/pictures/host.ts';
import type { AsPng } from '../engines/remote/drawing-server.ts';
import { engineTimer } from './lifecycle.ts';

/** Decodes and encodes pictures for the whole server, in one process that the first picture starts. */
export const pictureEditor = new PictureHost({
  entry: fileURLToPath(new URL('../engines/pictures/worker/main.js', import.meta.url)),
  spawn: spawnChild,
  startTimer: engineTimer,
});

/** Decodes and encodes every picture of a remote backend, which validates it and removes its text chunks. */
export const asPng =
  (editor: PictureEditor): AsPng =>
  async (bytes, size) => {
    const edit: PictureEdit = size ? { type: 'resize', size } : { type: 'encode', format: 'png', quality: 100 };
    const png = Buffer.from((await editor.edit(edit, [{ bytes, field: 'it' }])) ?? bytes);
    // The first chunk of a PNG begins with its size.
    return { png, width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
  };
