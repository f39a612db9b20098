import { fileURLToPath } from 'node:url';
import { spawnChild } from '../engines/host/child.ts';
import { PictureHost } from '../engines/pictures/host.ts';
import { engineTimer } from './lifecycle.ts';

/** Decodes and encodes pictures for the whole server, in one process that the first picture starts. */
export const pictureEditor = new PictureHost({
  entry: fileURLToPath(new URL('../engines/pictures/worker/main.js', import.meta.url)),
  spawn: spawnChild,
  startTimer: engineTimer,
});
