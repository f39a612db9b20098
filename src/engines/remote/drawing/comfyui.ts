import { randomUUID } from 'node:crypto';
import { type ImageFacts, type ImageRequest, previewPicture } from '../../../core/image.ts';
import {
  type DrawingConnection,
  type DrawingServer,
  drawingFacts,
  drawingFailed,
  found,
  type Progress,
  pictureBytes,
  type Size,
  shortRequestMs,
  type Wait,
} from '../drawing-server.ts';
import { listAt, numberAt, objectAt, textAt, valueAt } from '../json.ts';
import { comfyGraphs, enqueued, fileOf, finished, type Listen, messagesOf, uploaded } from './comfy-graphs.ts';

const plainUpscalers = [
  { name: 'None', scale: 1 },
  { name: 'Nearest', scale: 4 },
  { name: 'Lanczos', scale: 4 },
];

/** ComfyUI adapter; sends minimal graphs. */
export function comfyServer(connection: DrawingConnection, wait: Wait, listen: Listen): DrawingServer {
  let checkpoint = '';

  async function pictureOf(graph: Graph, signal: AbortSignal, progress: Progress, previewEvery = 0) {
    const client = randomUUID();
    let last: readonly [step: number, steps: number] | undefined;
    const received = (event: string, data: unknown): void => {
      const { value, max } = objectAt(data);
      const [step, steps] = [numberAt(value), numberAt(max)];
      if (event !== 'progress' || !step || !steps) return;
      last = [step, steps];
      progress(step, steps);
    };
    const shown = (message: Uint8Array): void => {
      const picture = previewPicture(message);
      // It comes before or after the report of its step.
      if (picture && last && last[0] % previewEvery === 0) progress(...last, picture);
    };
    const unsubscribe = listen(client, received, previewEvery > 0 ? shown : undefined);
    try {
      // Its own setting holds for graphs that say nothing about it.
      const extra = { preview_method: previewEvery > 0 ? 'auto' : 'none' };
      const id = await enqueued({ prompt: graph, client_id: client, extra_data: extra }, connection, signal);
      const drop = (): void => {
        const request = { method: 'POST', body: { delete: [id] }, milliseconds: shortRequestMs } as const;
        connection.bytes('/queue', request).catch(() => undefined);
      };
      signal.addEventListener('abort', drop, { once: true });
      return await outputOf(await finished(id, { connection, wait, signal }), connection, signal);
    } finally {
      unsubscribe();
    }
  }

  const upload = (picture: Uint8Array, signal: AbortSignal): Promise<string> =>
    uploaded(picture, { ending: '.png', what: 'picture' }, connection, signal);

  return {
    facts: async () => {
      const facts = await readFacts(connection);
      checkpoint = facts.path;
      return facts;
    },
    draw: async (request, signal, progress) => {
      const initial = request.initial && (await upload(request.initial, signal));
      const mask = request.initial && request.mask && (await upload(request.mask, signal));
      const graph = drawingGraph(request, { checkpoint, initial, mask });
      return { bytes: await pictureOf(graph, signal, progress, request.previewEvery), seed: request.seed };
    },
    upscale: async ({ picture, upscaler, width, height }, signal) => {
      const name = await upload(picture, signal);
      return pictureOf(upscalingGraph(name, upscaler, { width, height }), signal, () => {});
    },
    graphs: comfyGraphs(connection, wait, listen),
    stop: async () => void (await connection.bytes('/interrupt', { method: 'POST', milliseconds: shortRequestMs })),
  };
}

async function outputOf(entry: unknown, connection: DrawingConnection, signal: AbortSignal): Promise<Uint8Array> {
  const file = fileOf(objectAt(listAt(valueAt(entry, 'outputs', 'output', 'images'))[0]), 'temp');
  if (file) return connection.bytes(file.path, { signal, bytes: pictureBytes });
  const message = textAt(messagesOf(entry).get('execution_error')?.exception_message);
  const reason = message ? `: ${message.trim().replace(/\.$/, '').slice(0, 300)}` : '';
  throw drawingFailed(`gave no picture${reason}`);
}

async function readFacts(connection: DrawingConnection): Promise<ImageFacts> {
  const choices = async (type: string, input: string): Promise<readonly string[]> => {
    const listed = valueAt(await found(connection, `/object_info/${type}`), type, 'input', 'required', input);
    // Newer versions nest the list below its type.
    const [first, options] = listAt(listed);
    const list = Array.isArray(first) ? first : listAt(objectAt(options).options);
    return list.filter((each): each is string => typeof each === 'string');
  };
  const [checkpoints, samplers, schedulers, upscalers, loras] = await Promise.all([
    choices('CheckpointLoaderSimple', 'ckpt_name'),
    choices('KSampler', 'sampler_name'),
    choices('KSampler', 'scheduler'),
    choices('UpscaleModelLoader', 'model_name'),
    choices('LoraLoader', 'lora_name'),
  ]);
  const [checkpoint] = checkpoints;
  if (checkpoint === undefined) throw drawingFailed('has no checkpoint to draw with');
  return {
    name: checkpoint.replace(/\.(?:safetensors|ckpt|gguf)$/i, ''),
    title: checkpoint,
    path: checkpoint,
    ...drawingFacts,
    graphs: 'whole',
    previews: true,
    samplers: samplers.length > 0 ? samplers : ['euler'],
    schedulers: schedulers.length > 0 ? schedulers : ['normal'],
    upscalers: [...plainUpscalers, ...upscalers.map((name) => ({ name, scale: 4 }))],
    loras: loras.map((file) => ({ name: file.replace(/\.(?:safetensors|gguf)$/i, ''), file })),
  };
}

/** A graph in ComfyUI's API format: nodes by id. */
type Graph = Readonly<Record<string, { readonly class_type: string; readonly inputs: object }>>;

/** Graph for one picture, because ComfyUI does not increment the seed within a batch. */
export function drawingGraph(
  request: ImageRequest,
  { checkpoint, initial, mask }: { checkpoint: string; initial?: string | undefined; mask?: string | undefined },
): Graph {
  const { width, height, loras = [] } = request;
  const before = (index: number): string => (index === 0 ? 'model' : `lora${index - 1}`);
  const last = before(loras.length);
  const clip = request.clipSkip > 1 ? ['skip', 0] : [last, 1];
  return {
    model: node('CheckpointLoaderSimple', { ckpt_name: checkpoint }),
    ...Object.fromEntries(
      loras.map(({ name, weight }, index) => {
        const inputs = { model: [before(index), 0], clip: [before(index), 1], lora_name: name };
        return [`lora${index}`, node('LoraLoader', { ...inputs, strength_model: weight, strength_clip: weight })];
      }),
    ),
    ...(request.clipSkip > 1
      ? { skip: node('CLIPSetLastLayer', { clip: [last, 1], stop_at_clip_layer: -request.clipSkip }) }
      : {}),
    positive: node('CLIPTextEncode', { text: request.prompt, clip }),
    negative: node('CLIPTextEncode', { text: request.negativePrompt, clip }),
    ...startNodes(initial, mask, { width, height }),
    sampler: node('KSampler', {
      model: [last, 0],
      positive: ['positive', 0],
      negative: ['negative', 0],
      latent_image: [initial && mask ? 'masked' : 'latent', 0],
      seed: request.seed,
      steps: request.steps,
      cfg: request.guidance,
      sampler_name: request.sampler,
      scheduler: request.scheduler,
      denoise: initial ? request.strength : 1,
    }),
    pixels: node('VAEDecode', { samples: ['sampler', 0], vae: ['model', 2] }),
    output: node('PreviewImage', { images: ['pixels', 0] }),
  };
}

export function upscalingGraph(picture: string, upscaler: string, size: Size): Graph {
  const plain = /^(?:none|nearest|lanczos)$/i.exec(upscaler)?.[0]?.toLowerCase();
  const scaled = (image: string): Graph => {
    const method = plain === 'nearest' ? 'nearest-exact' : 'lanczos';
    const sized = { image: [image, 0], upscale_method: method, ...size, crop: 'disabled' };
    return { sized: node('ImageScale', sized), output: node('PreviewImage', { images: ['sized', 0] }) };
  };
  const start = { picture: node('LoadImage', { image: picture }) };
  if (plain !== undefined) return { ...start, ...scaled('picture') };
  return {
    ...start,
    loader: node('UpscaleModelLoader', { model_name: upscaler }),
    larger: node('ImageUpscaleWithModel', { upscale_model: ['loader', 0], image: ['picture', 0] }),
    ...scaled('larger'),
  };
}

function startNodes(initial: string | undefined, mask: string | undefined, size: Size): Graph {
  if (initial === undefined) return { latent: node('EmptyLatentImage', { ...size, batch_size: 1 }) };
  const start = {
    picture: node('LoadImage', { image: initial }),
    latent: node('VAEEncode', { pixels: ['picture', 0], vae: ['model', 2] }),
  };
  if (mask === undefined) return start;
  return {
    ...start,
    mask: node('LoadImageMask', { image: mask, channel: 'red' }),
    masked: node('SetLatentNoiseMask', { samples: ['latent', 0], mask: ['mask', 0] }),
  };
}

function node(classType: string, inputs: object) {
  return { class_type: classType, inputs };
}
