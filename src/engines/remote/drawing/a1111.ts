import type { ImageFacts, ImageRequest } from '../../../core/image.ts';
import { tryParseJson } from '../../../core/json.ts';
import {
  base64,
  type DrawingConnection,
  type DrawingServer,
  drawingFacts,
  drawingFailed,
  found,
  type Progress,
  pictureBytes,
  type RemotePicture,
  shortRequestMs,
  type Wait,
} from '../drawing-server.ts';
import { listAt, numberAt, objectAt, textAt, valueAt } from '../json.ts';

/** Often enough to report each step of a picture that takes seconds. */
const pollMs = 500;

/** The API of the A1111 web UI, which sd-server, KoboldCpp, Forge and SD.Next have too. */
export function a1111Server(connection: DrawingConnection, wait: Wait): DrawingServer {
  const post = async (path: string, body: object, signal: AbortSignal) =>
    objectAt(await connection.json('POST', `/sdapi/v1/${path}`, body, { signal, bytes: pictureBytes }));
  return {
    facts: () => readFacts(connection),
    draw: async (request, signal, progress) => {
      const done = new AbortController();
      const watching = watch(connection, wait, { done: done.signal, progress, preview: request.previewEvery > 0 });
      try {
        return pictureIn(await post(request.initial ? 'img2img' : 'txt2img', bodyOf(request), signal), request);
      } finally {
        done.abort();
        await watching;
      }
    },
    upscale: async ({ picture, upscaler, width, height }, signal) => {
      const size = { resize_mode: 1, upscaling_resize_w: width, upscaling_resize_h: height, upscaling_crop: false };
      const body = { upscaler_1: upscaler, ...size, image: base64(picture) };
      const image = textAt((await post('extra-single-image', body, signal)).image);
      if (!image) throw drawingFailed('gave no picture');
      return Buffer.from(image, 'base64');
    },
    stop: async () => void (await connection.json('POST', '/sdapi/v1/interrupt', {}, { milliseconds: shortRequestMs })),
  };
}

function bodyOf(request: ImageRequest): object {
  const { initial, mask, clipSkip, loras = [] } = request;
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
    ...(clipSkip > 1 ? { clip_skip: clipSkip, override_settings: { CLIP_stop_at_last_layers: clipSkip } } : {}),
    ...(initial ? { init_images: [base64(initial)], denoising_strength: request.strength } : {}),
    ...(initial && mask ? { mask: base64(mask), inpainting_fill: 1, inpaint_full_res: false, mask_blur: 4 } : {}),
    send_images: true,
    save_images: false,
  };
}

function pictureIn({ images, info }: Readonly<Record<string, unknown>>, { seed }: ImageRequest): RemotePicture {
  const image = listAt(images).map(textAt).find(Boolean);
  if (!image) throw drawingFailed('gave no picture');
  const seeds = listAt(objectAt(tryParseJson(textAt(info) ?? '')).all_seeds);
  const used = seeds.find((each): each is number => Number.isInteger(each)) ?? seed;
  return { bytes: Buffer.from(image.replace(/^data:[^,]*,/, ''), 'base64'), seed: used };
}

/** Polls progress until the picture is complete. Failed polls are ignored. */
async function watch(
  connection: DrawingConnection,
  wait: Wait,
  { done, progress, preview }: { done: AbortSignal; progress: Progress; preview: boolean },
): Promise<void> {
  const path = `/sdapi/v1/progress?skip_current_image=${!preview}`;
  const options = { signal: done, milliseconds: shortRequestMs };
  let last = '';
  while (!done.aborted) {
    await wait(pollMs, done).catch(() => undefined);
    if (done.aborted) return;
    const seen = await connection.json('GET', path, undefined, options).catch(() => undefined);
    const [step = 0, steps = 0, job = 0] = ['sampling_step', 'sampling_steps', 'job_no'].map((key) =>
      numberAt(valueAt(seen, 'state', key)),
    );
    const current = `${job} ${step}`;
    if (step === 0 || steps === 0 || current === last || done.aborted) continue;
    last = current;
    const shown = preview ? textAt(objectAt(seen).current_image) : undefined;
    progress(Math.min(step, steps), steps, shown ? Buffer.from(shown, 'base64') : undefined);
  }
}

async function readFacts(connection: DrawingConnection): Promise<ImageFacts> {
  const list = async (name: string) => listAt(await found(connection, `/sdapi/v1/${name}`)).map(objectAt);
  const [options, models, samplers, schedulers, upscalers, loras] = await Promise.all([
    found(connection, '/sdapi/v1/options'),
    list('sd-models'),
    list('samplers'),
    list('schedulers'),
    list('upscalers'),
    list('loras'),
  ]);
  const title = textAt(objectAt(options).sd_model_checkpoint) || textAt(models[0]?.title) || 'remote';
  const model = models.find((each) => textAt(each.title) === title);
  const name = textAt(model?.model_name) || title;
  const sha256 = textAt(model?.sha256);
  return {
    name,
    title,
    path: textAt(model?.filename) || name,
    ...(sha256 && /^[0-9a-f]{64}$/i.test(sha256) && !/^8+$/.test(sha256) ? { sha256 } : {}),
    ...drawingFacts,
    samplers: names(samplers, 'Euler a'),
    schedulers: names(schedulers, 'automatic'),
    upscalers: upscalers.flatMap((each) => {
      const upscaler = textAt(each.name);
      return upscaler ? [{ name: upscaler, scale: numberAt(each.scale) ?? 4 }] : [];
    }),
    loras: loras.flatMap((each) => {
      const lora = textAt(each.name);
      return lora ? [{ name: lora, file: (textAt(each.path) ?? lora).replace(/^.*[/\\]/, '') }] : [];
    }),
  };
}

function names(list: readonly Readonly<Record<string, unknown>>[], ifNone: string): readonly string[] {
  const listed = list.flatMap(({ name }) => textAt(name) || []);
  return listed.length > 0 ? listed : [ifNone];
}
