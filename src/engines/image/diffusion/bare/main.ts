import {
  FrameReader,
  type FromPainter,
  frame,
  type PainterLoad,
  type PaintParams,
  type ToPainter,
} from '../messages.ts';

// Runs in the Bare runtime, not in Node: it has the driver and the pipe, nothing else.

interface Pipe {
  on(event: 'data', listener: (chunk: Uint8Array) => void): Pipe;
  on(event: 'end' | 'error', listener: () => void): Pipe;
  write(bytes: Uint8Array): unknown;
}

declare const Bare: { readonly IPC: Pipe; exit(code: number): never };

/** Progress is JSON text, pictures are bytes. */
interface Response {
  onUpdate(listener: (told: Uint8Array | string) => void): Response;
  await(): Promise<unknown>;
}

interface Model {
  load(): Promise<void>;
  cancel(): Promise<void>;
}

interface Drawing extends Model {
  run(params: object): Promise<Response>;
}

interface Enlarging extends Model {
  upscale(picture: Uint8Array, options: { readonly repeats: number }): Promise<Response>;
}

interface Driver {
  readonly ImgStableDiffusion: new (parts: object) => Drawing;
  readonly EsrganUpscaler: new (parts: object) => Enlarging;
}

let driver: Driver | undefined;
let drawing: Drawing | undefined;
let enlarging: Promise<Enlarging> | undefined;
let busy: Model | undefined;
let asked: PainterLoad | undefined;

const send = (message: FromPainter, bytes?: Uint8Array): void => void Bare.IPC.write(frame(message, bytes));
const why = (error: unknown): string => (error instanceof Error && error.message) || String(error);

async function load(wanted: PainterLoad): Promise<void> {
  try {
    const found = (await import(wanted.module)) as Driver & { readonly default: Driver };
    driver = found.ImgStableDiffusion ? found : found.default;
    asked = wanted;
    drawing = new driver.ImgStableDiffusion({ files: wanted.files, config: wanted.config });
    await drawing.load();
    send({ type: 'loaded' });
  } catch (error) {
    send({ type: 'load-failed', reason: why(error) });
  }
}

async function work(id: number, model: Model, begin: () => Promise<Response>): Promise<void> {
  busy = model;
  try {
    const response = await begin();
    await response.onUpdate((told) => tell(id, told)).await();
    send({ type: 'ended', id });
  } catch (error) {
    send({ type: 'failed', id, reason: why(error) });
  } finally {
    busy = undefined;
  }
}

function tell(id: number, told: Uint8Array | string): void {
  if (typeof told !== 'string') {
    send({ type: 'picture', id }, told);
    return;
  }
  const { step, total } = JSON.parse(told) as { step?: number; total?: number };
  if (step !== undefined && total !== undefined) send({ type: 'progress', id, step, steps: total });
}

function draw(id: number, params: PaintParams, initial: Uint8Array | undefined): Promise<void> {
  const model = drawing;
  if (!model) return Promise.resolve(send({ type: 'failed', id, reason: 'no model is loaded' }));
  return work(id, model, () => model.run({ ...params, ...(initial && { init_image: initial }) }));
}

async function upscale(id: number, picture: Uint8Array): Promise<void> {
  try {
    enlarging ??= openUpscaler();
    const model = await enlarging;
    await work(id, model, () => model.upscale(picture, { repeats: 1 }));
  } catch (error) {
    enlarging = undefined;
    send({ type: 'failed', id, reason: why(error) });
  }
}

async function openUpscaler(): Promise<Enlarging> {
  if (!driver || asked?.upscaler === undefined) throw new Error('there is no file that enlarges pictures');
  const files = { esrgan: asked.upscaler };
  const model = new driver.EsrganUpscaler({ files, config: asked.upscalerConfig });
  await model.load();
  return model;
}

const reader = new FrameReader<ToPainter>((message, bytes) => {
  switch (message.type) {
    case 'load':
      void load(message.load);
      return;
    case 'draw':
      void draw(message.id, message.params, message.initial ? new Uint8Array(bytes) : undefined);
      return;
    case 'upscale':
      void upscale(message.id, new Uint8Array(bytes));
      return;
    case 'cancel':
      void busy?.cancel();
  }
});

Bare.IPC.on('data', (chunk) => reader.push(chunk))
  // The parent process is gone.
  .on('end', () => Bare.exit(0))
  .on('error', () => Bare.exit(0));
