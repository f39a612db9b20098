import { randomBytes } from 'node:crypto';
import type { ImageFacts, ImageRequest } from '../../../core/image.ts';
import { tryParseJson } from '../../../core/json.ts';
import { listAt, numberAt, objectAt, textAt, valueAt } from '../json.ts';
import {
  base64,
  defaultImageFacts,
  type GeneratedImage,
  type ImageServer,
  type ImageServerConnection,
  imageServerFailed,
  maxImageBytes,
  optionalJson,
  type Progress,
  type SamplerNames,
  shortRequestMs,
  type Wait,
} from './server.ts';

/** Often enough to report each step of an image that takes seconds. */
const pollMs = 500;

/** What the adapter needs to know of the backend. */
interface Product {
  /**
   * sd-server of stable-diffusion.cpp: no progress, interrupt and upscaling, LoRAs only in the field `lora`, no empty prompt,
   * and its default for an unknown sampler or scheduler.
   */
  readonly isSdServer: boolean;
  readonly samplers: readonly string[];
  readonly schedulers: readonly string[];
  readonly loras: readonly { readonly name: string; readonly file: string; readonly path: string }[];
}

const newTaskId = (): string => `parley-${randomBytes(8).toString('hex')}`;

/** The API of the A1111 web UI, which sd-server, KoboldCpp, Forge and SD.Next have too. */
export function a1111Server(connection: ImageServerConnection, wait: Wait, newTask = newTaskId): ImageServer {
  let product: Product = { isSdServer: false, samplers: [], schedulers: [], loras: [] };
  const post = async (path: string, body: object, signal: AbortSignal) =>
    objectAt(await connection.json('POST', `/sdapi/v1/${path}`, body, { signal, bytes: maxImageBytes }));
  return {
    facts: async () => {
      const read = await readFacts(connection);
      product = read.product;
      return read.facts;
    },
    generate: async (request, signal, progress, passed = () => ({})) => {
      const done = new AbortController();
      // By its name another Parley knows whose preview it shows; others ignore it, or have it as the id of the task.
      const task = request.previewEvery > 0 ? newTask() : undefined;
      const watched = { done: done.signal, progress, task };
      const watching = product.isSdServer ? undefined : watch(connection, wait, watched);
      try {
        const path = request.initial ? 'img2img' : 'txt2img';
        const chosen = product.isSdServer ? knownNames(request, product) : undefined;
        const named = task !== undefined && !product.isSdServer && { force_task_id: task };
        const body = { ...bodyOf({ ...request, ...chosen?.used }, product), ...named };
        return { ...imageIn(await post(path, { ...passed(body), ...body }, signal), request), ...chosen };
      } finally {
        done.abort();
        await watching;
      }
    },
    upscale: async ({ image, upscaler, width, height }, signal) => {
      // The caller resizes it.
      if (product.isSdServer) return image;
      const size = { resize_mode: 1, upscaling_resize_w: width, upscaling_resize_h: height, upscaling_crop: false };
      const body = { upscaler_1: upscaler, ...size, image: base64(image) };
      const upscaled = textAt((await post('extra-single-image', body, signal)).image);
      if (!upscaled) throw imageServerFailed('gave no picture');
      return Buffer.from(upscaled, 'base64');
    },
    stop: async () => {
      if (product.isSdServer) return;
      await connection.json('POST', '/sdapi/v1/interrupt', {}, { milliseconds: shortRequestMs });
    },
  };
}

function bodyOf(request: ImageRequest, product: Product): object {
  const { initial, mask, clipSkip } = request;
  return {
    ...promptOf(request, product),
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

/** Names that leave the choice to the backend. */
const openNames = ['', 'automatic', 'default'];

/** The sampler and scheduler as the backend spells them; the first, with a note, if it does not list them. */
function knownNames({ sampler, scheduler }: SamplerNames, { samplers, schedulers }: Product) {
  const notes: string[] = [];
  const plain = (name: string): string => name.toLowerCase().replace(/[\s_-]+/g, '');
  const listed = (what: string, requested: string, all: readonly string[]): string => {
    const [first = requested] = all;
    const match = all.find((name) => plain(name) === plain(requested));
    if (match === undefined && !openNames.includes(plain(requested))) {
      notes.push(`There is no ${what} ${JSON.stringify(requested.slice(0, 60))}; ${first} was taken.`);
    }
    return match ?? first;
  };
  const used = {
    sampler: listed('sampler', sampler, samplers),
    scheduler: listed('scheduler', scheduler, schedulers),
  };
  return { used, notes };
}

function promptOf({ prompt, loras = [] }: ImageRequest, product: Product): object {
  // Requests have the name or the file.
  const listed = (requested: string) =>
    product.loras.find(({ name, file }) => [name, file].some((each) => each.toLowerCase() === requested.toLowerCase()));
  if (product.isSdServer) {
    const lora = loras.map(({ name, weight }) => ({ path: listed(name)?.path ?? name, multiplier: weight }));
    return { prompt: prompt || ' ', ...(lora.length > 0 ? { lora } : {}) };
  }
  const tags = loras.map(({ name, weight }) => ` <lora:${listed(name)?.name ?? name}:${weight}>`);
  return { prompt: `${prompt}${tags.join('')}` };
}

function imageIn({ images, info }: Readonly<Record<string, unknown>>, { seed }: ImageRequest): GeneratedImage {
  const image = listAt(images).map(textAt).find(Boolean);
  if (!image) throw imageServerFailed('gave no picture');
  const seeds = listAt(objectAt(tryParseJson(textAt(info) ?? '')).all_seeds);
  const used = seeds.find((each): each is number => Number.isInteger(each)) ?? seed;
  return { bytes: Buffer.from(image.replace(/^data:[^,]*,/, ''), 'base64'), seed: used };
}

/** Polls progress until the image is complete. Failed polls are ignored. */
async function watch(
  connection: ImageServerConnection,
  wait: Wait,
  { done, progress, task }: { done: AbortSignal; progress: Progress; task: string | undefined },
): Promise<void> {
  const named = task === undefined ? '' : `&id_task=${task}`;
  const path = `/sdapi/v1/progress?skip_current_image=${task === undefined}${named}`;
  const options = { signal: done, milliseconds: shortRequestMs };
  let last = '';
  while (!done.aborted) {
    await wait(pollMs, done).catch(() => undefined);
    if (done.aborted) return;
    const reply = await connection.json('GET', path, undefined, options).catch(() => undefined);
    const [step = 0, steps = 0, job = 0] = ['sampling_step', 'sampling_steps', 'job_no'].map((key) =>
      numberAt(valueAt(reply, 'state', key)),
    );
    const current = `${job} ${step}`;
    if (step === 0 || steps === 0 || current === last || done.aborted) continue;
    last = current;
    const preview = task !== undefined ? textAt(objectAt(reply).current_image) : undefined;
    progress(Math.min(step, steps), steps, preview ? Buffer.from(preview, 'base64') : undefined);
  }
}

async function readFacts(connection: ImageServerConnection): Promise<{ facts: ImageFacts; product: Product }> {
  const list = async (name: string) => listAt(await optionalJson(connection, `/sdapi/v1/${name}`)).map(objectAt);
  const [capabilities, options, models, samplers, schedulers, upscalers, listedLoras] = await Promise.all([
    optionalJson(connection, '/sdcpp/v1/capabilities'),
    optionalJson(connection, '/sdapi/v1/options'),
    list('sd-models'),
    list('samplers'),
    list('schedulers'),
    list('upscalers'),
    list('loras'),
  ]);
  const isSdServer = 'defaults_by_mode' in objectAt(capabilities);
  const title = textAt(objectAt(options).sd_model_checkpoint) || textAt(models[0]?.title) || 'remote';
  const model = models.find((each) => textAt(each.title) === title);
  const name = textAt(model?.model_name) || title;
  const sha256 = textAt(model?.sha256);
  const loras = listedLoras.flatMap((each) => {
    const lora = textAt(each.name);
    const path = textAt(each.path) || lora;
    return lora && path ? [{ name: lora, file: path.replace(/^.*[/\\]/, ''), path }] : [];
  });
  const facts = {
    name,
    title,
    path: textAt(model?.filename) || name,
    ...(sha256 && /^[0-9a-f]{64}$/i.test(sha256) && !/^8+$/.test(sha256) ? { sha256 } : {}),
    ...(isSdServer ? sdServerDefaults(valueAt(capabilities, 'defaults_by_mode', 'img_gen')) : defaultImageFacts),
    previews: !isSdServer,
    samplers: names(samplers, 'Euler a'),
    schedulers: names(schedulers, 'automatic'),
    upscalers: upscalers.flatMap((each) => {
      const upscaler = isSdServer ? undefined : textAt(each.name);
      return upscaler ? [{ name: upscaler, scale: numberAt(each.scale) ?? 4 }] : [];
    }),
    loras: loras.map(({ name, file }) => ({ name, file })),
  };
  return { facts, product: { isSdServer, samplers: facts.samplers, schedulers: facts.schedulers, loras } };
}

/** The flags with which sd-server was started, or its own defaults. */
function sdServerDefaults(mode: unknown): typeof defaultImageFacts {
  const { nativeSize, defaults } = defaultImageFacts;
  const positive = (value: unknown, ifNone: number): number => Math.max(0, numberAt(value) ?? 0) || ifNone;
  const size = Math.max(positive(valueAt(mode, 'width'), 0), positive(valueAt(mode, 'height'), 0)) || defaults.size;
  return {
    nativeSize: Math.max(nativeSize, size),
    defaults: {
      steps: positive(valueAt(mode, 'sample_params', 'sample_steps'), defaults.steps),
      guidance: positive(valueAt(mode, 'sample_params', 'guidance', 'txt_cfg'), defaults.guidance),
      size,
    },
  };
}

function names(list: readonly Readonly<Record<string, unknown>>[], ifNone: string): readonly string[] {
  const listed = list.flatMap(({ name }) => textAt(name) || []);
  return listed.length > 0 ? listed : [ifNone];
}
