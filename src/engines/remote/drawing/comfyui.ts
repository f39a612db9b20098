import { AppError } from '../../../core/errors.ts';
import type { ImageFacts } from '../../../core/image.ts';
import type { DrawingServer } from '../drawing-server.ts';
import type { DrawingConnection, Wait } from './a1111.ts';
import { drawingGraph, type Graph, upscalingGraph } from './comfyui-graph.ts';
import { found, pictureBytes } from './found.ts';
import { entries, inside, numberIn, textIn } from './values.ts';

/** What the tool tells while it works, by its WebSocket; gives a way to stop listening. */
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

/** ComfyUI, by the smallest graphs that do what is asked. */
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

/** The name under which the tool knows it from now on. */
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
    // Newer ones put the list below its kind.
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
