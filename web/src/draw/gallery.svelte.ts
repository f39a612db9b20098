import { collection } from '../saved/database.ts';
import { newId } from '../saved/id.ts';
import { notifyFailure } from '../ui/notices.svelte.ts';
import type { GeneratedImage, ImageSettings } from './image-request.ts';

/** A generated image with its settings. `wish` and `manner` are names of stored fields. */
export interface SavedImage extends GeneratedImage {
  readonly id: string;
  readonly madeAt: number;
  readonly wish: ImageSettings;
}

const stored = collection<SavedImage>('pictures');

export const gallery = $state<{ list: SavedImage[]; loaded: boolean }>({ list: [], loaded: false });

export async function loadGallery(): Promise<void> {
  if (gallery.loaded) return;
  try {
    const all = await stored.all();
    const known = new Set(gallery.list.map(({ id }) => id));
    const missing = all.filter(({ id }) => !known.has(id));
    gallery.list = [...gallery.list, ...missing].sort((a, b) => b.madeAt - a.madeAt);
    gallery.loaded = true;
  } catch (thrown) {
    notifyFailure(thrown);
  }
}

export async function saveImages(drawn: readonly GeneratedImage[], wish: ImageSettings): Promise<SavedImage[]> {
  const madeAt = Date.now();
  const kept = drawn.map((one, index) => ({ ...one, id: newId(), madeAt: madeAt + index, wish }));
  gallery.list = [...kept.toReversed(), ...gallery.list];
  try {
    for (const one of kept) await stored.put($state.snapshot(one) as SavedImage);
  } catch (thrown) {
    notifyFailure(thrown);
  }
  return kept;
}

export async function remove(picture: SavedImage): Promise<void> {
  gallery.list = gallery.list.filter(({ id }) => id !== picture.id);
  await stored.remove(picture.id).catch(notifyFailure);
}

export async function restore(picture: SavedImage): Promise<void> {
  gallery.list = [picture, ...gallery.list].sort((a, b) => b.madeAt - a.madeAt);
  await stored.put($state.snapshot(picture) as SavedImage).catch(notifyFailure);
}
