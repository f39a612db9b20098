import { randomUUID } from 'node:crypto';
import { AppError } from '../../../core/errors.ts';
import {
  type GraphEvent,
  type GraphOutputs,
  type GraphRequest,
  type ImageFacts,
  type ImageRequest,
  previewImage,
} from '../../../core/image.ts';
import { listAt, numberAt, objectAt, textAt, valueAt } from '../json.ts';
import {
  defaultImageFacts,
  type GraphServer,
  type ImageServer,
  type ImageServerConnection,
  imageServerFailed,
  maxImageBytes,
  optionalJson,
  type Progress,
  type Size,
  shortRequestMs,
  type Wait,
} from './server.ts';

const plainUpscalers = [
  { name: 'None', scale: 1 },
  { name: 'Nearest', scale: 4 },
  { name: 'Lanczos', scale: 4 },
];

/** ComfyUI adapter; sends minimal graphs. */
export function comfyServer(connection: ImageServerConnection, wait: Wait, listen: Listen): ImageServer {
  let checkpoint = '';

  async function imageOf(graph: Graph, signal: AbortSignal, progress: Progress, previewEvery = 0) {
    const client = randomUUID();
    let last: readonly [step: number, steps: number] | undefined;
    const received = (event: string, data: unknown): void => {
      const { value, max } = objectAt(data);
      const [step, steps] = [numberAt(value), numberAt(max)];
      if (event !== 'progress' || !step || !steps) return;
      last = [step, steps];
      progress(step, steps);
    };
    const previewReceived = (message: Uint8Array): void => {
      const image = previewImage(message);
      // It comes before or after the report of its step.
      if (image && last && last[0] % previewEvery === 0) progress(...last, image);
    };
    const unsubscribe = listen(client, received, previewEvery > 0 ? previewReceived : undefined);
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

  const upload = (image: Uint8Array, signal: AbortSignal): Promise<string> =>
    uploaded(image, { ending: '.png', what: 'picture' }, connection, signal);

  return {
    facts: async () => {
      const facts = await readFacts(connection);
      checkpoint = facts.path;
      return facts;
    },
    generate: async (request, signal, progress) => {
      const initial = request.initial && (await upload(request.initial, signal));
      const mask = request.initial && request.mask && (await upload(request.mask, signal));
      const graph = generationGraph(request, { checkpoint, initial, mask });
      return { bytes: await imageOf(graph, signal, progress, request.previewEvery), seed: request.seed };
    },
    upscale: async ({ image, upscaler, width, height }, signal) => {
      const name = await upload(image, signal);
      return imageOf(upscalingGraph(name, upscaler, { width, height }), signal, () => {});
    },
    graphs: comfyGraphs(connection, wait, listen),
    stop: async () => void (await connection.bytes('/interrupt', { method: 'POST', milliseconds: shortRequestMs })),
  };
}

async function outputOf(entry: unknown, connection: ImageServerConnection, signal: AbortSignal): Promise<Uint8Array> {
  const file = fileOf(objectAt(listAt(valueAt(entry, 'outputs', 'output', 'images'))[0]), 'temp');
  if (file) return connection.bytes(file.path, { signal, bytes: maxImageBytes });
  const message = textAt(messagesOf(entry).get('execution_error')?.exception_message);
  const reason = message ? `: ${message.trim().replace(/\.$/, '').slice(0, 300)}` : '';
  throw imageServerFailed(`gave no picture${reason}`);
}

async function readFacts(connection: ImageServerConnection): Promise<ImageFacts> {
  const choices = async (type: string, input: string): Promise<readonly string[]> => {
    const listed = valueAt(await optionalJson(connection, `/object_info/${type}`), type, 'input', 'required', input);
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
  if (checkpoint === undefined) throw imageServerFailed('has no checkpoint to draw with');
  return {
    name: checkpoint.replace(/\.(?:safetensors|ckpt|gguf)$/i, ''),
    title: checkpoint,
    path: checkpoint,
    ...defaultImageFacts,
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

/** Graph for one image, because ComfyUI does not increment the seed within a batch. */
export function generationGraph(
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

export function upscalingGraph(image: string, upscaler: string, size: Size): Graph {
  const plain = /^(?:none|nearest|lanczos)$/i.exec(upscaler)?.[0]?.toLowerCase();
  const scaled = (image: string): Graph => {
    const method = plain === 'nearest' ? 'nearest-exact' : 'lanczos';
    const sized = { image: [image, 0], upscale_method: method, ...size, crop: 'disabled' };
    return { sized: node('ImageScale', sized), output: node('PreviewImage', { images: ['sized', 0] }) };
  };
  const start = { picture: node('LoadImage', { image: image }) };
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

/** Subscribes to the messages of the WebSocket; returns the unsubscribe function. */
export type Listen = (
  client: string,
  received: (event: string, data: unknown) => void,
  binary?: (bytes: Uint8Array) => void,
) => (() => void) & { readonly opened?: Promise<void> };

const pollMs = 300;
/** Polls between two looks at whether the graph is still in the queue. */
const queuePolls = 10;
/** The list of all classes has megabytes where many extensions are installed. */
const nodesBytes = 64 * 2 ** 20;
const maxFiles = 500;

/** Reported by the queue of this server too: start and end, errors, and how many wait. */
const forwarded: ReadonlySet<string> = new Set([
  'executing',
  'progress',
  'progress_state',
  'progress_text',
  'executed',
]);

/** Runs graphs of clients on ComfyUI: their files are sent before, and those that were made are fetched. */
export function comfyGraphs(connection: ImageServerConnection, wait: Wait, listen: Listen): GraphServer {
  return {
    nodes: async (signal) =>
      objectAt(await connection.json('GET', '/object_info', undefined, { signal, bytes: nodesBytes })),
    run: async (request, signal, event) => {
      const client = randomUUID();
      const files = fetcher(connection, signal, event);
      let reported = Promise.resolve();
      const executed = new Set<string>();
      const received = (name: string, sent: unknown): void => {
        const data = objectAt(sent);
        if (!forwarded.has(name) || (name === 'executing' && data.node === null)) return;
        if (name === 'executed') executed.add(String(data.node));
        // Its files first, so that a client that looks at them finds them.
        reported = reported.then(async () => {
          if (name === 'executed') await files.of(data.output);
          event({ type: 'event', name, data });
        });
        reported.catch(() => undefined);
      };
      const unsubscribe = listen(client, received, (bytes) => event({ type: 'preview', bytes }));
      try {
        await unsubscribe.opened;
        const entry = await finished(await queued(request, client, connection, signal), { connection, wait, signal });
        await reported;
        refuseFailed(entry);
        const outputs = objectAt(valueAt(entry, 'outputs')) as GraphOutputs;
        for (const [node, output] of Object.entries(outputs)) {
          await files.of(output);
          if (!executed.has(node))
            event({ type: 'event', name: 'executed', data: { node, display_node: node, output } });
        }
        event({ type: 'outputs', outputs });
      } finally {
        unsubscribe();
      }
    },
  };
}

/** Puts the graph into the queue of the server; returns its id there. An abort removes it. */
async function queued(request: GraphRequest, client: string, connection: ImageServerConnection, signal: AbortSignal) {
  const { extra, targets } = request;
  const body = {
    prompt: await withFiles(request, connection, signal),
    client_id: client,
    extra_data: extra,
    ...(targets && { partial_execution_targets: targets }),
  };
  const id = await enqueued(body, connection, signal);
  const stop = (): void => void stopped(id, connection).catch(() => undefined);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  return id;
}

/** Puts a graph into the queue of the server; returns its id there. */
export async function enqueued(body: object, connection: ImageServerConnection, signal: AbortSignal): Promise<string> {
  const id = textAt(objectAt(await connection.json('POST', '/prompt', body, { signal })).prompt_id);
  if (!id) throw imageServerFailed('did not take the graph');
  return id;
}

/** Ends this graph and no other. Older versions interrupt whatever runs, and so its own must be running. */
async function stopped(id: string, connection: ImageServerConnection): Promise<void> {
  const post = (path: string, body: object) =>
    connection.bytes(path, { method: 'POST', body, milliseconds: shortRequestMs });
  await post('/queue', { delete: [id] });
  const queue = objectAt(await connection.json('GET', '/queue', undefined, { milliseconds: shortRequestMs }));
  if (idsOf(queue.queue_running).includes(id)) await post('/interrupt', { prompt_id: id });
}

interface Waiting {
  readonly connection: ImageServerConnection;
  readonly wait: Wait;
  readonly signal: AbortSignal;
}

/** The entry in the history of the server, once it has ended. */
export async function finished(id: string, { connection, wait, signal }: Waiting): Promise<unknown> {
  let missing = 0;
  for (let poll = 1; ; poll += 1) {
    const history = await connection.json('GET', `/history/${encodeURIComponent(id)}`, undefined, { signal });
    const entry = objectAt(history)[id];
    if (entry !== undefined) return entry;
    // It has ended between the two looks, or the server was started again.
    if (missing > 1) throw imageServerFailed('no longer has the graph: it was started again, or its queue was cleared');
    await wait(pollMs, signal);
    if (poll % queuePolls === 0) missing = (await isQueued(id, connection, signal)) ? 0 : missing + 1;
  }
}

async function isQueued(id: string, connection: ImageServerConnection, signal: AbortSignal): Promise<boolean> {
  const queue = objectAt(await connection.json('GET', '/queue', undefined, { signal }));
  return [...idsOf(queue.queue_running), ...idsOf(queue.queue_pending)].includes(id);
}

function idsOf(prompts: unknown): readonly unknown[] {
  return listAt(prompts).map((prompt) => listAt(prompt)[1]);
}

/** Messages of the history about this graph: their names and data. */
export function messagesOf(entry: unknown): ReadonlyMap<unknown, Readonly<Record<string, unknown>>> {
  const messages = listAt(valueAt(entry, 'status', 'messages')).map(listAt);
  return new Map(messages.map(([name, data]) => [name, objectAt(data)]));
}

function refuseFailed(entry: unknown): void {
  const messages = messagesOf(entry);
  if (messages.has('execution_interrupted')) throw new AppError('stopped', {});
  const error = messages.get('execution_error');
  if (!error) return;
  const { exception_message: message, node_type: type, node_id: node } = error;
  const reason = textAt(message)?.trim().replace(/\.$/, '').slice(0, 500) ?? 'the graph failed';
  const where = textAt(type) ? ` (node ${String(node)}, ${textAt(type)})` : '';
  throw imageServerFailed(`says: ${reason}${where}`);
}

/** The graph with the files of the client, under their names on the server. */
async function withFiles({ graph, file }: GraphRequest, connection: ImageServerConnection, signal: AbortSignal) {
  const names = new Map<string, string>();
  const nameOf = async (text: string): Promise<string> => {
    const uploadedName = names.get(text);
    if (uploadedName !== undefined) return uploadedName;
    const bytes = file(text);
    const ending = /\.[A-Za-z0-9]{1,8}(?= \[|$)/.exec(text)?.[0] ?? '.png';
    const what = `file ${text.slice(0, 100)}`;
    const name = bytes ? await uploaded(bytes, { ending, what }, connection, signal) : text;
    names.set(text, name);
    return name;
  };
  const nodes: Record<string, unknown> = {};
  for (const [id, node] of Object.entries(graph)) {
    const inputs: Record<string, unknown> = {};
    for (const [input, value] of Object.entries(objectAt(objectAt(node).inputs)))
      inputs[input] = typeof value === 'string' ? await nameOf(value) : value;
    nodes[id] = { ...objectAt(node), inputs };
  }
  return nodes;
}

/** Uploads a file under a name of its own; returns its name on the server. */
export async function uploaded(
  bytes: Uint8Array,
  /** The ending tells the server what it is; `what` is its name in errors. */
  { ending, what }: { readonly ending: string; readonly what: string },
  connection: ImageServerConnection,
  signal: AbortSignal,
): Promise<string> {
  const form = new FormData();
  form.set('image', new Blob([new Uint8Array(bytes)]), `parley-${randomUUID()}${ending}`);
  form.set('type', 'input');
  const { name, subfolder } = objectAt(await connection.upload('/upload/image', form, { signal }));
  if (!textAt(name)) throw imageServerFailed(`did not take the ${what}`);
  return textAt(subfolder) ? `${subfolder}/${name}` : String(name);
}

/** Fetches each file of the outputs once: images, videos and sounds, whatever their list is called. */
function fetcher(connection: ImageServerConnection, signal: AbortSignal, event: (event: GraphEvent) => void) {
  const fetched = new Set<string>();
  return {
    of: async (output: unknown): Promise<void> => {
      for (const entry of Object.values(objectAt(output)).flatMap(listAt).map(objectAt)) {
        const file = fileOf(entry, 'output');
        if (file === undefined || fetched.has(file.path)) continue;
        if (fetched.size >= maxFiles) throw imageServerFailed(`made more than ${maxFiles} files`);
        fetched.add(file.path);
        const bytes = await connection.bytes(file.path, { signal, bytes: maxImageBytes });
        event({ type: 'file', file: { ...file.location, bytes } });
      }
    },
  };
}

/** Where a file of an output lies, and the path at which the server has it. */
export function fileOf({ filename, subfolder, type }: Readonly<Record<string, unknown>>, defaultType: string) {
  if (typeof filename !== 'string') return undefined;
  const location = { filename, subfolder: textAt(subfolder) ?? '', type: textAt(type) ?? defaultType };
  return { location, path: `/view?${new URLSearchParams(location)}` };
}
