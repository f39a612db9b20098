import { tellFailure } from '../app/notices.svelte.ts';
import { collection } from '../saved/database.ts';
import type { DrawnPicture, Wish } from './picture-request.ts';

/** A picture that was made, with the wish it came of. */
export interface KeptPicture extends DrawnPicture {
  readonly id: string;
  readonly madeAt: number;
  readonly wish: Wish;
}

const shelf = collection<KeptPicture>('pictures');

export const gallery = $state<{ list: KeptPicture[]; loaded: boolean }>({ list: [], loaded: false });

export async function openGallery(): Promise<void> {
  if (gallery.loaded) return;
  try {
    const all = await shelf.all();
    gallery.list = [...gallery.list, ...all.sort((a, b) => b.madeAt - a.madeAt)];
    gallery.loaded = true;
  } catch (thrown) {
    tellFailure(thrown);
  }
}

export async function keep(drawn: readonly DrawnPicture[], wish: Wish): Promise<KeptPicture[]> {
  const madeAt = Date.now();
  const kept = drawn.map((one, index) => ({ ...one, id: crypto.randomUUID(), madeAt: madeAt + index, wish }));
  gallery.list = [...kept.toReversed(), ...gallery.list];
  try {
    for (const one of kept) await shelf.put($state.snapshot(one) as KeptPicture);
  } catch (thrown) {
    tellFailure(thrown);
  }
  return kept;
}

export async function remove(picture: KeptPicture): Promise<void> {
  gallery.list = gallery.list.filter(({ id }) => id !== picture.id);
  await shelf.remove(picture.id).catch(tellFailure);
}

export async function putBack(picture: KeptPicture): Promise<void> {
  gallery.list = [picture, ...gallery.list].sort((a, b) => b.madeAt - a.madeAt);
  await shelf.put($state.snapshot(picture) as KeptPicture).catch(tellFailure);
}
