import type { EngineSource } from '../core/engine-source.ts';
import { AppError } from '../core/errors.ts';
import {
  type GraphEvent,
  type ImageEngine,
  type ImageEvent,
  type ImageFacts,
  type ImageJobs,
  type ImageProgress,
  type ImageRequest,
  type ImageService,
  type ImageTurn,
  previewImage,
} from '../core/image.ts';
import { maySee } from '../core/owner.ts';
import type { RequestContext } from '../core/request-context.ts';
import { type TaskDeps, tasks } from './tasks.ts';

/** The facts are known without loading the model. */
export type ImageSource = EngineSource<ImageEngine> & { readonly facts: ImageFacts };

interface ImageDeps extends TaskDeps<ImageEngine, ImageSource> {
  /** Shared by the services of all models. */
  readonly imageJobs: RunningImageJobs;
}

interface ImageJob {
  readonly client: string;
  progress: Omit<ImageProgress, 'secondsSoFar'>;
  readonly startedAt: number;
  /** Ends the whole request. */
  readonly stop: AbortController;
  /** Ends the image that is generated now; replaced for each one. */
  skip: AbortController;
}

/** All image jobs that run now, the oldest first. */
export class RunningImageJobs implements ImageJobs {
  readonly #drawings = new Set<ImageJob>();

  /** The clock is that of the queue. */
  constructor(private readonly now: () => number) {}

  begin(client: string, progress: ImageJob['progress'], stop: AbortController): ImageJob {
    const imageJob: ImageJob = { client, progress, startedAt: this.now(), stop, skip: new AbortController() };
    this.#drawings.add(imageJob);
    return imageJob;
  }

  end(imageJob: ImageJob): void {
    this.#drawings.delete(imageJob);
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
    for (const imageJob of matching) {
      if (imageJob.progress.images >= imageJob.progress.count) continue;
      imageJob.progress = { ...imageJob.progress, skipped: true };
      imageJob.skip.abort(new AppError('stopped', {}));
    }
    return matching.length > 0;
  }

  #matching(genkey: string, client: string): readonly ImageJob[] {
    const known = [...this.#drawings].filter((imageJob) => maySee(client, imageJob));
    return known.filter(({ progress }) => genkey === '' || progress.genkey === genkey);
  }
}

type ImageGenerator = Pick<ImageEngine, 'generate'>;

export function imageService({ imageJobs, ...deps }: ImageDeps): ImageService {
  const own = tasks(deps);

  async function* watched(engine: ImageGenerator, request: ImageRequest, imageJob: ImageJob, signal: AbortSignal) {
    const start = imageJob.progress;
    try {
      while (imageJob.progress.images < request.count) {
        yield* untilSkipped(engine, imageJob, request, signal);
        if (!imageJob.skip.signal.aborted) return;
        imageJob.skip = new AbortController();
        imageJob.progress = { ...start, images: imageJob.progress.images + 1 };
      }
    } finally {
      imageJobs.end(imageJob);
    }
  }

  /** The images that are left, with the places and seeds that they have in the whole request. */
  async function* untilSkipped(engine: ImageGenerator, imageJob: ImageJob, request: ImageRequest, signal: AbortSignal) {
    const first = imageJob.progress.images;
    const rest = { ...request, seed: request.seed + first, count: request.count - first };
    const { signal: skipped } = imageJob.skip;
    try {
      for await (const event of engine.generate(rest, AbortSignal.any([signal, skipped]))) {
        imageJob.progress = after(imageJob.progress, event);
        yield event.type === 'image' ? { ...event, index: first + event.index } : event;
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
        generate: async function* (request) {
          const { engine } = await begin();
          const generator: ImageGenerator = {
            generate: (one, until) => engine.generate(one, until, { sent: context.sent }),
          };
          const { steps, count } = request;
          const start = { genkey, skipped: false, step: 0, steps, images: 0, count };
          for await (const event of watched(generator, request, imageJobs.begin(client, start, stop), signal)) {
            if (event.type === 'image') context.watch?.used?.({ images: 1 });
            yield event;
          }
        },
        upscale: async (request) => (await begin()).engine.upscale(request, signal),
        runsGraphs: async () => (await begin()).engine.facts()?.graphs === 'whole',
        graph: async function* (request) {
          const { engine } = await begin();
          const start = { genkey, skipped: false, step: 0, steps: 0, images: 0, count: 1 };
          const imageJob = imageJobs.begin(client, start, stop);
          try {
            for await (const event of engine.graph?.(request, signal) ?? []) {
              imageJob.progress = afterGraph(imageJob.progress, event);
              if (event.type === 'file') context.watch?.used?.({ images: 1 });
              yield event;
            }
          } finally {
            imageJobs.end(imageJob);
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
    generate: (request, context) => inTurn(context, (turn) => turn.generate(request)),
    upscale: (request, context) => own.once(context, ({ engine, signal }) => engine.upscale(request, signal)),
  };
}

/** The steps of the node that runs. */
function afterGraph(progress: ImageJob['progress'], event: GraphEvent): ImageJob['progress'] {
  if (event.type === 'preview') {
    const preview = previewImage(event.bytes);
    return preview ? { ...progress, preview } : progress;
  }
  if (event.type !== 'event' || event.name !== 'progress') return progress;
  const { value, max } = event.data;
  return typeof value === 'number' && typeof max === 'number' ? { ...progress, step: value, steps: max } : progress;
}

function after(progress: ImageJob['progress'], event: ImageEvent): ImageJob['progress'] {
  if (event.type === 'image') return { ...progress, step: 0, images: progress.images + 1 };
  if (event.type !== 'progress') return progress;
  const { step, steps, preview } = event;
  return { ...progress, step, steps, ...(preview && { preview }) };
}
