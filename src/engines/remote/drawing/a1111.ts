import { AppError } from '../../../core/errors.ts';
import type { ImageFacts, ImageRequest } from '../../../core/image.ts';
import type { BackendConnection } from '../connection.ts';
import { type DrawingServer, found, pictureBytes, type RemotePicture } from '../drawing-server.ts';
import { entries, numberIn, textIn, textsIn } from '../json.ts';

export type DrawingConnection = Pick<BackendConnection, 'json' | 'bytes' | 'upload'>;
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

/** Often enough to report each step of a picture that takes seconds. */
const lookMs = 500;
/** For progress and interrupt requests, which are slow while the server computes. */
const progressMs = 15_000;
const stopMs = 15_000;
const usual = { steps: 20, guidance: 7, size: 512 };

/** The API of the A1111 web UI, which sd-server, KoboldCpp, Forge and SD.Next have too. */
export function a1111Server(connection: DrawingConnection, wait: Wait): DrawingServer {
  return {
    facts: () => readFacts(connection),
    draw: async ({ request, signal, progress }) => {
      const done = new AbortController();
      const watching = watch(connection, wait, { done: done.signal, progress, preview: request.previewEvery > 0 });
      try {
        const path = request.initial ? 'img2img' : 'txt2img';
        const options = { signal, bytes: pictureBytes };
        return pictureIn(await connection.json('POST', `/sdapi/v1/${path}`, bodyOf(request), options), request);
      } finally {
        done.abort();
        await watching;
      }
    },
    upscale: async ({ picture, upscaler, width, height }, signal) => {
      const body = { upscaler_1: upscaler, resize_mode: 1, upscaling_resize_w: width, upscaling_resize_h: height };
      const whole = { ...body, upscaling_crop: false, image: Buffer.from(picture).toString('base64') };
      const options = { signal, bytes: pictureBytes };
      const image = textIn(await connection.json('POST', '/sdapi/v1/extra-single-image', whole, options), 'image');
      if (!image) throw empty();
      return Buffer.from(image, 'base64');
    },
    stop: async () => void (await connection.json('POST', '/sdapi/v1/interrupt', {}, { milliseconds: stopMs })),
  };
}

function bodyOf(request: ImageRequest): object {
  const { initial, mask, loras = [] } = request;
  const tags = loras.map(({ name, weight }) => ` <lora:${name}:${weight}>`).join('');
  return {
    prompt: `${request.prompt}${tags}`,
    negative_prompt: request.negativePrompt,
    width: request.width,
    height: request.height,
    steps: request.steps,
    cfg_scale: request.guidance,
    sampler_name: request.sampler,
    scheduler: request.scheduler,
    seed: request.seed,
    batch_size: 1,
    n_iter: 1,
    ...(request.clipSkip > 1 ? { clip_skip: request.clipSkip, override_settings: clipSetting(request.clipSkip) } : {}),
    ...(initial ? { init_images: [base64(initial)], denoising_strength: request.strength } : {}),
    ...(initial && mask ? { mask: base64(mask), inpainting_fill: 1, inpaint_full_res: false, mask_blur: 4 } : {}),
    send_images: true,
    save_images: false,
  };
}

const clipSetting = (layers: number) => ({ CLIP_stop_at_last_layers: layers });
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function pictureIn(answer: unknown, { seed }: ImageRequest): RemotePicture {
  const image = textsIn(answer, 'images').find((each) => each !== '');
  if (image === undefined) throw empty();
  const [told = seed] = seedsIn(textIn(answer, 'info') ?? '');
  return { bytes: Buffer.from(image.replace(/^data:[^,]*,/, ''), 'base64'), seed: told };
}

function seedsIn(info: string): readonly number[] {
  try {
    const { all_seeds: seeds } = JSON.parse(info) as { all_seeds?: unknown };
    return Array.isArray(seeds) ? seeds.filter((seed): seed is number => Number.isInteger(seed)) : [];
  } catch {
    return [];
  }
}

interface Watching {
  readonly done: AbortSignal;
  readonly progress: (step: number, steps: number, preview?: Uint8Array) => void;
  readonly preview: boolean;
}

/** Polls progress until the picture is complete. Failed polls are ignored. */
async function watch(connection: DrawingConnection, wait: Wait, { done, progress, preview }: Watching): Promise<void> {
  let last = '';
  while (!done.aborted) {
    await wait(lookMs, done).catch(() => undefined);
    if (done.aborted) return;
    const path = `/sdapi/v1/progress?skip_current_image=${!preview}`;
    const options = { signal: done, milliseconds: progressMs };
    const seen = await connection.json('GET', path, undefined, options).catch(() => undefined);
    const state = (seen as { state?: unknown } | undefined)?.state;
    const [step = 0, steps = 0, job = 0] = ['sampling_step', 'sampling_steps', 'job_no'].map((key) =>
      numberIn(state, key),
    );
    const place = `${job} ${step}`;
    if (step === 0 || steps === 0 || place === last || done.aborted) continue;
    last = place;
    const shown = preview ? textIn(seen, 'current_image') : undefined;
    progress(Math.min(step, steps), steps, shown ? Buffer.from(shown, 'base64') : undefined);
  }
}

async function readFacts(connection: DrawingConnection): Promise<ImageFacts> {
  const list = async (name: string): Promise<readonly unknown[]> =>
    entries(await found(connection, `/sdapi/v1/${name}`));
  const [options, models, samplers, schedulers, upscalers, loras] = await Promise.all([
    found(connection, '/sdapi/v1/options'),
    list('sd-models'),
    list('samplers'),
    list('schedulers'),
    list('upscalers'),
    list('loras'),
  ]);
  const title = textIn(options, 'sd_model_checkpoint') || textIn(models[0], 'title') || 'remote';
  const model = models.find((each) => textIn(each, 'title') === title);
  const name = textIn(model, 'model_name') || title;
  const sha256 = textIn(model, 'sha256');
  return {
    name,
    title,
    path: textIn(model, 'filename') || name,
    ...(sha256 && /^[0-9a-f]{64}$/i.test(sha256) && !/^8+$/.test(sha256) ? { sha256 } : {}),
    nativeSize: usual.size,
    samplers: names(samplers, 'name', 'Euler a'),
    schedulers: names(schedulers, 'name', 'automatic'),
    upscalers: upscalers.flatMap((each) => {
      const upscaler = textIn(each, 'name');
      return upscaler ? [{ name: upscaler, scale: numberIn(each, 'scale') ?? 4 }] : [];
    }),
    defaults: usual,
    loras: loras.flatMap((each) => {
      const lora = textIn(each, 'name');
      return lora ? [{ name: lora, file: fileName(textIn(each, 'path') ?? lora) }] : [];
    }),
  };
}

function names(list: readonly unknown[], key: string, usually: string): readonly string[] {
  const found = list.map((each) => textIn(each, key)).filter((name): name is string => Boolean(name));
  return found.length > 0 ? found : [usually];
}

const fileName = (path: string): string => path.split(/[/\\]/).at(-1) ?? path;

function empty(): AppError {
  return new AppError('engine-failed', { capability: 'image', reason: 'the server of --sdremote gave no picture' });
}
