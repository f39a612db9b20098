import { newId } from '../saved/id.ts';
import { Records } from '../saved/records.svelte.ts';
import type { GeneratedImage } from './generated-images.ts';
import type { ImageSettings } from './image-request.ts';

/** A generated image with its settings. `wish` and `manner` are names of stored fields. */
export interface SavedImage extends GeneratedImage {
  readonly id: string;
  readonly madeAt: number;
  readonly wish: ImageSettings;
}

export const gallery = new Records<SavedImage>('pictures');

/** The newest first. */
export function newestImages(): readonly SavedImage[] {
  return gallery.all.toSorted((a, b) => b.madeAt - a.madeAt);
}

export function saveImages(drawn: readonly GeneratedImage[], wish: ImageSettings): SavedImage[] {
  const madeAt = Date.now();
  const saved = drawn.map((one, index) => ({ ...one, id: newId(), madeAt: madeAt + index, wish }));
  for (const one of saved) gallery.put(one);
  return saved;
}
