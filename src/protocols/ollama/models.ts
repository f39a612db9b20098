import type { EmbeddingService } from '../../core/embedding.ts';
import { hiddenModelName, sameName } from '../../core/model-names.ts';
import type { ListedModel } from '../../core/models-view.ts';
import type { TextModel } from '../../core/text-service.ts';
import { textOf } from '../../gguf/types.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { type DialectParts, noticeHeaders } from '../dialect.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { readFields } from '../fields/table.ts';
import { findModel, modelsByName } from '../listed-models.ts';
import { embeddingEntry, embeddingModifiedAt, embeddingShown } from './embedding-entry.ts';
import { timestamp } from './ending.ts';
import { jsonHeaders, modelNotFound, ollamaFamily } from './errors.ts';
import { showFidelity, showFields } from './fields.ts';
import { FileFacts } from './file-facts.ts';
import { loadedModel } from './loading.ts';
import {
  capabilities,
  type KnownModel,
  type ModelFile,
  modelDetails,
  modelEntry,
  modelInfo,
  modifiedAt,
  usableContext,
} from './model-entry.ts';
import { modelRequired, namedModel, withBody } from './request.ts';

/** The level of the API that apps test for; not the version of this program. */
const ollamaVersion = '0.31.0';

/** What the server has, whichever model answers. */
export interface ModelFileParts {
  /** Reads the head of a model file; long arrays are kept only where all of it is wanted. */
  readonly modelFile: (path: string, options: { readonly longArrays: boolean }) => Promise<ModelFile>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface ModelParts extends Pick<DialectParts, 'text' | 'modelName' | 'models' | 'alias' | 'others'> {
  /** Whether the model lies in memory; without this it does once it is ready. One that was let go still looks ready. */
  readonly loaded?: () => boolean;
  /** When the model will be unloaded, in milliseconds since 1970; infinity or nothing means never. */
  readonly expiresAt?: () => number;
  /** The template that chats are written with, where it is not that of the model. */
  readonly chatTemplate?: string | undefined;
  /** How much of the model lies in the memory of graphics cards. */
  readonly gpuBytes?: () => number;
}

/** Far enough, and still a date that every client can hold. */
const never = Date.UTC(2300, 0, 1);

export function modelEndpoints(server: ModelFileParts): ModelEndpoint<ModelParts>[] {
  const sources = new FileSources(server);
  const open = { method: 'GET', match: 'ending', access: 'open', queued: false, family: ollamaFamily } as const;
  return [
    {
      ...open,
      path: '/api/version',
      summary: 'The level of the Ollama API that is spoken here.',
      handle: () => json({ version: ollamaVersion }, 200, jsonHeaders),
    },
    {
      ...open,
      path: '/api/tags',
      summary: 'The models that can be used.',
      handle: (call, parts) => (call.authorized ? tags(parts, sources) : hiddenTags(parts)),
    },
    {
      ...open,
      path: '/api/ps',
      summary: 'The models in memory.',
      handle: (call, parts) => (call.authorized ? running(parts, sources) : hiddenRunning(parts)),
    },
    {
      ...open,
      method: 'POST',
      path: '/api/show',
      summary: 'All about a model: template, metadata, what it can do.',
      handle: withBody((body, call, parts: ModelParts) => show(body, call, parts, sources)),
    },
    {
      ...open,
      path: '/api/status',
      summary: 'That nothing here runs elsewhere.',
      handle: () => json({ cloud: { disabled: true, source: 'config' } }, 200, jsonHeaders),
    },
  ];
}

/** What the files of models tell, read once for each. */
class FileSources {
  readonly facts: FileFacts;
  readonly #loaded = new WeakMap<TextModel, Promise<ModelFile | undefined>>();

  constructor(private readonly server: ModelFileParts) {
    this.facts = new FileFacts({ read: (path) => server.modelFile(path, { longArrays: false }), now: server.now });
  }

  readonly fileOf = (model: TextModel): Promise<ModelFile | undefined> => {
    const known = this.#loaded.get(model) ?? this.whole(model.path, false);
    this.#loaded.set(model, known);
    return known;
  };

  /** A file that was moved away after it was loaded leaves its facts empty; the model still runs. */
  whole(path: string, longArrays = true): Promise<ModelFile | undefined> {
    return this.server.modelFile(path, { longArrays }).catch(() => undefined);
  }
}

type FileOf = (model: TextModel) => Promise<ModelFile | undefined>;

/** Undefined while it loads. */
async function knownModel(model: TextModel | undefined, parts: ModelParts, fileOf: FileOf): Promise<KnownModel> {
  return {
    name: parts.modelName(),
    model,
    template: parts.chatTemplate ?? model?.chatTemplate,
    file: model && (await fileOf(model)),
  };
}

/** One of several by its name, which may never have been in memory: then its file speaks for it. */
async function namedKnown(
  { id, present, path, known }: ListedModel,
  { chatTemplate }: ModelParts,
  factsOf: (path: string) => Promise<ModelFile | undefined>,
): Promise<KnownModel> {
  const file = path === undefined ? undefined : await factsOf(path);
  const own = known?.chatTemplate ?? (file && textOf(file.header, 'tokenizer.chat_template'));
  return { name: id, model: known, template: (present ? chatTemplate : undefined) ?? own, file };
}

async function tags(parts: ModelParts, { fileOf, facts }: FileSources): Promise<Reply> {
  const list = (models: readonly KnownModel[]): Reply => {
    const besides = embeddingBeside(
      parts,
      models.map(({ name }) => name),
    );
    const entries = besides.map((service) => ({
      ...embeddingEntry(service),
      modified_at: embeddingModifiedAt(service),
    }));
    return json({ models: [...models.map(tagEntry), ...entries] }, 200, jsonHeaders);
  };
  const named = await modelsByName(parts);
  if (named) return list(await Promise.all(named.map((one) => namedKnown(one, parts, (path) => facts.of(path)))));
  const state = parts.text.state();
  if (state.type === 'loading') return list([await knownModel(undefined, parts, fileOf)]);
  return list(state.type === 'ready' ? [await knownModel(state.model, parts, fileOf)] : []);
}

/** To clients without the key all models are one of which nothing is told. */
const hiddenModel: KnownModel = { name: hiddenModelName, model: undefined, template: undefined, file: undefined };

function hiddenTags({ text }: ModelParts): Reply {
  return json({ models: text.state().type === 'none' ? [] : [tagEntry(hiddenModel)] }, 200, jsonHeaders);
}

function hiddenRunning({ text, loaded }: ModelParts): Reply {
  const there = text.state().type === 'ready' && loaded?.() !== false;
  return json({ models: there ? [runningEntry(hiddenModel, never)] : [] }, 200, jsonHeaders);
}

function tagEntry(known: KnownModel): object {
  const { name, model, ...rest } = modelEntry(known) as { name: string; model: string };
  return { name, model, modified_at: modifiedAt(known), ...rest };
}

async function running(parts: ModelParts, { fileOf, facts }: FileSources): Promise<Reply> {
  const { text, loaded, expiresAt, gpuBytes } = parts;
  const named = await modelsByName(parts);
  if (named) {
    const resident = named.filter(({ state }) => state === 'ready' || state === 'leaving');
    const entries = resident.map(async (one) =>
      runningEntry(
        await namedKnown(one, parts, (path) => facts.of(path)),
        one.expiresAt,
        one.present ? gpuBytes?.() : 0,
      ),
    );
    return json({ models: [...(await Promise.all(entries)), ...runningBeside(parts)] }, 200, jsonHeaders);
  }
  const state = text.state();
  if (state.type !== 'ready' || loaded?.() === false) return json({ models: runningBeside(parts) }, 200, jsonHeaders);
  const entry = runningEntry(await knownModel(state.model, parts, fileOf), expiresAt?.() ?? never, gpuBytes?.());
  return json({ models: [entry, ...runningBeside(parts)] }, 200, jsonHeaders);
}

/** The model for embeddings, unless its name is that of one of these. */
function embeddingBeside({ others }: ModelParts, names: readonly string[]): readonly EmbeddingService[] {
  const service = others?.embedding;
  return service && !names.some((name) => sameName(name, service.name)) ? [service] : [];
}

function runningBeside(parts: ModelParts): readonly object[] {
  return embeddingBeside(parts, [])
    .filter((service) => service.loaded())
    .map((service) => ({
      ...embeddingEntry(service),
      expires_at: timestamp(Math.min(service.expiresAt?.() ?? never, never)),
      size_vram: 0,
    }));
}

function runningEntry(known: KnownModel, expiresAt: number, gpuBytes = 0): object {
  return {
    ...modelEntry(known),
    expires_at: timestamp(Math.min(expiresAt, never)),
    size_vram: gpuBytes,
    ...(known.model ? { context_length: usableContext(known.model) } : {}),
  };
}

/** Undefined where nobody of that name is there. Of several nothing is loaded to be shown; the only one is waited for. */
async function shownModel(
  asked: string,
  verbose: boolean,
  parts: ModelParts,
  sources: FileSources,
): Promise<KnownModel | undefined> {
  const named = await modelsByName(parts);
  if (named) {
    const found = findModel(named, asked, parts.alias);
    return found && namedKnown(found, parts, (path) => (verbose ? sources.whole(path) : sources.facts.of(path)));
  }
  if (parts.text.state().type === 'none') return undefined;
  const model = await loadedModel(parts.text);
  return knownModel(model, parts, verbose ? ({ path }) => sources.whole(path) : sources.fileOf);
}

async function show(
  body: JsonObject,
  { headers, authorized }: Call,
  parts: ModelParts,
  sources: FileSources,
): Promise<Reply> {
  const fields = readFields(showFields, body);
  const asked = namedModel(fields);
  if (asked === '') return modelRequired;
  if (!authorized && parts.text.state().type === 'none') return modelNotFound(asked);
  const meant = parts.alias?.(asked) ?? asked;
  const [beside] = authorized
    ? embeddingBeside(parts, [parts.modelName()]).filter(({ name }) => sameName(name, meant))
    : [];
  if (beside) return json(embeddingShown(beside), 200, { ...jsonHeaders, ...noticeHeaders(body, showFidelity) });
  const known = authorized ? await shownModel(asked, fields.verbose, parts, sources) : hiddenModel;
  if (!known) return modelNotFound(asked);
  const { file, model } = known;
  const license = file && textOf(file.header, 'general.license');
  // This app shows the base name, and knows its models by the names that it asked for.
  const shownName = String(headers['user-agent']).startsWith('GitHubCopilotChat/') ? { 'general.basename': asked } : {};
  const reply = {
    ...(license === undefined ? {} : { license }),
    modelfile: `FROM ${known.name}\n`,
    parameters: model ? `${'num_ctx'.padEnd(31)}${usableContext(model)}` : '',
    template: known.template ?? '',
    details: modelDetails(known),
    model_info: { ...modelInfo(known), ...shownName },
    capabilities: capabilities(known),
    modified_at: modifiedAt(known),
  };
  return json(reply, 200, { ...jsonHeaders, ...noticeHeaders(body, showFidelity) });
}
