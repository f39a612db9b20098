import { freemem, totalmem } from 'node:os';
import { AppError } from '../../core/errors.ts';
import type { ImageFacts } from '../../core/image.ts';
import { ownerOf } from '../../core/owner.ts';
import { type AccessRule, type Call, json, type Reply } from '../../http/call.ts';
import { information, legacyOpen, read, write } from '../access.ts';
import type { ChatReader } from '../dialect.ts';
import { atPaths, bodyOf, endpointRow, type ModelEndpoint, withServices } from '../endpoint.ts';
import { readFields, type Table } from '../fields.ts';
import { modelHash } from '../images/infotext.ts';
import { factsFor, type ImageContext, type ImageServices, isResampler } from '../images/request.ts';
import { samplerAliases, samplerDisplay } from '../images/sampler-names.ts';
import { clientOf } from '../request-context.ts';
import { draw } from './draw.ts';
import { sdapiDialect } from './errors.ts';
import { interrogate, pngInfo, upscaleMany, upscaleOne } from './extras.ts';
import {
  drawFields,
  extraBatchFields,
  extraSingleFields,
  interrogateFields,
  optionFields,
  pngInfoFields,
} from './fields.ts';
import { keyOf, type LastDrawings, lastDrawing, progressReply } from './progress.ts';

interface SdapiContext extends ImageContext, ChatReader {}

interface SdapiServices extends ImageServices, Pick<ChatReader, 'readChat'> {
  readonly last: LastDrawings;
}

type Own = ModelEndpoint<SdapiContext>;

/** Only drawing, enlarging and captions wait in the queue: a request to stop a drawing must not wait for its end. */
export function sdapiEndpoints({ last, ...server }: SdapiServices) {
  const row = endpointRow(legacyOpen(write('images')), { method: 'POST', dialect: sdapiDialect });
  const get = (
    rule: AccessRule,
    path: string,
    summary: string,
    response: string,
    value: (call: Call, context: SdapiContext) => unknown,
  ): Own =>
    row(`/sdapi/v1/${path}`, summary, (call, context) => json(value(call, context)), {
      ...legacyOpen(rule),
      method: 'GET',
      response,
    });
  // A model name in the body is not that of a text model.
  const post = (path: string, summary: string, handle: Own['handle'], own: Partial<Own> = {}): Own =>
    row(`/sdapi/v1/${path}`, summary, handle, { modelSelection: 'any-name', ...own });
  const work = (path: string, summary: string, response: string, fields: Table, handle: Own['handle']): Own =>
    post(path, summary, handle, { queued: true, fields, response });
  const endpoints = [
    work('txt2img', 'A picture from a prompt.', 'textToImage', drawFields, (call, context) =>
      draw(call, 'txt2img', { ...context, last }),
    ),
    work('img2img', 'A picture from a prompt and a picture.', 'imageToImage', drawFields, (call, context) =>
      draw(call, 'img2img', { ...context, last }),
    ),
    ...atPaths(
      work('extra-single-image', 'A picture enlarged.', 'upscaledImage', extraSingleFields, upscaleOne),
      '/sdapi/v1/upscale',
    ),
    work('extra-batch-images', 'Several pictures enlarged.', 'upscaledImages', extraBatchFields, upscaleMany),
    work('interrogate', 'A caption for a picture, by the text model.', 'caption', interrogateFields, interrogate),
    post('png-info', 'The infotext of a picture.', pngInfo, {
      ...legacyOpen(read('images')),
      fields: pngInfoFields,
      response: 'imageInfo',
    }),
    post(
      'interrupt',
      'Stop all drawings, or that of the genkey in the query.',
      (call, { imageJobs }) => {
        if (imageJobs.interrupt(keyOf(call.query), clientOf(call))) last.interrupt(ownerOf(call));
        return json({});
      },
      { response: 'empty' },
    ),
    post(
      'skip',
      'Skip the current picture of all drawings, or of that of the genkey in the query.',
      (call, context) => {
        context.imageJobs.skip(keyOf(call.query), clientOf(call));
        return json(null);
      },
      { response: 'nil' },
    ),
    post(
      'options',
      'Accepted; names of other models are refused.',
      (call, { taskServices }) => setOptions(call, taskServices?.image?.facts),
      { fields: optionFields, response: 'setOptions' },
    ),
    ...['refresh-checkpoints', 'refresh-vae', 'refresh-embeddings', 'refresh-loras'].map((path) =>
      post(path, 'Accepted without effect.', () => json(null), { response: 'nil' }),
    ),
    ...['unload-checkpoint', 'reload-checkpoint'].map((path) =>
      post(path, 'Accepted: models are loaded and unloaded automatically.', () => json({}), { response: 'empty' }),
    ),
    get(read('images'), 'progress', 'Progress of the drawing.', 'progress', (call, { imageJobs, now }) =>
      progressReply(call, imageJobs, last, now()),
    ),
    get(read('images'), 'get_last.json', 'The last picture of this genkey.', 'lastImage', (call) =>
      lastDrawing(call, last),
    ),
    ...Object.entries(lists).map(([path, [summary, response, of]]) =>
      get(information, path, summary, response, (call, { taskServices }) =>
        of(factsFor(call, taskServices?.image?.facts)),
      ),
    ),
  ];
  return withServices(endpoints, server);
}

type List = readonly [summary: string, response: string, of: (facts?: ImageFacts) => unknown];

const none: List = ['None.', 'none', () => []];

/** Lists by path; without a model most of them are empty. */
const lists: Readonly<Record<string, List>> = {
  options: ['The options that clients read.', 'options', optionsOf],
  'sd-models': ['The image model.', 'models', (facts) => (facts ? [modelEntry(facts)] : [])],
  samplers: ['The samplers of the model.', 'samplers', (facts) => facts?.samplers.map(samplerEntry) ?? []],
  schedulers: [
    'The schedulers of the model.',
    'schedulers',
    (facts) => facts?.schedulers.map((name) => ({ name, label: name, aliases: [] })) ?? [],
  ],
  upscalers: ['The upscalers.', 'upscalers', (facts) => (facts ? upscalerEntries(facts) : [])],
  'latent-upscale-modes': none,
  loras: [
    'The LoRAs of the model.',
    'loras',
    (facts) => facts?.loras?.map(({ name, file }) => ({ name, alias: name, path: file, metadata: {} })) ?? [],
  ],
  'sd-vae': ['The VAE file that replaces that of the model.', 'vae', vaeEntries],
  'sd-modules': ['The same under another name.', 'vae', vaeEntries],
  'prompt-styles': none,
  hypernetworks: none,
  'face-restorers': none,
  'realesrgan-models': ['None; see upscalers.', 'none', () => []],
  extensions: none,
  'script-info': none,
  scripts: ['None.', 'scripts', () => ({ txt2img: [], img2img: [] })],
  embeddings: ['None.', 'embeddings', () => ({ loaded: {}, skipped: {} })],
  'cmd-flags': ['The file of the model.', 'flags', (facts) => ({ api: true, ckpt: facts ? fileName(facts) : null })],
  memory: ['The memory of the machine.', 'memory', memory],
};

/** Clients choose the entry of the list of models with this title. */
function optionsOf(facts?: ImageFacts): object {
  return {
    samples_format: 'png',
    sd_model_checkpoint: facts?.title ?? '',
    sd_checkpoint_hash: facts?.sha256 ?? '',
    sd_vae: 'Automatic',
    CLIP_stop_at_last_layers: 1,
    eta_noise_seed_delta: 0,
  };
}

/** There is one model: the name of another one is refused, so that no client believes it was loaded. */
async function setOptions(call: Call, facts: ImageFacts | undefined): Promise<Reply> {
  const body = await bodyOf(call, 'object');
  const { sd_model_checkpoint: model } = readFields(optionFields, body);
  if (model && !(facts && isNameOf(facts, model))) throw new AppError('model-not-found', { model });
  return json(null);
}

function isNameOf(facts: ImageFacts, requested: string): boolean {
  const names = [facts.title, facts.name, facts.path, fileName(facts), facts.sha256 ?? '', modelHash(facts)];
  return names.some((name) => name !== '' && name.toLowerCase() === requested.trim().toLowerCase());
}

/** `filename` has no folder, which clients need not know. */
function modelEntry(facts: ImageFacts): object {
  const { title, name, sha256 = '8'.repeat(64) } = facts;
  return { title, model_name: name, hash: modelHash(facts), sha256, filename: fileName(facts), config: null };
}

function vaeEntries(facts?: ImageFacts): readonly object[] {
  return facts?.vae === undefined ? [] : [{ model_name: facts.vae, filename: facts.vae }];
}

function fileName({ path }: ImageFacts): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}

function samplerEntry(name: string): object {
  return { name: samplerDisplay(name), aliases: samplerAliases(name), options: {} };
}

function upscalerEntries({ upscalers }: ImageFacts): readonly object[] {
  const all = upscalers.some(({ name }) => name === 'None') ? upscalers : [{ name: 'None', scale: 1 }, ...upscalers];
  const entry = (name: string) => ({ name, model_name: isResampler(name) ? null : name, model_path: null });
  return all.map(({ name, scale }) => ({ ...entry(name), model_url: null, scale }));
}

function memory(): object {
  const [free, total] = [freemem(), totalmem()];
  return { ram: { free, used: total - free, total }, cuda: { error: 'unavailable' } };
}
