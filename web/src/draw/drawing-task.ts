import { call, read } from '../api/call.ts';
import { Failure, messageOf } from '../api/failure.ts';
import { pause } from '../api/running-reply.ts';
import { newId } from '../saved/id.ts';
import { notifyFailure } from '../ui/notices.svelte.ts';
import { drawingTexts } from './drawing-texts.ts';
import { type GeneratedImage, imagesOf } from './generated-images.ts';
import type { ImageRequest } from './image-request.ts';

export interface DrawingProgress {
  /** From 0 to 1. */
  readonly share: number;
  readonly step: number;
  readonly steps: number;
  /** base64 of the preview; empty if there is none yet. */
  readonly preview: string;
}

export interface DrawingTask {
  /** The server keeps the pictures by this key for a while. */
  readonly genkey: string;
  readonly images: Promise<GeneratedImage[]>;
  /** Also stops the work on the server. */
  stop(): void;
}

interface ProgressAnswer {
  readonly progress: number;
  readonly state: { readonly sampling_step: number; readonly sampling_steps: number };
  readonly current_image: string | null;
  /** Whether the server has the pictures of this key. */
  readonly stored?: boolean;
}

const pauseMs = 500;
/** Checks without progress until a drawing counts as lost; it may wait in the queue. */
const maxIdleChecks = 240;

/** Requests images and reports the progress of this request only. The drawing goes on if the page is closed. */
export function startDrawing(
  request: (genkey: string) => ImageRequest,
  onProgress: (progress: DrawingProgress) => void,
): DrawingTask {
  const genkey = `draw-${newId()}`;
  const { path, body } = request(genkey);
  return running(genkey, onProgress, async (signal, idle) => {
    let answer: unknown;
    try {
      answer = await read<unknown>(path, { body: { ...body, keep_image_gen_on_disconnect: true }, signal });
    } catch (thrown) {
      // The connection is lost, or the page is being closed: the drawing goes on.
      if (signal.aborted || !(thrown instanceof TypeError)) throw thrown;
      // A page that is being closed does not get further than this.
      await pause(pauseMs, signal);
      // The server has never had the request.
      if (!idle.answered) throw thrown;
      return imagesByKey(genkey, signal, idle);
    }
    const images = imagesOf(answer);
    // The status of a kept drawing is sent before it is done.
    const problem = images.length === 0 ? messageOf((answer as { detail?: unknown } | null)?.detail) : undefined;
    if (problem !== undefined) throw new Failure(problem);
    return images;
  });
}

/** Waits for images that a closed page has requested. */
export function resumeDrawing(genkey: string, onProgress: (progress: DrawingProgress) => void): DrawingTask {
  return running(genkey, onProgress, (signal, idle) => imagesByKey(genkey, signal, idle));
}

/** Checks without progress, whether one was answered, and whether the server has the pictures. */
interface Idle {
  checks: number;
  answered: boolean;
  stored: boolean;
}

async function imagesByKey(genkey: string, signal: AbortSignal, idle: Idle): Promise<GeneratedImage[]> {
  const address = `sdapi/v1/get_last.json?genkey=${encodeURIComponent(genkey)}`;
  for (; idle.checks < maxIdleChecks; idle.checks += 1) {
    signal.throwIfAborted();
    if (!idle.stored) {
      await pause(pauseMs, signal);
      continue;
    }
    const last = await read<unknown>(address, { background: true, signal }).catch((thrown: unknown) => {
      // Not finished yet, or the server is starting again.
      if (signal.aborted) throw thrown;
      return undefined;
    });
    if (last !== undefined) return imagesOf(last);
    await pause(pauseMs, signal);
  }
  throw new Failure(drawingTexts.lost);
}

function running(
  genkey: string,
  onProgress: (progress: DrawingProgress) => void,
  fetchImages: (signal: AbortSignal, idle: Idle) => Promise<GeneratedImage[]>,
): DrawingTask {
  const leave = new AbortController();
  const idle: Idle = { checks: 0, answered: false, stored: false };
  let over = false;
  const look = async (): Promise<void> => {
    if (over) return;
    try {
      const address = `sdapi/v1/progress?genkey=${encodeURIComponent(genkey)}`;
      const {
        progress,
        state,
        current_image,
        stored = true,
      } = await read<ProgressAnswer>(address, { background: true });
      const { sampling_step: step, sampling_steps: steps } = state;
      if (progress > 0) idle.checks = 0;
      idle.answered = true;
      idle.stored = stored;
      if (!over && progress > 0) onProgress({ share: progress, step, steps, preview: current_image ?? '' });
    } catch {
      // The next poll or the response itself reports the problem.
    }
    setTimeout(look, pauseMs);
  };
  void look();
  const images = fetchImages(leave.signal, idle).finally(() => {
    over = true;
  });
  const stop = () => {
    call('api/extra/abort', { body: { genkey } }).catch(notifyFailure);
    leave.abort();
  };
  return { genkey, images, stop };
}
