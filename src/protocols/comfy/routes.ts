import { freemem, totalmem } from 'node:os';
import { AppError } from '../../core/errors.ts';
import type { ImageFacts, ImageService } from '../../core/image.ts';
import type { ImageEditor } from '../../core/image-editing.ts';
import { type Owner, ownerOf } from '../../core/owner.ts';
import { type AccessRule, type Call, json } from '../../http/call.ts';
import type { SocketEndpoint } from '../../http/web-socket.ts';
import { information, legacyOpen, read, write } from '../access.ts';
import { ignoredHeader } from '../dialect.ts';
import { atPaths, bodyOf, endpointRow, lastPart, type ModelEndpoint, withServices } from '../endpoint.ts';
import { readFields } from '../fields.ts';
import { factsFor, type ImageContext, type ImageServices, networksOf } from '../images/request.ts';
import { comfyDialect } from './errors.ts';
import { dropFields, freeFields, interruptFields, promptFields, uploadFields } from './fields.ts';
import { upload, view } from './files.ts';
import { type ComfyQueue, features } from './queue.ts';

type Own = ModelEndpoint<ImageContext>;
type Services = ImageServices & { readonly prompts: ComfyQueue };

/** Every path exists below `/api` too. Only prompts are queued: all other calls are answered at once. */
export function comfyEndpoints({ prompts, ...server }: Services) {
  const { editor, product } = server;
  const limited = atMost(maxEdits, editor);
  const storeOf = (call: Call) => ({ files: prompts.files.of(ownerOf(call)), editor: limited });
  const shared = { method: 'POST', match: 'exact', modelSelection: 'any-name', dialect: comfyDialect } as const;
  const row = endpointRow(legacyOpen(write('images')), shared);
  const post = (path: string, summary: string, handle: Own['handle'], more: Partial<Own> = {}): Own =>
    row(path, summary, handle, { ...(path.endsWith('/') && { match: 'prefix' }), ...more });
  const get = (
    path: string,
    summary: string,
    response: string,
    value: (call: Call, facts: ImageFacts | undefined, nodes: ImageService['nodes']) => unknown,
    rule: AccessRule = information,
  ): Own =>
    post(
      path,
      summary,
      async (call, { taskServices }) => {
        const image = taskServices?.image;
        return json(await value(call, factsFor(call, image?.facts), image?.nodes));
      },
      { ...legacyOpen(rule), method: 'GET', response },
    );
  const drop = (path: string, summary: string, remove: (owner: Owner, ids?: readonly string[]) => void): Own =>
    post(
      path,
      summary,
      async (call) => {
        const { clear, delete: ids } = readFields(dropFields, await bodyOf(call, 'object'));
        if (clear) remove(ownerOf(call));
        else if (ids) remove(ownerOf(call), ids);
        return json({});
      },
      { fields: dropFields, response: 'empty' },
    );
  const uploads = (kind: 'image' | 'mask', summary: string): Own =>
    post(`/upload/${kind}`, summary, (call) => upload(call, storeOf(call), kind), {
      fields: uploadFields,
      response: 'file',
      form: {},
    });
  const classes = async (call: Call, facts: ImageFacts | undefined, nodes: ImageService['nodes']) => {
    const backend = call.authorized ? await nodes?.(call.signal) : undefined;
    if (backend) {
      const { withOwnFiles } = await import('./run.ts');
      return withOwnFiles(backend, prompts.files.of(ownerOf(call)).sent());
    }
    const { objectInfo } = await import('./object-info.ts');
    return objectInfo(facts, call.authorized ? prompts.files.of(ownerOf(call)).sent() : []);
  };
  // Most servers never get a graph.
  const takePrompt: Own['handle'] = async (call, context) => {
    const { queuePrompt } = await import('./prompt.ts');
    return queuePrompt(call, context, prompts);
  };
  const endpoints = [
    post('/prompt', 'Put a graph into the queue.', takePrompt, {
      fields: promptFields,
      response: 'queued',
      queued: true,
    }),
    get('/prompt', 'Number of remaining prompts.', 'queueLength', () => ({
      exec_info: { queue_remaining: prompts.remaining },
    })),
    get('/queue', 'Running and waiting prompts.', 'queue', (call) => prompts.queue(ownerOf(call)), read('images')),
    drop('/queue', 'Remove waiting prompts.', (owner, ids) => prompts.dropPending(owner, ids)),
    get(
      '/history',
      'Results of the last prompts.',
      'history',
      (call) => prompts.history(ownerOf(call), numberIn(call.query, 'max_items'), numberIn(call.query, 'offset')),
      read('images'),
    ),
    drop('/history', 'Remove results.', (owner, ids) => prompts.dropHistory(owner, ids)),
    get(
      '/history/',
      'Result of one prompt.',
      'history',
      (call) => prompts.entry(ownerOf(call), lastPart(call)),
      read('images'),
    ),
    post(
      '/interrupt',
      'Stop running prompts.',
      async (call) => {
        prompts.interrupt(ownerOf(call), readFields(interruptFields, await bodyOf(call, 'object')).prompt_id);
        return json({});
      },
      { fields: interruptFields, response: 'empty' },
    ),
    post(
      '/free',
      'Accepted: models are loaded and unloaded automatically.',
      async (call) => json({}, 200, ignoredHeader(freeFields, await bodyOf(call, 'object'))),
      { fields: freeFields, response: 'empty' },
    ),
    post('/view', 'A picture by its name.', (call) => view(call, storeOf(call)), {
      ...legacyOpen(read('images')),
      method: 'GET',
      response: 'image',
    }),
    uploads('image', 'Send a picture for LoadImage.'),
    uploads('mask', 'Send a mask for a picture.'),
    get('/object_info', 'The classes of nodes.', 'classes', classes),
    get('/object_info/', 'One class of nodes.', 'classes', async (call, facts, nodes) => {
      const name = lastPart(call);
      const all = await classes(call, facts, nodes);
      return Object.hasOwn(all, name) ? { [name]: all[name] } : {};
    }),
    get('/system_stats', 'Memory and devices of the machine.', 'system', () => systemStats(product)),
    get('/embeddings', 'None.', 'names', () => []),
    get('/extensions', 'None.', 'names', () => []),
    get('/features', 'Features of the connection at /ws.', 'features', () => features),
    ...[...modelFolders].map(([folder, names]) =>
      get(`/models/${folder}`, 'Names of models.', 'names', (_, facts) => (facts ? names(facts) : [])),
    ),
  ];
  const all = [
    ...endpoints.flatMap((own) => atPaths(own, `/api${own.path}`)),
    get('/api/models', 'The kinds of models.', 'names', () => [...modelFolders.keys()]),
  ];
  return withServices(all, server);
}

/** These do not wait in the queue, so that their number has its own limit. */
const maxEdits = 16;

function atMost(limit: number, editor: ImageEditor): ImageEditor {
  let running = 0;
  return {
    edit: async (edit, pictures, signal) => {
      if (running >= limit) throw new AppError('busy', { retryAfterSeconds: 1 });
      running += 1;
      try {
        return await editor.edit(edit, pictures, signal);
      } finally {
        running -= 1;
      }
    },
  };
}

export function comfySockets(prompts: ComfyQueue): SocketEndpoint[] {
  return ['/ws', '/api/ws'].map((path) => ({
    ...legacyOpen(read('images')),
    match: 'exact',
    path,
    summary: 'Events of prompts.',
    dialect: comfyDialect,
    open: (call, socket) => prompts.hub.open(call, socket),
  }));
}

/** The names of models by the folders that ComfyUI has for them. */
const modelFolders = new Map<string, (facts: ImageFacts) => readonly string[]>([
  ['checkpoints', ({ name }) => [name]],
  ['loras', ({ loras = [] }) => loras.map(({ file }) => file)],
  ['vae', ({ vae }) => (vae === undefined ? [] : [vae])],
  ...['diffusion_models', 'text_encoders', 'clip_vision', 'controlnet', 'embeddings', 'hypernetworks'].map(
    (folder) => [folder, () => []] as const,
  ),
  ['upscale_models', (facts) => networksOf(facts).map(({ name }) => name)],
]);

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const value = Number(query.get(name) || Number.NaN);
  return Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** The versions are those of ComfyUI: clients compare them. */
function systemStats({ name, version }: ImageContext['product']): object {
  const [total, free] = [totalmem(), freemem()];
  const memory = { vram_total: total, vram_free: free, torch_vram_total: 0, torch_vram_free: 0 };
  return {
    system: {
      os: process.platform === 'win32' ? 'nt' : 'posix',
      ram_total: total,
      ram_free: free,
      comfyui_version: '0.3.4',
      python_version: `none (${name} ${version})`,
      pytorch_version: 'none',
      embedded_python: false,
      argv: [],
    },
    devices: [{ name: 'cpu', type: 'cpu', index: 0, ...memory }],
  };
}
