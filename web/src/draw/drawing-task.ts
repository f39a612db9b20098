import { call, read } from '../api/call.ts';
import { notifyFailure } from '../app/notices.svelte.ts';
import { type GeneratedImage, type ImageRequest, imagesOf } from './image-request.ts';

export interface DrawingProgress {
  /** From 0 to 1. */
  readonly share: number;
  readonly step: number;
  readonly steps: number;
  /** base64 of the preview; empty if there is none yet. */
  readonly preview: string;
}

export interface DrawingTask {
  readonly pictures: Promise<GeneratedImage[]>;
  /** Also stops the work on the server. */
  stop(): void;
}

interface ProgressAnswer {
  readonly progress: number;
  readonly state: { readonly sampling_step: number; readonly sampling_steps: number };
  readonly current_image: string | null;
}

const pauseMs = 500;

/** Requests images and reports the progress of this request only. */
export function startDrawing(
  request: (genkey: string) => ImageRequest,
  onProgress: (progress: DrawingProgress) => void,
): DrawingTask {
  const genkey = `draw-${crypto.randomUUID()}`;
  const leave = new AbortController();
  const { path, body } = request(genkey);
  let over = false;
  const look = async (): Promise<void> => {
    if (over) return;
    try {
      const address = `sdapi/v1/progress?genkey=${encodeURIComponent(genkey)}`;
      const { progress, state, current_image } = await read<ProgressAnswer>(address, { background: true });
      const { sampling_step: step, sampling_steps: steps } = state;
      if (!over && progress > 0) onProgress({ share: progress, step, steps, preview: current_image ?? '' });
    } catch {
      // The next poll or the response itself reports the problem.
    }
    setTimeout(look, pauseMs);
  };
  void look();
  const pictures = read<unknown>(path, { body, signal: leave.signal })
    .then(imagesOf)
    .finally(() => {
      over = true;
    });
  const stop = () => {
    call('api/extra/abort', { body: { genkey } }).catch(notifyFailure);
    leave.abort();
  };
  return { pictures, stop };
}
