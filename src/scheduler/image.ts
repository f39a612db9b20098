import { AppError } from '../core/errors.ts';
import type { ImageEngine, ImageEvent, ImageFacts, ImageProgress, ImageRequest, ImageService } from '../core/image.ts';
import type { Ticket } from '../core/request.ts';
import { type TaskParts, tasks } from './tasks.ts';

export interface ImageParts extends Omit<TaskParts<ImageEngine>, 'kind'> {
  /** Those of the model, without loading it. */
  readonly facts: ImageFacts;
}

interface Drawing {
  progress: Omit<ImageProgress, 'secondsSoFar'>;
  readonly startedAt: number;
  readonly stop: AbortController;
}

export function imageService({ facts, ...parts }: ImageParts): ImageService {
  const { desk } = parts;
  const { stream, once } = tasks({ ...parts, kind: 'image' });
  let drawing: Drawing | undefined;

  async function* watched(
    engine: ImageEngine,
    request: ImageRequest,
    signal: AbortSignal,
    { stop }: { readonly stop: AbortController },
  ): AsyncGenerator<ImageEvent> {
    const { steps, count } = request;
    const own: Drawing = { progress: { step: 0, steps, pictures: 0, count }, startedAt: desk.now(), stop };
    drawing = own;
    try {
      for await (const event of engine.draw(request, signal)) {
        own.progress = after(own.progress, event);
        yield event;
      }
    } finally {
      if (drawing === own) drawing = undefined;
    }
  }

  return {
    name: parts.source.name,
    facts,
    draw: (request, ticket) => {
      // Interrupting ends this work alone, whoever asks for it, and its client hears that it was stopped.
      const stop = new AbortController();
      const own: Ticket = { ...ticket, signal: AbortSignal.any([ticket.signal, stop.signal]) };
      return stream(own, ({ engine, signal }) => watched(engine, request, signal, { stop }));
    },
    upscale: (request, ticket) => once(ticket, ({ engine, signal }) => engine.upscale(request, signal)),
    progress: () => drawing && { ...drawing.progress, secondsSoFar: (desk.now() - drawing.startedAt) / 1000 },
    interrupt: () => {
      drawing?.stop.abort(new AppError('stopped', {}));
      return drawing !== undefined;
    },
  };
}

function after(progress: Drawing['progress'], event: ImageEvent): Drawing['progress'] {
  if (event.type === 'picture') return { ...progress, pictures: progress.pictures + 1 };
  if (event.type !== 'progress') return progress;
  const { step, steps, preview } = event;
  return { ...progress, step, steps, ...(preview && { preview }) };
}
