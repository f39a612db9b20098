import type { EngineSource } from '../core/engine-source.ts';
import { AppError } from '../core/errors.ts';
import {
  type Drawings,
  type GraphEvent,
  type ImageEngine,
  type ImageEvent,
  type ImageFacts,
  type ImageProgress,
  type ImageRequest,
  type ImageService,
  type ImageTurn,
  previewPicture,
} from '../core/image.ts';
import { maySee } from '../core/owner.ts';
import type { RequestContext } from '../core/request-context.ts';
import { type TaskDeps, tasks } from './tasks.ts';

/** The facts are known without loading the model. */
export type ImageSource = EngineSource<ImageEngine> & { readonly facts: ImageFacts };

interface ImageDeps extends TaskDeps<ImageEngine, ImageSource> {
  /** Shared by the services of all models. */
  readonly drawings: RunningDrawings;
}

interface Drawing {
  readonly client: string;
  progress: Omit<ImageProgress, 'secondsSoFar'>;
  readonly startedAt: number;
  /** Ends the whole request. */
  readonly stop: AbortController;
  /** Ends the picture that is drawn now; replaced for each one. */
  skip: AbortController;
}

/** All drawings that run now, the oldest first. */
export class RunningDrawings implements Drawings {
  readonly #drawings = new Set<Drawing>();

  /** The clock is that of the queue. */
  constructor(private readonly now: () => number) {}

  begin(client: string, progress: Drawing['progress'], stop: AbortController): Drawing {
    const drawing: Drawing = { client, progress, startedAt: this.now(), stop, skip: new AbortController() };
    this.#drawings.add(drawing);
    return drawing;
  }

  end(drawing: Drawing): void {
    this.#drawings.delete(drawing);
  }

  progress(genkey = '', client = ''): ImageProgress | undefined {
    const [oldest] = this.#matching(genkey, client);
    return oldest && { ...oldest.progress, secondsSoFar: (this.now() - oldest.startedAt) / 1000 };
  }

  interrupt(genkey = '', client = ''): boolean {
    const matching = this.#matching(genkey, client);
    for (const { stop } of matching) stop.abort(new AppError('stopped', {}));
    return matching.length > 0;
  }

  skip(genkey = '', client = ''): boolean {
    const matching = this.#matching(genkey, client);
    for (const drawing of matching) {
      if (drawing.progress.pictures >= drawing.progress.count) continue;
      drawing.progress = { ...drawing.progress, skipped: true };
      drawing.skip.abort(new AppError('stopped', {}));
    }
    return matching.length > 0;
  }

  #matching(genkey: string, client: string): readonly Drawing[] {
    const known = [...this.#drawings].filter((drawing) => maySee(client, drawing));
    return known.filter(({ progress }) => genkey === '' || progress.genkey === genkey);
  }
}

type Drawn = Pick<ImageEngine, 'draw'>;

export function imageService({ drawings, ...deps }: ImageDeps): ImageService {
  const own = tasks(deps);

  async function* watched(engine: Drawn, request: ImageRequest, drawing: Drawing, signal: AbortSignal) {
    const start = drawing.progress;
    try {
      while (drawing.progress.pictures < request.count) {
        yield* untilSkipped(engine, drawing, request, signal);
        if (!drawing.skip.signal.aborted) return;
        drawing.skip = new AbortController();
        drawing.progress = { ...start, pictures: drawing.progress.pictures + 1 };
      }
    } finally {
      drawings.end(drawing);
    }
  }

  /** The pictures that are left, with the places and seeds that they have in the whole request. */
  async function* untilSkipped(engine: Drawn, drawing: Drawing, request: ImageRequest, signal: AbortSignal) {
    const first = drawing.progress.pictures;
    const rest = { ...request, seed: request.seed + first, count: request.count - first };
    const { signal: skipped } = drawing.skip;
    try {
      for await (const event of engine.draw(rest, AbortSignal.any([signal, skipped]))) {
        drawing.progress = after(drawing.progress, event);
        yield event.type === 'picture' ? { ...event, index: first + event.index } : event;
      }
    } catch (error) {
      if (!skipped.aborted || signal.aborted) throw error;
    }
  }

  function inTurn<Event>(
    context: RequestContext,
    work: (turn: ImageTurn) => AsyncIterable<Event>,
  ): AsyncIterable<Event> {
    // An interrupt ends this request only, and its client gets `stopped`.
    const stop = new AbortController();
    const { genkey, client } = context;
    const stoppable: RequestContext = {
      ...context,
      signal: AbortSignal.any([context.signal, stop.signal]),
    };
    return own.inTurn(stoppable, ({ signal, begin }) =>
      work({
        signal,
        draw: async function* (request) {
          const { engine } = await begin();
          const drawn: Drawn = { draw: (one, until) => engine.draw(one, until, { sent: context.sent }) };
          const { steps, count } = request;
          const start = { genkey, skipped: false, step: 0, steps, pictures: 0, count };
          for await (const event of watched(drawn, request, drawings.begin(client, start, stop), signal)) {
            if (event.type === 'picture') context.watch?.used?.({ images: 1 });
            yield event;
          }
        },
        upscale: async (request) => (await begin()).engine.upscale(request, signal),
        runsGraphs: async () => (await begin()).engine.facts()?.graphs === 'whole',
        graph: async function* (request) {
          const { engine } = await begin();
          const start = { genkey, skipped: false, step: 0, steps: 0, pictures: 0, count: 1 };
          const drawing = drawings.begin(client, start, stop);
          try {
            for await (const event of engine.graph?.(request, signal) ?? []) {
              drawing.progress = afterGraph(drawing.progress, event);
              if (event.type === 'file') context.watch?.used?.({ images: 1 });
              yield event;
            }
          } finally {
            drawings.end(drawing);
          }
        },
      }),
    );
  }

  return {
    name: deps.source.name,
    get facts() {
      return deps.source.peek()?.facts() ?? deps.source.facts;
    },
    inTurn,
    nodes: async (signal) => {
      const { source } = deps;
      // Only for an engine that is known to have them, another one is loaded.
      if ((source.peek()?.facts() ?? source.facts).graphs !== 'whole') return undefined;
      const { engine, release } = await source.use(signal);
      try {
        return await engine.nodes?.(signal);
      } finally {
        release();
      }
    },
    draw: (request, context) => inTurn(context, (turn) => turn.draw(request)),
    upscale: (request, context) => own.once(context, ({ engine, signal }) => engine.upscale(request, signal)),
  };
}

/** The steps of the node that runs. */
function afterGraph(progress: Drawing['progress'], event: GraphEvent): Drawing['progress'] {
  if (event.type === 'preview') {
    const preview = previewPicture(event.bytes);
    return preview ? { ...progress, preview } : progress;
  }
  if (event.type !== 'event' || event.name !== 'progress') return progress;
  const { value, max } = event.data;
  return typeof value === 'number' && typeof max === 'number' ? { ...progress, step: value, steps: max } : progress;
}

function after(progress: Drawing['progress'], event: ImageEvent): Drawing['progress'] {
  if (event.type === 'picture') return { ...progress, step: 0, pictures: progress.pictures + 1 };
  if (event.type !== 'progress') return progress;
  const { step, steps, preview } = event;
  return { ...progress, step, steps, ...(preview && { preview }) };
}
