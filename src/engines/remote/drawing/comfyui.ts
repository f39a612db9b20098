import { AppError } from '../../../core/errors.ts';
import type { ImageFacts, ImageRequest } from '../../../core/image.ts';
import { type DrawingServer, found, pictureBytes } from '../drawing-server.ts';
import { entries, inside, numberIn, textIn } from '../json.ts';
import type { DrawingConnection, Wait } from './a1111.ts';

/** Subscribes to progress messages of the WebSocket; returns the unsubscribe function. */
export type Listen = (client: string, told: (event: string, data: unknown) => void) => () => void;

export interface ComfyParts {
  readonly connection: DrawingConnection;
  readonly wait: Wait;
  readonly listen: Listen;
  readonly newId: () => string;
}

const lookMs = 300;
const askMs = 15_000;
const usual = { steps: 20, guidance: 7, size: 512 };
const plainUpscalers = [
  { name: 'None', scale: 1 },
  { name: 'Nearest', scale: 4 },
  { name: 'Lanczos', scale: 4 },
];

/** ComfyUI adapter; sends minimal graphs. */
export function comfyServer(parts: ComfyParts): DrawingServer {
  const { connection } = parts;
  let known: { readonly checkpoint: string } | undefined;
  return {
    facts: async () => {
      const { facts, checkpoint } = await readFacts(connection);
      known = { checkpoint };
      return facts;
    },
    draw: async ({ request, signal, progress }) => {
      const initial = request.initial && (await sent(parts, request.initial, signal));
      const mask = request.initial && request.mask && (await sent(parts, request.mask, signal));
      const graph = drawingGraph(request, { checkpoint: known?.checkpoint ?? '', initial, mask });
      return { bytes: await pictureOf(graph, parts, signal, progress), seed: request.seed };
    },
    upscale: async ({ picture, upscaler, width, height }, signal) => {
      const name = await sent(parts, picture, signal);
      return pictureOf(upscalingGraph(name, upscaler, { width, height }), parts, signal, () => {});
    },
    stop: async () => void (await connection.bytes('/interrupt', { method: 'POST', milliseconds: askMs })),
  };
}

async function pictureOf(
  graph: Graph,
  { connection, wait, listen, newId }: ComfyParts,
  signal: AbortSignal,
  progress: (step: number, steps: number) => void,
): Promise<Uint8Array> {
  const client = newId();
  const silence = listen(client, (event, data) => {
    const [step, steps] = [numberIn(data, 'value'), numberIn(data, 'max')];
    if (event === 'progress' && step && steps) progress(step, steps);
  });
  try {
    const queued = { prompt: graph, client_id: client };
    const id = textIn(await connection.json('POST', '/prompt', queued, { signal }), 'prompt_id');
    if (!id) throw failed('the server of --sdremote did not take the graph');
    const drop = (): void => {
      connection
        .bytes('/queue', { method: 'POST', body: { delete: [id] }, milliseconds: askMs })
        .catch(() => undefined);
    };
    signal.addEventListener('abort', drop, { once: true });
    for (;;) {
      const entry = inside(
        await connection.json('GET', `/history/${encodeURIComponent(id)}`, undefined, { signal }),
        id,
      );
      if (entry !== undefined) return await outputOf(entry, connection, signal);
      await wait(lookMs, signal);
    }
  } finally {
    silence();
  }
}

async function outputOf(entry: unknown, connection: DrawingConnection, signal: AbortSignal): Promise<Uint8Array> {
  const [picture] = entries(inside(entry, 'outputs', 'output', 'images'));
  const filename = textIn(picture, 'filename');
  if (filename === undefined) throw failed(`the server of --sdremote gave no picture${troubleIn(entry)}`);
  const place = { filename, subfolder: textIn(picture, 'subfolder') ?? '', type: textIn(picture, 'type') ?? 'temp' };
  return connection.bytes(`/view?${new URLSearchParams(place)}`, { signal, bytes: pictureBytes });
}

function troubleIn(entry: unknown): string {
  const messages = entries(inside(entry, 'status', 'messages'));
  const error = messages.find((message) => entries(message)[0] === 'execution_error');
  const said = textIn(entries(error)[1], 'exception_message');
  return said ? `: ${said.trim().replace(/\.$/, '').slice(0, 300)}` : '';
}

/** Uploads a picture; returns its name on the server. */
async function sent({ connection, newId }: ComfyParts, picture: Uint8Array, signal: AbortSignal): Promise<string> {
  const form = new FormData();
  form.set('image', new Blob([new Uint8Array(picture)], { type: 'image/png' }), `parley-${newId()}.png`);
  form.set('type', 'input');
  const answer = await connection.upload('/upload/image', form, { signal });
  const [name, folder] = [textIn(answer, 'name'), textIn(answer, 'subfolder')];
  if (!name) throw failed('the server of --sdremote did not take the picture');
  return folder ? `${folder}/${name}` : name;
}

async function readFacts(
  connection: DrawingConnection,
): Promise<{ readonly facts: ImageFacts; readonly checkpoint: string }> {
  const choices = async (type: string, input: string): Promise<readonly string[]> => {
    const listed = inside(await found(connection, `/object_info/${type}`), type, 'input', 'required', input);
    // Newer versions nest the list below its type.
    const [first, options] = entries(listed);
    const list = Array.isArray(first) ? first : entries(inside(options, 'options'));
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
  if (checkpoint === undefined) throw failed('the server of --sdremote has no checkpoint to draw with');
  const facts: ImageFacts = {
    name: checkpoint.replace(/\.(?:safetensors|ckpt|gguf)$/i, ''),
    title: checkpoint,
    path: checkpoint,
    nativeSize: usual.size,
    samplers: samplers.length > 0 ? samplers : ['euler'],
    schedulers: schedulers.length > 0 ? schedulers : ['normal'],
    upscalers: [...plainUpscalers, ...upscalers.map((name) => ({ name, scale: 4 }))],
    defaults: usual,
    loras: loras.map((file) => ({ name: file.replace(/\.(?:safetensors|gguf)$/i, ''), file })),
  };
  return { facts, checkpoint };
}

function failed(reason: string): AppError {
  return new AppError('engine-failed', { capability: 'image', reason });
}

/** A graph in ComfyUI's API format: nodes by id. */
type Graph = Readonly<Record<string, { readonly class_type: string; readonly inputs: object }>>;

interface GraphParts {
  readonly checkpoint: string;
  /** Names of the uploaded pictures. */
  readonly initial?: string | undefined;
  readonly mask?: string | undefined;
}

/** Graph for one picture. Each picture has its own graph, because ComfyUI does not increment the seed within a batch. */
export function drawingGraph(request: ImageRequest, { checkpoint, initial, mask }: GraphParts): Graph {
  const { width, height, loras = [] } = request;
  const changed = loras.map(({ name, weight }, index) => ({ id: `lora${index}`, name, weight }));
  const before = (index: number): string => changed[index - 1]?.id ?? 'model';
  const last = before(changed.length);
  const clip = request.clipSkip > 1 ? ['skip', 0] : [last, 1];
  return {
    model: node('CheckpointLoaderSimple', { ckpt_name: checkpoint }),
    ...Object.fromEntries(
      changed.map(({ id, name, weight }, index) => [
        id,
        node('LoraLoader', {
          model: [before(index), 0],
          clip: [before(index), 1],
          lora_name: name,
          strength_model: weight,
          strength_clip: weight,
        }),
      ]),
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

export function upscalingGraph(picture: string, upscaler: string, size: { width: number; height: number }): Graph {
  const plain = /^(?:none|nearest|lanczos)$/i.exec(upscaler)?.[0]?.toLowerCase();
  const method = plain === 'nearest' ? 'nearest-exact' : 'lanczos';
  return {
    picture: node('LoadImage', { image: picture }),
    ...(plain === undefined
      ? {
          loader: node('UpscaleModelLoader', { model_name: upscaler }),
          larger: node('ImageUpscaleWithModel', { upscale_model: ['loader', 0], image: ['picture', 0] }),
        }
      : {}),
    sized: node('ImageScale', {
      image: [plain === undefined ? 'larger' : 'picture', 0],
      upscale_method: method,
      ...size,
      crop: 'disabled',
    }),
    output: node('PreviewImage', { images: ['sized', 0] }),
  };
}

function startNodes(
  initial: string | undefined,
  mask: string | undefined,
  size: { width: number; height: number },
): Graph {
  if (initial === undefined) return { latent: node('EmptyLatentImage', { ...size, batch_size: 1 }) };
  return {
    picture: node('LoadImage', { image: initial }),
    latent: node('VAEEncode', { pixels: ['picture', 0], vae: ['model', 2] }),
    ...(mask === undefined
      ? {}
      : {
          mask: node('LoadImageMask', { image: mask, channel: 'red' }),
          masked: node('SetLatentNoiseMask', { samples: ['latent', 0], mask: ['mask', 0] }),
        }),
  };
}

function node(classType: string, inputs: object) {
  return { class_type: classType, inputs };
}
