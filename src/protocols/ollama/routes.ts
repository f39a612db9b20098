import { AppError } from '../../core/errors.ts';
import type { LayerProgress, ModelDownload, PresetStore } from '../../core/models-view.ts';
import type { JsonObject } from '../../http/body.ts';
import type { Call, Headers, Reply } from '../../http/call.ts';
import { line, ndjsonHeaders } from '../../http/sse.ts';
import { write } from '../access.ts';
import { type DialectContext, type DialectServices, findModel, ignoredHeader, modelsByName } from '../dialect.ts';
import { endpointRow, type ModelEndpoint, type PlainEndpoint, withServices } from '../endpoint.ts';
import { readFields } from '../fields.ts';
import { type EmbeddingsContext, embeddingEndpoints } from './embeddings.ts';
import { jsonReply, modelNotFound, modelRequired, namedModel, ollamaDialect, refusal, withBody } from './errors.ts';
import { copyFields, createFields, deleteFields, pullFields, pushFields } from './fields.ts';
import { generationEndpoints } from './generation.ts';
import { type ModelFileContext, type ModelsContext, modelEndpoints } from './models.ts';

export interface OllamaContext extends DialectContext, ModelsContext, EmbeddingsContext {}

interface OllamaServices extends ModelFileContext {
  /** The download of a model file for a client that may do so; undefined for other names and clients. */
  readonly download?: (name: string, call: Call) => Promise<ModelDownload | undefined>;
  /** The presets, where they are kept. Throws for a client that may not change them. */
  readonly presets?: (call: Call) => PresetStore | undefined;
}

export function ollamaEndpoints(files: OllamaServices, server: DialectServices) {
  const endpoints = [
    ...generationEndpoints,
    ...embeddingEndpoints,
    ...modelEndpoints(files),
    row(
      '/api/pull',
      "With --admin, downloads the model: a name of Ollama's registry, hf.co/owner/name, or an address. Else says whether the name can be used.",
      withBody((body, call, context: ManagementContext) => pull(body, call, context, files.download)),
      { fields: pullFields, response: 'pull' },
    ),
    row(
      '/api/create',
      'Administrators make a preset: another name for a model, with parameters of its own.',
      withBody((body, call) => create(body, call, files.presets)),
      { fields: createFields, response: 'create', modelNamed: noName },
    ),
    row(
      '/api/delete',
      'Deletes a preset. Answers 400 for other models, or 404 where there is none.',
      withBody((body, call, context: ManagementContext) => remove(body, call, context, files.presets)),
      { method: 'DELETE', fields: deleteFields, response: 'deleted', modelNamed: noName },
    ),
    ...managementEndpoints,
  ];
  return withServices<OllamaContext, DialectServices>(endpoints, server);
}

type ManagementContext = Pick<DialectContext, 'text' | 'modelName' | 'models' | 'alias'>;

const row = endpointRow(write('admin'), { method: 'POST', dialect: ollamaDialect });
const noAccount = (): Reply => refusal(401, 'unauthorized');

const missing = 'Not there: always answers 400.';
const unchangeable = 'Not there: answers 400, or 404 for a model that is not loaded.';
const withoutAccounts = 'There are no accounts: always answers 401.';

const push = withBody((body) => refuseNamed(readFields(pushFields, body), 'Push'));
const copy = withBody((body, _, context: ManagementContext) =>
  change(readFields(copyFields, body).source, 'Copy', context),
);
/** A preset that cannot be used can still be replaced and deleted. */
const noName = async () => undefined;
const withPresets = 'presets are files of the models folder; start the server with --admin, or with --routermode';

async function create(body: JsonObject, call: Call, presetsOf: OllamaServices['presets']): Promise<Reply> {
  const fields = readFields(createFields, body);
  const name = namedModel(fields);
  if (name === '') return modelRequired;
  const presets = presetsOf?.(call);
  if (!presets) throw new AppError('unsupported', { feature: 'Create', instead: withPresets });
  if (fields.from === '') return refusal(400, 'from must name the model that the preset is for');
  try {
    await presets.create(name, fields);
  } catch (error) {
    return refusal(400, (error as Error).message);
  }
  const notices = ignoredHeader(createFields, body);
  if (!fields.stream) return jsonReply({ status: 'success' }, notices);
  return lines([{ status: 'using existing layer' }, { status: 'writing manifest' }, { status: 'success' }], notices);
}

async function remove(
  body: JsonObject,
  call: Call,
  context: ManagementContext,
  presetsOf: OllamaServices['presets'],
): Promise<Reply> {
  const name = namedModel(readFields(deleteFields, body));
  if (name !== '' && (await presetsOf?.(call)?.remove(name))) return { status: 200, headers: {}, body: '' };
  const named = await modelsByName(context);
  if (name !== '' && named && findModel(named, name, context.alias)) return refuse('Delete');
  return change(name, 'Delete', context);
}

/** Models are files that the server was started with: endpoints that would change them are refused. */
const managementEndpoints: readonly ModelEndpoint<ManagementContext>[] = [
  row('/api/push', missing, push, { fields: pushFields, response: 'refused' }),
  row('/api/copy', unchangeable, copy, { fields: copyFields, response: 'refused' }),
  // HEAD asks whether a blob exists: 404 makes the client upload it.
  row('/api/blobs/', missing, () => refuse('Blob upload'), {
    match: 'prefix',
    response: 'refused',
    probeStatus: 404,
  }),
  row('/api/me', withoutAccounts, noAccount, { response: 'refused' }),
  row('/api/signout', withoutAccounts, noAccount, { response: 'refused' }),
];

function refuse(feature: string): never {
  throw new AppError('unsupported', { feature, instead: 'models are files here; start the server with --model FILE' });
}

function refuseNamed(fields: Parameters<typeof namedModel>[0], feature: string): Reply {
  return namedModel(fields) === '' ? modelRequired : refuse(feature);
}

function change(name: string, feature: string, { modelName }: ManagementContext): Reply {
  if (name === '') return modelRequired;
  return isSameModel(name, modelName()) ? refuse(feature) : modelNotFound(name);
}

/** Apps pull a model before they chat with it. The loaded model answers to every name, so the pull succeeds. */
async function pull(
  body: JsonObject,
  call: Call,
  context: ManagementContext,
  startDownload: OllamaServices['download'],
): Promise<Reply> {
  const fields = readFields(pullFields, body);
  const name = namedModel(fields);
  if (name === '') return modelRequired;
  const { stream } = fields;
  const notices = ignoredHeader(pullFields, body);
  const { text, modelName } = context;
  const download = (await isUsable(name, context)) ? undefined : await startDownload?.(name, call);
  if (download) return stream ? progressLines(download, notices) : downloaded(download, notices);
  const state = text.state().type;
  if (state === 'none' || state === 'failed') {
    const error = 'pull model manifest: file does not exist';
    return stream ? lines([{ status: 'pulling manifest' }, { error }], notices) : refusal(404, error);
  }
  if (!stream) return jsonReply({ status: 'success' }, notices);
  const note = { status: `nothing to download: ${modelName()} answers to this name` };
  const notes = isSameModel(name, modelName()) ? [] : [note];
  return lines([{ status: 'pulling manifest' }, ...notes, { status: 'success' }], notices);
}

/** Whether this very model can be used already. */
async function isUsable(name: string, context: ManagementContext): Promise<boolean> {
  const named = await modelsByName(context);
  if (named && findModel(named, name, context.alias)) return true;
  const { type } = context.text.state();
  return type !== 'none' && type !== 'failed' && isSameModel(name, context.modelName());
}

function progressLines(download: ModelDownload, headers: Headers): Reply {
  async function* body(): AsyncGenerator<string> {
    yield line({ status: 'pulling manifest' });
    try {
      let last: LayerProgress | undefined;
      for await (const { done, total, layer } of download) {
        // Reports are seldom, and every bar ends.
        if (last && last.digest !== layer?.digest) yield layerLine({ ...last, done: last.total });
        last = layer;
        yield layer
          ? layerLine(layer)
          : line({ status: 'pulling model', ...(total === undefined ? {} : { total }), completed: done });
      }
      if (last) yield ['verifying sha256 digest', 'writing manifest'].map((status) => line({ status })).join('');
      yield line({ status: 'success' });
    } catch (error) {
      yield line({ error: (error as Error).message });
    }
  }
  return { status: 200, headers: { ...ndjsonHeaders, ...headers }, stream: body() };
}

function layerLine({ digest, done, total }: LayerProgress): string {
  const short = digest.replace(/^sha256:/, '').slice(0, 12);
  return line({ status: `pulling ${short}`, digest, total, completed: done });
}

async function downloaded(download: ModelDownload, headers: Headers): Promise<Reply> {
  try {
    for await (const _ of download);
  } catch (error) {
    return refusal(500, (error as Error).message);
  }
  return jsonReply({ status: 'success' }, headers);
}

function lines(values: readonly object[], headers: Headers): Reply {
  return { status: 200, headers: { ...ndjsonHeaders, ...headers }, body: values.map(line).join('') };
}

/** Case and the tag `latest` do not count. */
function isSameModel(requested: string, loaded: string): boolean {
  const plain = (name: string): string => name.toLowerCase().replace(/:latest$/, '');
  const bare = (name: string): string => plain(name).replace(/^.*\//, '');
  return plain(requested) === plain(loaded) || plain(requested) === bare(loaded);
}

const runningNote: Reply = {
  status: 200,
  headers: { 'content-type': 'text/plain; charset=utf-8', vary: 'accept' },
  body: 'Ollama is running',
};

/** The start page for browsers, which always accept HTML; apps that look for an Ollama server get its one sentence. */
export function answeringProbes(page: PlainEndpoint): PlainEndpoint {
  return {
    ...page,
    handle: (call, context) => (call.headers.accept?.includes('text/html') ? page.handle(call, context) : runningNote),
  };
}
