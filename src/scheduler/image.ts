import { AppError } from '../core/errors.ts';
import type { ImageEngine, ImageEvent, ImageFacts, ImageProgress, ImageRequest, ImageService } from '../core/image.ts';
import type { Ticket } from '../core/request.ts';
import { type TaskParts, tasks } from './tasks.ts';

export interface ImageParts extends Omit<TaskParts<ImageEngine>, 'kind'> {
  /** Those of the model, as far as they are known without loading it. */
  readonly facts: ImageFacts;
}

interface Drawing {
  progress: Omit<ImageProgress, 'secondsSoFar'>;
  readonly startedAt: number;
  readonly stop: AbortController;
  /** Of what is drawn until somebody wants the next one. */
  skip: AbortController;
}

interface Order {
  readonly request: ImageRequest;
  readonly genkey: string;
  readonly stop: AbortController;
}

export function imageService({ facts, ...parts }: ImageParts): ImageService {
  const { desk } = parts;
  const { stream, once } = tasks({ ...parts, kind: 'image' });
  let drawing: Drawing | undefined;

  async function* watched(engine: ImageEngine, order: Order, signal: AbortSignal): AsyncGenerator<ImageEvent> {
    const { request, genkey, stop } = order;
    const { steps, count } = request;
    const progress = { genkey, skipped: false, step: 0, steps, pictures: 0, count };
    const own: Drawing = { progress, startedAt: desk.now(), stop, skip: new AbortController() };
    drawing = own;
    try {
      while (own.progress.pictures < count) {
        yield* untilSkipped(engine, own, request, signal);
        if (!own.skip.signal.aborted) return;
        own.skip = new AbortController();
        own.progress = { ...progress, pictures: own.progress.pictures + 1 };
      }
    } finally {
      if (drawing === own) drawing = undefined;
    }
  }

  /** The pictures that are left, with the places and seeds that they have in the whole request. */
  async function* untilSkipped(
    engine: ImageEngine,
    own: Drawing,
    request: ImageRequest,
    signal: AbortSignal,
  ): AsyncGenerator<ImageEvent> {
    const first = own.progress.pictures;
    const rest = { ...request, seed: request.seed + first, count: request.count - first };
    const { signal: skipped } = own.skip;
    try {
      for await (const event of engine.draw(rest, AbortSignal.any([signal, skipped]))) {
        own.progress = after(own.progress, event);
        yield event.type === 'picture' ? { ...event, index: first + event.index } : event;
      }
    } catch (error) {
      if (!skipped.aborted || signal.aborted) throw error;
    }
  }

  return {
    name: parts.source.name,
    get facts() {
      return parts.source.peek()?.facts() ?? facts;
    },
    draw: (request, ticket) => {
      // Interrupting ends this work alone, whoever asks for it, and its client hears that it was stopped.
      const stop = new AbortController();
      const own: Ticket = { ...ticket, signal: AbortSignal.any([ticket.signal, stop.signal]) };
      return stream(own, ({ engine, signal }) => watched(engine, { request, genkey: ticket.genkey, stop }, signal));
    },
    upscale: (request, ticket) => once(ticket, ({ engine, signal }) => engine.upscale(request, signal)),
    progress: () => drawing && { ...drawing.progress, secondsSoFar: (desk.now() - drawing.startedAt) / 1000 },
    interrupt: () => {
      drawing?.stop.abort(new AppError('stopped', {}));
      return drawing !== undefined;
    },
    skip: () => {
      if (!drawing || drawing.progress.pictures >= drawing.progress.count) return drawing !== undefined;
      drawing.progress = { ...drawing.progress, skipped: true };
      drawing.skip.abort(new AppError('stopped', {}));
      return true;
    },
  };
}

function after(progress: Drawing['progress'], event: ImageEvent): Drawing['progress'] {
  if (event.type === 'picture') return { ...progress, step: 0, pictures: progress.pictures + 1 };
  if (event.type !== 'progress') return progress;
  const { step, steps, preview } = event;
  return { ...progress, step, steps, ...(preview && { preview }) };
}
