import { call, read } from '../api/call.ts';
import { tellFailure } from '../app/notices.svelte.ts';
import { type DrawnPicture, type Materials, pictureRequest, picturesOf, type Wish } from './picture-request.ts';

interface Progress {
  readonly progress: number;
  readonly state: { readonly sampling_step: number; readonly sampling_steps: number };
  readonly current_image: string | null;
}

/** What is being drawn now; there is one at a time. */
export const drawing = $state<{ running: boolean; share: number; step: string; preview: string }>({
  running: false,
  share: 0,
  step: '',
  preview: '',
});

let genkey = '';
let leave: AbortController | undefined;

/** The pictures, or nothing when it was stopped or failed, which is told. */
export async function draw(wish: Wish, materials: Materials): Promise<DrawnPicture[]> {
  genkey = `draw-${crypto.randomUUID()}`;
  leave = new AbortController();
  Object.assign(drawing, { running: true, share: 0, step: 'Waiting for its turn', preview: '' });
  const stopWatching = watch(genkey);
  try {
    const { path, body } = pictureRequest(wish, materials, genkey);
    return picturesOf(await read<unknown>(path, { body, signal: leave.signal }));
  } catch (thrown) {
    tellFailure(thrown);
    return [];
  } finally {
    stopWatching();
    drawing.running = false;
  }
}

/** Stops it on the server too, not only here. */
export function stopDrawing(): void {
  call('api/extra/abort', { body: { genkey } }).catch(tellFailure);
  leave?.abort();
}

function watch(key: string): () => void {
  let over = false;
  const look = async (): Promise<void> => {
    if (over) return;
    try {
      const path = `sdapi/v1/progress?genkey=${encodeURIComponent(key)}`;
      const { progress, state, current_image } = await read<Progress>(path, { background: true });
      if (over) return;
      if (progress > 0) {
        drawing.share = progress;
        drawing.step =
          state.sampling_step > 0 ? `Step ${state.sampling_step} of ${state.sampling_steps}` : 'Reading the words';
      }
      if (current_image) drawing.preview = current_image;
    } catch {
      // The next look, or the answer itself, tells more.
    }
    setTimeout(look, 500);
  };
  void look();
  return () => {
    over = true;
  };
}
