import { AppError } from '../../core/errors.ts';
import { modelError } from '../../core/model-error.ts';
import { hiddenModelName, sameName } from '../../core/model-names.ts';
import type { ListedModel } from '../../core/models-view.ts';
import type { TextModel, TextService } from '../../core/text-service.ts';
import { textOf } from '../../gguf/gguf.ts';
import type { JsonObject } from '../../http/body.ts';
import type { Call, Reply } from '../../http/call.ts';
import { type DialectParts, findModel, modelsByName, noticeHeaders } from '../dialect.ts';
import { endpointRow, type ModelEndpoint } from '../endpoint.ts';
import { readFields } from '../fields.ts';
import { jsonReply, modelNotFound, modelRequired, namedModel, ollamaFamily, withBody } from './errors.ts';
import { showFidelity, showFields } from './fields.ts';
import {
  embeddingEntry,
  type ModelEntry,
  type ModelFile,
  never,
  runningBody,
  shownBody,
  tagBody,
  textEntry,
} from './model-entry.ts';

/** The level of the API that apps test for; not the version of this program. */
const ollamaVersion = '0.31.0';

/** What the server has, whichever model answers. */
export interface ModelFileParts {
  /** Reads the header of a model file; arrays like the vocabulary only with `longArrays`. */
  readonly modelFile: (path: string, options: { readonly longArrays: boolean }) => Promise<ModelFile>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface ModelParts extends Pick<DialectParts, 'text' | 'modelName' | 'models' | 'alias' | 'taskServices'> {
  /** Whether the model is in memory; without this it is once it is ready. An unloaded one still looks ready. */
  readonly loaded?: () => boolean;
  /** When the model will be unloaded, in milliseconds since 1970; infinity or nothing means never. */
  readonly expiresAt?: () => number;
  /** The chat template, where it is not that of the model. */
  readonly chatTemplate?: string | undefined;
  /** How much of the model is in GPU memory. */
  readonly gpuBytes?: () => number;
}

type ReadFile = (path: string) => Promise<ModelFile | undefined>;

export function modelEndpoints({ modelFile, now }: ModelFileParts): ModelEndpoint<ModelParts>[] {
  const row = endpointRow({ method: 'GET', match: 'ending', queued: false, family: ollamaFamily });
  const cached = cachedFiles((path) => modelFile(path, { longArrays: false }), now);
  const whole: ReadFile = (path) => modelFile(path, { longArrays: true }).catch(() => undefined);
  return [
    row('/api/version', 'The level of the Ollama API that is spoken here.', () =>
      jsonReply({ version: ollamaVersion }),
    ),
    row('/api/tags', 'The models that can be used.', async ({ authorized }, parts) =>
      jsonReply({ models: await (authorized ? tags(parts, cached) : hiddenTags(parts)) }),
    ),
    row('/api/ps', 'The models in memory.', async ({ authorized }, parts) =>
      jsonReply({ models: await (authorized ? running(parts, cached) : hiddenRunning(parts)) }),
    ),
    row(
      '/api/show',
      'All about a model: template, metadata, what it can do.',
      withBody((body, call, parts) => show(body, call, parts, { cached, whole })),
      { method: 'POST' },
    ),
    row('/api/status', 'Whether cloud models can be used: never.', () =>
      jsonReply({ cloud: { disabled: true, source: 'config' } }),
    ),
  ];
}

/** How long a file that was read is not read again: lists are requested often, and files are replaced seldom. */
const freshMs = 30_000;

/** Undefined for a file that cannot be read: it may be moved while its model is loaded. */
export function cachedFiles(read: (path: string) => Promise<ModelFile>, now: () => number): ReadFile {
  const known = new Map<string, { readonly at: number; readonly file: Promise<ModelFile | undefined> }>();
  return (path) => {
    const time = now();
    for (const [old, { at }] of known) if (time - at >= freshMs) known.delete(old);
    const file = known.get(path)?.file ?? read(path).catch(() => undefined);
    if (!known.has(path)) known.set(path, { at: time, file });
    return file;
  };
}

/** The text models that can be requested: those that have names, or the only one. */
async function listedModels(parts: ModelParts): Promise<readonly ListedModel[]> {
  const named = await modelsByName(parts);
  const state = parts.text.state();
  if (named || state.type === 'none' || state.type === 'failed') return named ?? [];
  const name = parts.modelName();
  const model = state.type === 'ready' ? state.model : undefined;
  const inMemory = model !== undefined && parts.loaded?.() !== false;
  return [
    {
      name,
      id: name,
      present: true,
      path: model?.path,
      known: model,
      state: inMemory ? 'ready' : 'unloaded',
      expiresAt: parts.expiresAt?.() ?? never,
    },
  ];
}

/** One that was never in memory is described by its file. */
async function entryOf({ id, present, path, known }: ListedModel, parts: ModelParts, read: ReadFile) {
  const file = path === undefined ? undefined : await read(path);
  const own = known ? known.chatTemplate : file && textOf(file.header, 'tokenizer.chat_template');
  return textEntry(id, known, file, (present ? parts.chatTemplate : undefined) ?? own);
}

async function tags(parts: ModelParts, read: ReadFile): Promise<readonly object[]> {
  const models = await listedModels(parts);
  const entries = await Promise.all(models.map((model) => entryOf(model, parts, read)));
  const { embedding } = parts.taskServices ?? {};
  const listed = embedding && models.some(({ id }) => sameName(id, embedding.name));
  return [...entries, ...(embedding && !listed ? [embeddingEntry(embedding)] : [])].map(tagBody);
}

async function running(parts: ModelParts, read: ReadFile): Promise<readonly object[]> {
  const models = await listedModels(parts);
  const resident = models.filter(({ state }) => state === 'ready' || state === 'leaving');
  const texts = resident.map(async (model) =>
    runningBody(await entryOf(model, parts, read), model.expiresAt, model.present ? parts.gpuBytes?.() : 0),
  );
  const { embedding } = parts.taskServices ?? {};
  const embeddings = embedding?.loaded()
    ? [runningBody(embeddingEntry(embedding), embedding.expiresAt?.() ?? never)]
    : [];
  return [...(await Promise.all(texts)), ...embeddings];
}

/** Clients without the key see one model, without its name and its facts. */
const hiddenEntry: ModelEntry = textEntry(hiddenModelName);

function hiddenTags({ text }: ModelParts): readonly object[] {
  return text.state().type === 'none' ? [] : [tagBody(hiddenEntry)];
}

function hiddenRunning({ text, loaded }: ModelParts): readonly object[] {
  return text.state().type === 'ready' && loaded?.() !== false ? [runningBody(hiddenEntry, never)] : [];
}

async function show(
  body: JsonObject,
  { headers, authorized }: Call,
  parts: ModelParts,
  { cached, whole }: { readonly cached: ReadFile; readonly whole: ReadFile },
): Promise<Reply> {
  const fields = readFields(showFields, body);
  const asked = namedModel(fields);
  if (asked === '') return modelRequired;
  const entry = authorized ? await shownEntry(asked, parts, fields.verbose ? whole : cached) : hiddenEntry;
  if (!entry || (!authorized && parts.text.state().type === 'none')) return modelNotFound(asked);
  // This app shows the base name, and knows its models by the names that it asked for.
  const copilot = String(headers['user-agent']).startsWith('GitHubCopilotChat/');
  const info = copilot ? { ...entry.info, 'general.basename': asked } : entry.info;
  return jsonReply(shownBody({ ...entry, info }), noticeHeaders(body, showFidelity));
}

/** Undefined if there is no model of that name. Models with names are not loaded for this; the only one is waited for. */
async function shownEntry(asked: string, parts: ModelParts, read: ReadFile): Promise<ModelEntry | undefined> {
  const { embedding } = parts.taskServices ?? {};
  const isEmbedding = embedding && sameName(embedding.name, parts.alias?.(asked) ?? asked);
  if (isEmbedding && !sameName(parts.modelName(), embedding.name)) return embeddingEntry(embedding);
  const named = await modelsByName(parts);
  if (!named && parts.text.state().type === 'none') return undefined;
  if (!named) await loadedModel(parts.text);
  const found = named ? findModel(named, asked, parts.alias) : (await listedModels(parts))[0];
  return found && entryOf(found, parts, read);
}

/** Waits until the model is in memory. */
export async function loadedModel(service: TextService): Promise<TextModel> {
  // Nothing is counted: the answer comes when the model is loaded, or its load has failed.
  await service.tokenize('', { addSpecial: false });
  const state = service.state();
  if (state.type === 'ready') return state.model;
  throw modelError(state) ?? new AppError('engine-lost', { capability: 'text' });
}
