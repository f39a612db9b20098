import { Channel } from '../../../core/channel.ts';
import { AppError } from '../../../core/errors.ts';
import type {
  GenerateOptions,
  GraphEvent,
  GraphRequest,
  ImageEngine,
  ImageEvent,
  ImageFacts,
  ImageRequest,
  UpscaleRequest,
} from '../../../core/image.ts';
import type { SentFields } from '../../../core/sent-fields.ts';
import { onBackend, RemoteTaskEngine } from '../backend-pool.ts';
import { passedFields } from '../passed-fields.ts';
import { type AsPng, type GeneratedImage, type ImageServer, readPng } from './server.ts';

const isPng = (bytes: Uint8Array): boolean => bytes[0] === 0x89 && bytes[1] === 0x50;

const noGraphs = { feature: 'A whole graph', instead: 'only ComfyUI runs those' };

type Work<Answer> = (server: ImageServer, host: string, pass: readonly string[] | undefined) => Promise<Answer>;

/** Image engine of `--sdremote`: a backend with its own image API, detected by `identifyDrawing`. */
export class ImageServerEngine extends RemoteTaskEngine<{ readonly asPng: AsPng }> implements ImageEngine {
  facts(): ImageFacts | undefined {
    return this.pool.backends.find(({ identity }) => identity?.imageServer)?.identity?.imageServer?.facts;
  }

  async *generate(
    request: ImageRequest,
    signal: AbortSignal,
    { sent }: GenerateOptions = {},
  ): AsyncGenerator<ImageEvent> {
    const { width, height, steps, sampler, scheduler, count } = request;
    let last: GeneratedImage | undefined;
    for (let index = 0; index < count; index += 1) {
      // One at a time, so that each is sent as soon as it is complete.
      const one = { ...request, seed: (request.seed + index) % 2 ** 32, count: 1 };
      const { image, host } = yield* this.#drawOne(one, signal, sent);
      const { png } = await readPng(this.deps.asPng, image.bytes, host);
      yield { type: 'image', index, seed: image.seed, png };
      last = image;
    }
    yield { type: 'finish', width, height, steps, ...(last?.used ?? { sampler, scheduler }), notes: last?.notes ?? [] };
  }

  async upscale(request: UpscaleRequest, signal: AbortSignal): Promise<Uint8Array> {
    const { width, height } = request;
    const { bytes, host } = await this.#call(signal, async (server, host) => {
      return { bytes: await server.upscale(request, signal), host };
    });
    return (await readPng(this.deps.asPng, bytes, host, { width, height })).png;
  }

  async *graph(request: GraphRequest, signal: AbortSignal): AsyncGenerator<GraphEvent> {
    yield* followed<GraphEvent, void>(signal, (push, whole) =>
      this.#call(whole, async (server) => {
        if (!server.graphs) throw new AppError('unsupported', noGraphs);
        await server.graphs.run(request, whole, push);
      }),
    );
  }

  nodes(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    return this.#call(signal, async (server) => (await server.graphs?.nodes(signal)) ?? {});
  }

  /** Progress events, then the image. An abort also interrupts the backend. */
  #drawOne(request: ImageRequest, signal: AbortSignal, sent: SentFields | undefined) {
    let converting = false;
    const reporter =
      (push: (event: ImageEvent) => void) =>
      (step: number, steps: number, preview?: Uint8Array): void => {
        const event = { type: 'progress', step, steps } as const;
        const isReady = preview !== undefined && isPng(preview);
        push(isReady ? { ...event, preview } : event);
        // The next one comes soon: only one at a time is converted.
        if (isReady || !preview || converting) return;
        converting = true;
        this.deps
          .asPng(preview)
          .then(({ png }) => push({ ...event, preview: png }))
          // An unreadable preview is left out.
          .catch(() => undefined)
          .finally(() => {
            converting = false;
          });
      };
    return followed<ImageEvent, { readonly image: GeneratedImage; readonly host: string }>(signal, (push, whole) =>
      this.#call(whole, async (server, host, pass) => {
        // Not awaited: if the interrupt fails, the image completes unused.
        const stop = (): void => void server.stop().catch(() => undefined);
        whole.addEventListener('abort', stop, { once: true });
        try {
          const passed = (body: object) => passedFields(body, sent, pass);
          return { image: await server.generate(request, whole, reporter(push), passed), host };
        } finally {
          whole.removeEventListener('abort', stop);
        }
      }),
    );
  }

  #call<Answer>(signal: AbortSignal, work: Work<Answer>): Promise<Answer> {
    const { pool } = this;
    return onBackend(pool, { model: undefined, affinity: '', signal }, ({ backend }) => {
      const server = backend.identity?.imageServer?.server;
      if (server) return work(server, backend.address.host, backend.address.pass);
      throw new AppError('engine-failed', { capability: pool.capability, reason: 'the backend draws no pictures' });
    });
  }
}

/** The events of the work, then its result. The work is ended when the events are not read any more. */
async function* followed<Event, Result>(
  signal: AbortSignal,
  work: (push: (event: Event) => void, signal: AbortSignal) => Promise<Result>,
): AsyncGenerator<Event, Result> {
  const unread = new AbortController();
  const events = new Channel<Event>(() => unread.abort());
  const result = work((event) => events.push(event), AbortSignal.any([signal, unread.signal]));
  const end = (): void => events.end();
  result.then(end, end);
  yield* events;
  try {
    return await result;
  } finally {
    // After an abort, report the abort and not a subsequent error.
    signal.throwIfAborted();
  }
}
