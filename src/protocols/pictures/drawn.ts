import { asAppError } from '../../core/errors.ts';
import type { ImageEvent, ImageRequest } from '../../core/image.ts';

export interface Drawn extends Omit<Extract<ImageEvent, { type: 'finish' }>, 'type'> {
  readonly pictures: readonly { readonly seed: number; readonly png: Uint8Array }[];
  /** Stopped, so that pictures are missing. */
  readonly stopped: boolean;
}

/**
 * Collects all events of a request. A stopped request keeps its finished pictures. A request whose last picture was skipped
 * has no `finish` event, and counts as stopped only if it has no pictures.
 */
export async function collectDrawn(events: AsyncIterable<ImageEvent>, request: ImageRequest): Promise<Drawn> {
  const { width, height, steps, sampler, scheduler } = request;
  const pictures: Drawn['pictures'][number][] = [];
  const asked = { width, height, steps, sampler, scheduler, notes: [] as readonly string[] };
  let done: typeof asked | undefined;
  try {
    for await (const event of events) {
      if (event.type === 'picture') pictures[event.index] = { seed: event.seed, png: event.png };
      else if (event.type === 'finish') done = event;
    }
  } catch (error) {
    if (asAppError(error).code !== 'stopped') throw error;
    return { ...asked, pictures: Object.values(pictures), stopped: true };
  }
  // Skipped pictures leave gaps.
  const finished = Object.values(pictures);
  return { ...(done ?? asked), pictures: finished, stopped: done === undefined && finished.length === 0 };
}
