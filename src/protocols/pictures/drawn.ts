import { asAppError } from '../../core/errors.ts';
import type { ImageEvent, ImageRequest } from '../../core/image.ts';

export interface DrawnPicture {
  readonly seed: number;
  readonly png: Uint8Array;
}

/** What came of a request. */
export interface Drawn {
  readonly pictures: readonly DrawnPicture[];
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly sampler: string;
  readonly scheduler: string;
  readonly notes: readonly string[];
  /** Somebody stopped it: there are fewer pictures than were asked for. */
  readonly stopped: boolean;
}

/**
 * All events of a request; one that somebody stopped has the pictures that were finished by then. One whose last picture was
 * skipped ends without telling what was done, and counts as stopped only where it has no other.
 */
export async function collectDrawn(events: AsyncIterable<ImageEvent>, request: ImageRequest): Promise<Drawn> {
  const { width, height, steps, sampler, scheduler } = request;
  const pictures: DrawnPicture[] = [];
  const asked = { width, height, steps, sampler, scheduler, notes: [] as readonly string[] };
  let done: typeof asked | undefined;
  try {
    for await (const event of events) {
      if (event.type === 'picture') pictures[event.index] = { seed: event.seed, png: event.png };
      else if (event.type === 'finish') done = event;
    }
  } catch (error) {
    if (asAppError(error).code !== 'stopped') throw error;
    return { ...asked, pictures: withoutGaps(pictures), stopped: true };
  }
  const finished = withoutGaps(pictures);
  return { ...(done ?? asked), pictures: finished, stopped: done === undefined && finished.length === 0 };
}

function withoutGaps(pictures: readonly DrawnPicture[]): readonly DrawnPicture[] {
  return pictures.filter((picture) => picture !== undefined);
}
