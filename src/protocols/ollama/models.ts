import { createHash } from 'node:crypto';
import { thinkingTags } from '../../chat/reasoning.ts';
import type { EmbeddingService } from '../../core/embedding.ts';
import { AppError } from '../../core/errors.ts';
import { hiddenModelName, sameName } from '../../core/model-names.ts';
import type { ListedModel, PresetFacts } from '../../core/models-view.ts';
import { modelError, type TextModel, type TextService } from '../../core/text-service.ts';
import { quantizationOf } from '../../gguf/describe.ts';
import { type GgufHeader, type GgufValue, numberOf, textOf } from '../../gguf/gguf.ts';
import type { JsonObject } from '../../http/body.ts';
import type { Call, Reply } from '../../http/call.ts';
import { information, legacyOpen } from '../access.ts';
import { renamed } from '../controls/encode-request.ts';
import { type DialectContext, findModel, ignoredHeader, modelsByName } from '../dialect.ts';
import { endpointRow, type ModelEndpoint } from '../endpoint.ts';
import { readFields } from '../fields.ts';
import { timestamp } from './encode.ts';
import { optionNames } from './encode-request.ts';
import { jsonReply, modelNotFound, namedModel, ollamaDialect, withBody } from './errors.ts';
import { showFields } from './fields.ts';

/** The level of the API that apps test for; not the version of this program. */
const ollamaVersion = '0.31.0';

/** What the server has, whichever model answers. */
export interface ModelFileContext {
  /** Reads the header of a model file; arrays like the vocabulary only with `longArrays`. */
  readonly modelFile: (path: string, options: { readonly longArrays: boolean }) => Promise<ModelFile>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

export interface ModelsContext
  extends Pick<DialectContext, 'text' | 'chat' | 'modelName' | 'models' | 'alias' | 'taskServices'> {
  /** How much of the model is in GPU memory. */
  readonly gpuBytes?: () => number;
}

type ReadFile = (path: string) => Promise<ModelFile | undefined>;

export function modelEndpoints({ modelFile, now }: ModelFileContext): ModelEndpoint<ModelsContext>[] {
  const row = endpointRow(information, { method: 'GET', dialect: ollamaDialect });
  const cached = cachedFiles((path) => modelFile(path, { longArrays: false }), now);
  const whole: ReadFile = (path) => modelFile(path, { longArrays: true }).catch(() => undefined);
  return [
    row(
      '/api/version',
      'The level of the Ollama API that is spoken here.',
      () => jsonReply({ version: ollamaVersion }),
      { response: 'version' },
    ),
    row(
      '/api/tags',
      'The models that can be used.',
      async ({ authorized }, context) =>
        jsonReply({ models: await (authorized ? tags(context, cached) : hiddenTags(context)) }),
      { response: 'tags' },
    ),
    row(
      '/api/ps',
      'The models in memory.',
      async ({ authorized }, context) =>
        jsonReply({ models: await (authorized ? running(context, cached) : hiddenRunning(context)) }),
      { response: 'loadedModels' },
    ),
    row(
      '/api/show',
      'All about a model: template, metadata, what it can do.',
      withBody((body, call, context) => show(body, call, context, { cached, whole })),
      { ...legacyOpen(information), method: 'POST', fields: showFields, response: 'model' },
    ),
    row(
      '/api/status',
      'Whether cloud models can be used: never.',
      () => jsonReply({ cloud: { disabled: true, source: 'config' } }),
      { response: 'status' },
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
async function listedModels(context: ModelsContext): Promise<readonly ListedModel[]> {
  const named = await modelsByName(context);
  const state = context.text.state();
  if (named || state.type === 'none' || state.type === 'failed') return named ?? [];
  const name = context.modelName();
  const model = state.type === 'ready' ? state.model : undefined;
  const inMemory = model !== undefined && context.text.loaded?.() !== false;
  return [
    {
      name,
      id: name,
      present: true,
      path: model?.path,
      known: model,
      state: inMemory ? 'ready' : 'unloaded',
      expiresAt: context.text.expiresAt?.() ?? never,
    },
  ];
}

/** One that was never in memory is described by its file. */
async function entryOf({ id, present, path, known, preset }: ListedModel, context: ModelsContext, read: ReadFile) {
  const file = path === undefined ? undefined : await read(path);
  const own = known ? known.chatTemplate : file && textOf(file.header, 'tokenizer.chat_template');
  const entry = textEntry(id, known, file, (present ? context.chat.templateText : undefined) ?? own);
  if (!preset) return entry;
  const { num_ctx: limit } = parametersOf(preset);
  const isLimited = typeof limit === 'number' && limit > 0;
  const contextLength = isLimited ? Math.min(limit, entry.contextLength ?? limit) : entry.contextLength;
  const limited = { ...entry.details, parent_model: preset.base, context_length: contextLength };
  return { ...entry, details: limited, contextLength, preset };
}

/** Under the names of this API. */
function parametersOf({ parameters, replyLength }: PresetFacts): Readonly<Record<string, unknown>> {
  return { ...renamed(parameters, optionNames), ...(replyLength !== undefined && { num_predict: replyLength }) };
}

async function tags(context: ModelsContext, read: ReadFile): Promise<readonly object[]> {
  const models = await listedModels(context);
  const entries = await Promise.all(models.map((model) => entryOf(model, context, read)));
  const { embedding } = context.taskServices ?? {};
  const listed = embedding && models.some(({ id }) => sameName(id, embedding.name));
  return [...entries, ...(embedding && !listed ? [embeddingEntry(embedding)] : [])].map(tagBody);
}

async function running(context: ModelsContext, read: ReadFile): Promise<readonly object[]> {
  const models = await listedModels(context);
  const resident = models.filter(({ state }) => state === 'ready' || state === 'leaving');
  const texts = resident.map(async (model) =>
    runningBody(await entryOf(model, context, read), model.expiresAt, model.present ? context.gpuBytes?.() : 0),
  );
  const { embedding } = context.taskServices ?? {};
  const embeddings = embedding?.loaded()
    ? [runningBody(embeddingEntry(embedding), embedding.expiresAt?.() ?? never)]
    : [];
  return [...(await Promise.all(texts)), ...embeddings];
}

/** Clients without the key see one model, without its name and its facts. */
const hiddenEntry: ModelEntry = textEntry(hiddenModelName);

function hiddenTags({ text }: ModelsContext): readonly object[] {
  return text.state().type === 'none' ? [] : [tagBody(hiddenEntry)];
}

function hiddenRunning({ text }: ModelsContext): readonly object[] {
  return text.state().type === 'ready' && text.loaded?.() !== false ? [runningBody(hiddenEntry, never)] : [];
}

async function show(
  body: JsonObject,
  { headers, authorized }: Call,
  context: ModelsContext,
  { cached, whole }: { readonly cached: ReadFile; readonly whole: ReadFile },
): Promise<Reply> {
  const fields = readFields(showFields, body);
  // Without a name, the present model, as for a chat.
  const requested = namedModel(fields) || context.modelName();
  const entry = authorized ? await entryNamed(requested, context, fields.verbose ? whole : cached) : hiddenEntry;
  if (!entry || (!authorized && context.text.state().type === 'none')) return modelNotFound(requested);
  // This app shows the base name, and knows its models by the names that it asked for.
  const copilot = String(headers['user-agent']).startsWith('GitHubCopilotChat/');
  const info = copilot ? { ...entry.info, 'general.basename': requested } : entry.info;
  return jsonReply(showBody({ ...entry, info }), ignoredHeader(showFields, body));
}

/** Undefined if there is no model of that name. Models with names are not loaded for this; the only one is waited for. */
async function entryNamed(requested: string, context: ModelsContext, read: ReadFile): Promise<ModelEntry | undefined> {
  const { embedding } = context.taskServices ?? {};
  const isEmbedding = embedding && sameName(embedding.name, context.alias?.(requested) ?? requested);
  if (isEmbedding && !sameName(context.modelName(), embedding.name)) return embeddingEntry(embedding);
  const named = await modelsByName(context);
  if (!named && context.text.state().type === 'none') return undefined;
  if (!named) await loadedModel(context.text);
  // Without names for all, those that no preset has mean the model in use.
  const only = context.models?.byName ? undefined : (named ?? (await listedModels(context)))[0];
  const model = (named && findModel(named, requested, context.alias)) ?? only;
  return model && entryOf(model, context, read);
}

/** Waits until the model is in memory. */
export async function loadedModel(service: TextService): Promise<TextModel> {
  // Nothing is counted: the answer comes when the model is loaded, or its load has failed.
  await service.tokenize('', { addSpecial: false });
  const state = service.state();
  if (state.type === 'ready') return state.model;
  throw modelError(state) ?? new AppError('engine-lost', { capability: 'text' });
}

/** The header of a model file, and when the file was last changed (milliseconds since 1970). */
export interface ModelFile {
  readonly header: GgufHeader;
  readonly modifiedAt: number;
}

/** What lists and `/api/show` say about a model. */
type ModelEntry = ReturnType<typeof textEntry> & { readonly preset?: PresetFacts };

/** A text model: `model` is undefined until it is loaded, `file` if it cannot be read. */
function textEntry(name: string, model?: TextModel, file?: ModelFile, template = '') {
  const { header, modifiedAt = 0 } = file ?? {};
  const size = model?.sizeBytes ?? header?.tensors.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0;
  const parameters = model?.parameters ?? header?.tensors.reduce((sum, { elements }) => sum + elements, 0);
  const contextLength = model && usableContext(model);
  return {
    name,
    size,
    // To hash gigabytes for a list would take too long.
    digest: sha256([name, size, modifiedAt].join('\n')),
    modifiedAt,
    details: details(header?.architecture, parameters, header && quantizationOf(header), {
      context_length: contextLength,
      embedding_length: header && numberOf(header, `${header.architecture}.embedding_length`),
    }),
    capabilities: textCapabilities(model, header, template),
    info: textInfo(name, model, header, parameters),
    template,
    license: header && textOf(header, 'general.license'),
    contextLength,
  };
}

/** The embeddings model; little is known of one that was never loaded, or that a remote backend serves. */
function embeddingEntry({ name, facts, file }: EmbeddingService): ModelEntry {
  const known = facts();
  const { sizeBytes = known?.sizeBytes ?? 0, modifiedAt = 0, architecture: ofFile = '' } = file?.() ?? {};
  const { architecture = ofFile, parameters, maxTokens: contextLength, dimensions } = known ?? {};
  const info = known && {
    'general.architecture': architecture,
    'general.parameter_count': parameters,
    [`${architecture}.context_length`]: contextLength,
    [`${architecture}.embedding_length`]: dimensions,
  };
  return {
    name,
    size: sizeBytes,
    digest: sha256(name),
    modifiedAt,
    details: details(architecture, parameters, '', { context_length: contextLength, embedding_length: dimensions }),
    capabilities: ['embedding'],
    info: { 'general.basename': name, ...info },
    template: '',
    license: undefined,
    contextLength: undefined,
  };
}

function tagBody(entry: ModelEntry): object {
  const { name, size, digest, details, capabilities } = entry;
  const tag = `${name}:latest`;
  return { name: tag, model: tag, modified_at: timestamp(entry.modifiedAt), size, digest, details, capabilities };
}

function runningBody(entry: ModelEntry, expiresAt: number, gpuBytes = 0): object {
  const { name, size, digest, details, capabilities, contextLength } = entry;
  const tag = `${name}:latest`;
  return {
    name: tag,
    model: tag,
    size,
    digest,
    details,
    capabilities,
    expires_at: timestamp(Math.min(expiresAt, never)),
    size_vram: gpuBytes,
    ...(contextLength === undefined ? {} : { context_length: contextLength }),
  };
}

/** Far enough, and still a date that every client can hold. */
const never = Date.UTC(2300, 0, 1);

function showBody({ license, contextLength, preset, ...entry }: ModelEntry): object {
  const { base = entry.name, system = '', messages = [] } = preset ?? {};
  const parameters = preset ? parametersOf(preset) : {};
  const own = Object.entries(parameters).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, typeof one === 'object' ? JSON.stringify(one) : String(one)]),
  );
  const limit: [string, string][] = contextLength === undefined ? [] : [['num_ctx', String(contextLength)]];
  const listed = [...limit.filter(([name]) => !(name in parameters)), ...own];
  const file = [
    `FROM ${base}`,
    ...own.map(([name, value]) => `PARAMETER ${name} ${value}`),
    ...(system === '' ? [] : [`SYSTEM """${system}"""`]),
    ...messages.map(({ role, content }) => `MESSAGE ${role} """${content}"""`),
  ];
  return {
    ...(license === undefined ? {} : { license }),
    modelfile: `${file.join('\n')}\n`,
    parameters: listed.map(([name, value]) => `${name.padEnd(31)}${value}`).join('\n'),
    ...(system === '' ? {} : { system }),
    ...(messages.length === 0 ? {} : { messages }),
    template: entry.template,
    details: entry.details,
    model_info: entry.info,
    capabilities: entry.capabilities,
    modified_at: timestamp(entry.modifiedAt),
  };
}

/** `sizes` are left out where they are not known. */
function details(family = '', parameters = 0, quantization = '', sizes: object = {}) {
  return {
    parent_model: '',
    format: 'gguf',
    family,
    families: family === '' ? [] : [family],
    parameter_size: parameters > 0 ? parameterSize(parameters) : '',
    quantization_level: quantization,
    ...sizes,
  };
}

/** Apps set their limits by this: what a request can use, not what the model was trained for. */
function usableContext({ contextSize, trainedContext }: TextModel): number {
  return trainedContext > 0 ? Math.min(contextSize, trainedContext) : contextSize;
}

/** Tools work with every model: one whose template has none is asked in two steps. */
function textCapabilities(model: TextModel | undefined, header: GgufHeader | undefined, template: string) {
  // The tokens of an encoder see each other in both directions: it cannot generate.
  if (header?.metadata.get(`${header.architecture}.attention.causal`)?.value === false) return ['embedding'];
  const capabilities = {
    completion: true,
    tools: true,
    insert: model?.fillMarks !== undefined,
    vision: model?.inputs.image ?? false,
    audio: model?.inputs.audio ?? false,
    thinking: thinkingTags.some(({ start }) => template.includes(start)),
  };
  return Object.entries(capabilities).flatMap(([name, has]) => (has ? [name] : []));
}

/** The metadata of the file, without the template. Long lists are empty unless the file was read with them. */
function textInfo(
  name: string,
  model: TextModel | undefined,
  header: GgufHeader | undefined,
  parameters: number | undefined,
): Readonly<Record<string, unknown>> {
  if (!header) return model ? { 'general.basename': name, 'general.parameter_count': parameters } : {};
  const info: Record<string, unknown> = { 'general.basename': textOf(header, 'general.name') ?? name };
  for (const [key, { value }] of header.metadata) {
    if (key !== 'tokenizer.chat_template') info[key] = plainValue(value);
  }
  info['general.parameter_count'] = parameters;
  // The trained context, also where the file does not have it.
  if (model) info[`${header.architecture}.context_length`] ??= model.trainedContext;
  return info;
}

function plainValue(value: GgufValue): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object') return value;
  return value.values.length < value.length ? [] : value.values.map(plainValue);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function parameterSize(count: number): string {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)}B`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(count % 1e6 === 0 ? 0 : 2)}M`;
  return count >= 1e3 ? `${Math.round(count / 1e3)}K` : String(count);
}
