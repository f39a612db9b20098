import { FrameReader, type FromPainter, frame, type PainterLoad, type ToPainter } from '../messages.ts';

// Runs in the Bare runtime, not in Node: it has the driver and the pipe, nothing else.

interface Pipe {
  on(event: 'data', listener: (chunk: Uint8Array) => void): Pipe;
  on(event: 'end' | 'error', listener: () => void): Pipe;
  write(bytes: Uint8Array): unknown;
}

declare const Bare: { readonly IPC: Pipe; exit(code: number): never };

/** Progress is JSON text, pictures are bytes. */
interface Response {
  onUpdate(listener: (update: Uint8Array | string) => void): Response;
  await(): Promise<unknown>;
}

interface Model {
  load(): Promise<void>;
  cancel(): Promise<void>;
}

interface Drawing extends Model {
  run(params: object): Promise<Response>;
}

interface Upscaling extends Model {
  upscale(picture: Uint8Array, options: { readonly repeats: number }): Promise<Response>;
}

interface Driver {
  readonly ImgStableDiffusion: new (parts: object) => Drawing;
  readonly EsrganUpscaler: new (parts: object) => Upscaling;
}

let driver: Driver | undefined;
let options: PainterLoad | undefined;
let drawing: Drawing | undefined;
let upscaling: Promise<Upscaling> | undefined;
let busy: Model | undefined;

const send = (message: FromPainter, bytes?: Uint8Array): void => void Bare.IPC.write(frame(message, bytes));
const why = (error: unknown): string => (error instanceof Error && error.message) || String(error);

async function load(wanted: PainterLoad): Promise<void> {
  try {
    const found = (await import(wanted.module)) as Driver & { readonly default: Driver };
    driver = found.ImgStableDiffusion ? found : found.default;
    options = wanted;
    drawing = new driver.ImgStableDiffusion({ files: wanted.files, config: wanted.config });
    await drawing.load();
    send({ type: 'loaded' });
  } catch (error) {
    send({ type: 'load-failed', reason: why(error) });
  }
}

async function work<Some extends Model>(
  id: number,
  open: () => Promise<Some>,
  begin: (model: Some) => Promise<Response>,
): Promise<void> {
  try {
    const model = await open();
    busy = model;
    const response = await begin(model);
    await response.onUpdate((update) => report(id, update)).await();
    send({ type: 'ended', id });
  } catch (error) {
    send({ type: 'failed', id, reason: why(error) });
  } finally {
    busy = undefined;
  }
}

function report(id: number, update: Uint8Array | string): void {
  if (typeof update !== 'string') {
    send({ type: 'picture', id }, update);
    return;
  }
  const { step, total } = JSON.parse(update) as { step?: number; total?: number };
  if (step !== undefined && total !== undefined) send({ type: 'progress', id, step, steps: total });
}

async function drawingModel(): Promise<Drawing> {
  if (!drawing) throw new Error('no model is loaded');
  return drawing;
}

/** Loaded on first use; a failed load is retried. */
function upscalingModel(): Promise<Upscaling> {
  upscaling ??= openUpscaler();
  upscaling.catch(() => {
    upscaling = undefined;
  });
  return upscaling;
}

async function openUpscaler(): Promise<Upscaling> {
  if (!driver || options?.upscaler === undefined) throw new Error('there is no file that enlarges pictures');
  const model = new driver.EsrganUpscaler({ files: { esrgan: options.upscaler }, config: options.upscalerConfig });
  await model.load();
  return model;
}

const reader = new FrameReader<ToPainter>((message, bytes) => {
  if (message.type === 'load') return void load(message.load);
  if (message.type === 'cancel') return void busy?.cancel();
  const picture = new Uint8Array(bytes);
  const { id } = message;
  if (message.type === 'upscale') {
    return void work(id, upscalingModel, (model) => model.upscale(picture, { repeats: 1 }));
  }
  const params = { ...message.params, ...(message.initial && { init_image: picture }) };
  return void work(id, drawingModel, (model) => model.run(params));
});

Bare.IPC.on('data', (chunk) => reader.push(chunk))
  // The parent process is gone.
  .on('end', () => Bare.exit(0))
  .on('error', () => Bare.exit(0));
