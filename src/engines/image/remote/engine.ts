import { Channel } from '../../../core/channel.ts';
import { AppError, asAppError } from '../../../core/errors.ts';
import type { ImageEngine, ImageEvent, ImageFacts, ImageRequest, UpscaleRequest } from '../../../core/image.ts';
import type { PictureEdit, PictureEditor } from '../../../core/pictures.ts';
import type { EngineState } from '../../host/engine-state.ts';
import type { RemotePicture, RemoteServer } from './server.ts';

export interface RemoteParts {
  /** Asks what is there, and of what kind it is. Rejects with the reason where it is away. */
  readonly connect: () => Promise<RemoteServer>;
  readonly editor: PictureEditor;
  readonly observer: { loaded(facts: ImageFacts): void; failed(reason: string): void };
}

/** Another server as an engine: it has no process of ours, and nothing of it is in our memory. */
export class RemoteImage implements ImageEngine {
  readonly pid = undefined;
  #state: EngineState = { type: 'idle' };
  #settled: Promise<void> = Promise.resolve();
  #server: RemoteServer | undefined;
  #facts: ImageFacts | undefined;

  constructor(private readonly parts: RemoteParts) {}

  start(): void {
    this.#state = { type: 'starting', progress: 0 };
    this.#settled = this.#connect();
  }

  async stop(): Promise<void> {
    this.#state = { type: 'stopped' };
    this.#server = undefined;
  }

  state(): EngineState {
    return this.#state;
  }

  settled(): Promise<void> {
    return this.#settled;
  }

  facts(): ImageFacts | undefined {
    return this.#facts;
  }

  async *draw(request: ImageRequest, signal: AbortSignal): AsyncGenerator<ImageEvent> {
    const server = this.#connected();
    const { width, height, steps, sampler, scheduler, count } = request;
    for (let index = 0; index < count; index += 1) {
      // One at a time: each is told when it is there, and who skips one loses no other.
      const one = { ...request, seed: (request.seed + index) % 2 ** 32, count: 1 };
      const picture = yield* followed(server, one, signal);
      yield { type: 'picture', index, seed: picture.seed, png: await this.#edited(picture.bytes, plainPng, signal) };
    }
    yield { type: 'finish', width, height, steps, sampler, scheduler, notes: [] };
  }

  async upscale(request: UpscaleRequest, signal: AbortSignal): Promise<Uint8Array> {
    const picture = await this.#connected().upscale(request, signal);
    const { width, height } = request;
    return this.#edited(picture, { type: 'resize', size: { width, height } }, signal);
  }

  async #edited(bytes: Uint8Array, edit: PictureEdit, signal: AbortSignal): Promise<Uint8Array> {
    const picture = { bytes, field: 'the picture of --sdremote' };
    const found = await this.parts.editor.edit(edit, [picture], signal);
    return found ?? bytes;
  }

  #connected(): RemoteServer {
    if (this.#server) return this.#server;
    throw failed('it is not connected');
  }

  async #connect(): Promise<void> {
    try {
      const server = await this.parts.connect();
      this.#facts = await server.facts();
      this.#server = server;
      if (this.#state.type !== 'starting') return;
      this.#state = { type: 'ready' };
      this.parts.observer.loaded(this.#facts);
    } catch (error) {
      const reason = reasonOf(asAppError(error));
      this.#state = { type: 'failed', reason };
      this.parts.observer.failed(reason);
    }
  }
}

/** The steps as they come, and at the end the picture. Who stops it stops the other server too. */
async function* followed(
  server: RemoteServer,
  request: ImageRequest,
  signal: AbortSignal,
): AsyncGenerator<ImageEvent, RemotePicture> {
  const gone = new AbortController();
  const whole = AbortSignal.any([signal, gone.signal]);
  const events = new Channel<ImageEvent>(() => gone.abort());
  // It need not be heard: what cannot be stopped ends by itself.
  whole.addEventListener('abort', () => void server.stop().catch(() => undefined), { once: true });
  const drawing = server.draw({
    request,
    signal: whole,
    progress: (step, steps, preview) => events.push({ type: 'progress', step, steps, ...(preview && { preview }) }),
  });
  drawing.then(
    () => events.end(),
    () => events.end(),
  );
  yield* events;
  try {
    return await drawing;
  } finally {
    // Whatever went wrong on the way out: it was stopped, and that is what is told.
    signal.throwIfAborted();
  }
}

/** Decoded and encoded anew: so it is a picture, and has no texts in it. */
const plainPng: PictureEdit = { type: 'encode', format: 'png', quality: 100 };

function reasonOf({ details, message }: AppError): string {
  return 'reason' in details ? String(details.reason) : message;
}

function failed(reason: string): AppError {
  return new AppError('engine-failed', { capability: 'image', reason });
}
