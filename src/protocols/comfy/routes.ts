import { freemem, totalmem } from 'node:os';
import { AppError } from '../../core/errors.ts';
import { ignoredFields } from '../../core/fidelity.ts';
import type { PictureEditor } from '../../core/pictures.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import { type Call, json } from '../../http/call.ts';
import type { SocketEndpoint } from '../../http/web-socket.ts';
import { ignoredHeader } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { readFields } from '../fields/table.ts';
import { factsFor } from '../pictures/hidden-facts.ts';
import type { PictureParts } from '../pictures/request.ts';
import { networksOf } from '../pictures/upscaling.ts';
import { comfyFamily } from './errors.ts';
import { dropFields, freeFidelity, interruptFields } from './fields.ts';
import { features } from './hub.ts';
import { objectInfo } from './object-info.ts';
import { takePrompt } from './prompt.ts';
import type { ComfyQueue } from './queue.ts';
import { upload, view } from './stored.ts';

export interface ComfyServices extends Pick<PictureParts, 'editor' | 'product'> {
  readonly prompts: ComfyQueue;
}

type Own = ModelEndpoint<PictureParts>;

/** Every path also stands below `/api`. Only prompts count as work: all else answers at once. */
export function comfyEndpoints({ prompts, editor, product }: ComfyServices): ModelEndpoint<PictureParts>[] {
  const store = { files: prompts.files, editor: atMost(mostEdits, editor) };
  const factsNow = (call: Call, { others }: PictureParts) => factsFor(call, others?.image?.facts);
  const both = (endpoint: Pick<Own, 'method' | 'path' | 'summary' | 'handle'> & Partial<Own>): Own[] => {
    const whole: Own = {
      match: 'exact',
      access: 'guarded',
      queued: false,
      modelSelection: 'any-name',
      family: comfyFamily,
      ...endpoint,
    };
    return [whole, { ...whole, path: `/api${whole.path}`, summary: `Another name for ${whole.path}.` }];
  };
  const get = (path: string, summary: string, handle: Own['handle'], more: Partial<Own> = {}): Own[] =>
    both({ method: 'GET', path, summary, handle, ...more });
  const post = (path: string, summary: string, handle: Own['handle'], more: Partial<Own> = {}): Own[] =>
    both({ method: 'POST', path, summary, handle, ...more });
  const open = { access: 'open' } as const;
  const below = { match: 'prefix' } as const;
  const classes = (call: Call, parts: PictureParts) =>
    objectInfo(factsNow(call, parts), call.authorized ? prompts.files.sent() : []);
  return [
    ...post(
      '/prompt',
      'Take a graph in, to be drawn when its turn comes.',
      (call, parts) => takePrompt(call, { ...parts, prompts }),
      {
        queued: true,
      },
    ),
    ...get('/prompt', 'How many prompts are left.', () => json(remaining(prompts)), open),
    ...get('/queue', 'What runs and what waits.', () => json(prompts.queue())),
    ...post('/queue', 'Take prompts out of the queue.', async (call) => {
      const { clear, delete: ids } = readFields(dropFields, await optionalBody(call));
      if (clear) prompts.dropPending();
      else if (ids) prompts.dropPending(ids);
      return json({});
    }),
    ...get('/history', 'What came of the last prompts.', ({ query }) =>
      json(prompts.history(numberIn(query, 'max_items'), numberIn(query, 'offset'))),
    ),
    ...post('/history', 'Forget prompts.', async (call) => {
      const { clear, delete: ids } = readFields(dropFields, await optionalBody(call));
      if (clear) prompts.dropHistory();
      else if (ids) prompts.dropHistory(ids);
      return json({});
    }),
    ...get('/history/', 'What came of one prompt.', ({ path }) => json(prompts.entry(lastPart(path))), below),
    ...post('/interrupt', 'Stop what runs now.', async (call) => {
      prompts.interrupt(readFields(interruptFields, await optionalBody(call)).prompt_id);
      return json({});
    }),
    ...post('/free', 'Accepted: models come and go by themselves.', async (call) =>
      json({}, 200, ignoredHeader(ignoredFields(await optionalBody(call), freeFidelity))),
    ),
    ...get('/view', 'A picture by its name.', (call) => view(call, store)),
    ...post('/upload/image', 'Send a picture for LoadImage.', (call) => upload(call, store, 'image'), {
      form: {},
    }),
    ...post('/upload/mask', 'Send a mask for a picture.', (call) => upload(call, store, 'mask'), { form: {} }),
    ...get('/object_info', 'The classes of nodes.', (call, parts) => json(classes(call, parts)), open),
    ...get(
      '/object_info/',
      'One class of nodes.',
      (call, parts) => json(oneClass(lastPart(call.path), classes(call, parts))),
      {
        ...open,
        ...below,
      },
    ),
    ...get('/system_stats', 'The machine.', () => json(systemStats(product)), open),
    ...get('/embeddings', 'None.', () => json([]), open),
    ...get('/extensions', 'None.', () => json([]), open),
    ...get('/features', 'What the connection at /ws can do.', () => json(features), open),
    ...Object.keys(folders).flatMap((folder) =>
      get(
        `/models/${folder}`,
        'Names of models.',
        (call, parts) => json(folders[folder]?.(factsNow(call, parts)) ?? []),
        open,
      ),
    ),
    {
      ...{ method: 'GET', match: 'exact', path: '/api/models', access: 'open', queued: false, family: comfyFamily },
      summary: 'The kinds of models.',
      handle: () => json(Object.keys(folders)),
    },
  ];
}

/** None of these has a place in the queue, so that their number has a bound of its own. */
const mostEdits = 16;

function atMost(most: number, editor: PictureEditor): PictureEditor {
  let running = 0;
  return {
    edit: async (edit, pictures, signal) => {
      if (running >= most) throw new AppError('busy', { retryAfterSeconds: 1 });
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
    match: 'exact',
    path,
    access: 'guarded',
    summary: 'Hear what becomes of prompts.',
    family: comfyFamily,
    open: (call, socket) => prompts.hub.open(call, socket),
  }));
}

const nobody = (): readonly string[] => [];

const folders: Readonly<Record<string, (facts: Facts) => readonly string[]>> = {
  checkpoints: (facts) => (facts ? [facts.name] : []),
  loras: (facts) => facts?.loras?.map(({ file }) => file) ?? [],
  vae: (facts) => (facts?.vae === undefined ? [] : [facts.vae]),
  diffusion_models: nobody,
  text_encoders: nobody,
  clip_vision: nobody,
  controlnet: nobody,
  embeddings: nobody,
  hypernetworks: nobody,
  upscale_models: (facts) => (facts ? networksOf(facts).map(({ name }) => name) : []),
};

type Facts = NonNullable<NonNullable<PictureParts['others']>['image']>['facts'] | undefined;

function remaining({ remaining: left }: ComfyQueue): object {
  return { exec_info: { queue_remaining: left } };
}

/** A body that is not there asks for what it would with nothing in it. */
function optionalBody({ body, signal }: Call): Promise<JsonObject> {
  return jsonObject(body, { empty: 'object', signal });
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const value = Number(query.get(name) || Number.NaN);
  return Number.isInteger(value) && value >= 0 ? value : undefined;
}

function lastPart(path: string): string {
  const part = path.slice(path.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function oneClass(name: string, classes: Readonly<Record<string, object>>): object {
  return Object.hasOwn(classes, name) ? { [name]: classes[name] } : {};
}

/** The versions are those of the tool whose API this is: clients compare them. */
function systemStats({ name, version }: PictureParts['product']): object {
  const [total, free] = [totalmem(), freemem()];
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
    devices: [
      {
        name: 'cpu',
        type: 'cpu',
        index: 0,
        vram_total: total,
        vram_free: free,
        torch_vram_total: 0,
        torch_vram_free: 0,
      },
    ],
  };
}
