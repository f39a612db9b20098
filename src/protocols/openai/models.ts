import type { EmbeddingFacts } from '../../core/embedding.ts';
import { AppError } from '../../core/errors.ts';
import { hiddenModelName, sameName } from '../../core/model-names.ts';
import type { ListedModel } from '../../core/models-view.ts';
import { percentDecoded } from '../../core/percent-decoded.ts';
import type { TextModel, TextState } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { information, legacyOpen } from '../access.ts';
import { type DialectContext, findModel, modelsByName } from '../dialect.ts';
import { endpointRow, type ModelEndpoint, withShortPath } from '../endpoint.ts';
import { timestamp } from '../timestamp.ts';
import { openaiDialect } from './errors.ts';

type ModelsContext = Pick<DialectContext, 'text' | 'modelName' | 'startedAt' | 'models' | 'alias' | 'taskServices'>;

const statuses: Record<TextState['type'] | ListedModel['state'], string> = {
  ready: 'loaded',
  loading: 'loading',
  none: 'unloaded',
  unloaded: 'unloaded',
  leaving: 'unloaded',
  failed: 'unloaded',
};

const row = endpointRow(information, { method: 'GET', dialect: openaiDialect });

export const modelsEndpoints: readonly ModelEndpoint<ModelsContext>[] = [
  row('/v1/models', 'The models: those for text, then that of --embeddingsmodel.', answerList, { response: 'models' }),
  // ComfyUI has a list of models at this path too.
  row('/models', 'Another name for /v1/models.', answerList, {
    ...legacyOpen(information),
    match: 'exact',
    response: 'models',
    aliasOf: '/v1/models',
  }),
  ...withShortPath(
    row('/v1/models/', 'One model by its id.', answerOne, {
      match: 'prefix',
      below: { '{id}': { response: 'model' } },
    }),
  ),
];

interface ModelRow {
  readonly id: string;
  readonly name: string;
  readonly aliases?: readonly string[] | undefined;
  /** Seconds since 1970. */
  readonly created: number;
  readonly status: string;
  readonly model?: TextModel | undefined;
  /** For an embedding model. */
  readonly embedding?: { readonly facts: EmbeddingFacts | undefined };
  /** Not in `data`: clients would offer it for chats. */
  readonly unlisted?: boolean;
}

/** Text models come first: many clients take the first entry for the model that they use. */
async function modelsFor({ authorized }: Call, context: ModelsContext): Promise<readonly ModelRow[]> {
  const created = Math.floor(context.startedAt / 1000);
  // Without the key all models are one, of which only the status is shown.
  if (!authorized)
    return [{ id: hiddenModelName, name: hiddenModelName, created, status: statuses[context.text.state().type] }];
  const texts = await textModels(context, created);
  const service = context.taskServices?.embedding;
  if (!service || texts.some(({ id }) => sameName(id, service.name))) return texts;
  const status = service.loaded() ? 'loaded' : 'unloaded';
  const { name, builtIn = false } = service;
  return [...texts, { id: name, name, created, status, embedding: { facts: service.facts() }, unlisted: builtIn }];
}

/** Without any model there is still one entry, as in KoboldCpp: its clients read the first. */
async function textModels(context: ModelsContext, created: number): Promise<readonly ModelRow[]> {
  const named = (await modelsByName(context)) ?? [];
  if (named.length > 0) {
    return named.map(({ id, name, aliases, state, known }) => {
      const status = state === 'failed' ? 'failed' : statuses[state];
      return { id, name, aliases, created, status, model: known };
    });
  }
  const state = context.text.state();
  const model = state.type === 'ready' ? state.model : undefined;
  const name = context.modelName();
  return [{ id: name, name, created, status: statuses[state.type], model }];
}

/** One body with the fields of the OpenAI API, the Anthropic API and llama.cpp's server. */
async function answerList(call: Call, context: ModelsContext): Promise<Reply> {
  const all = await modelsFor(call, context);
  const listed = all.filter(({ unlisted }) => !unlisted);
  return json({
    object: 'list',
    data: listed.map(modelEntry),
    has_more: false,
    first_id: listed[0]?.id,
    last_id: listed.at(-1)?.id,
    models: all.flatMap((one) => (one.model || one.embedding ? [tagEntry(one)] : [])),
  });
}

function modelEntry({ id, created, status, model, embedding }: ModelRow): object {
  return {
    id,
    object: 'model',
    created,
    owned_by: 'koboldcpp',
    type: 'model',
    display_name: id.replace(/^koboldcpp\//, ''),
    created_at: timestamp(created),
    permission: [],
    root: 'koboldcpp',
    status: { value: status },
    aliases: [],
    tags: [],
    ...(embedding ? { capabilities: ['embedding'] } : {}),
    ...(model ? measures(model) : { meta: embedding?.facts ? embeddingMeta(embedding.facts) : null }),
  };
}

/** The first two names for the context size are those of gateways. */
function measures(model: TextModel): object {
  const { contextSize } = model;
  const meta = {
    vocab_type: model.vocabularyType,
    n_vocab: model.vocabularySize,
    n_ctx: contextSize,
    n_ctx_train: model.trainedContext,
    n_embd: model.embeddingLength,
    n_params: model.parameters,
    size: model.sizeBytes,
  };
  return { context_length: contextSize, max_model_len: contextSize, meta };
}

function embeddingMeta({ maxTokens, dimensions, parameters, sizeBytes }: EmbeddingFacts): object {
  return { n_ctx: maxTokens, n_embd: dimensions, n_params: parameters, size: sizeBytes };
}

/** The entry of llama.cpp's second list. */
function tagEntry({ id, created, model, embedding }: ModelRow): object {
  const { image = false, audio = false } = model?.inputs ?? {};
  return {
    name: id,
    model: id,
    modified_at: timestamp(created),
    size: model?.sizeBytes ?? embedding?.facts?.sizeBytes ?? 0,
    digest: '',
    type: 'model',
    description: model?.description ?? '',
    tags: [],
    capabilities: embedding ? ['embedding'] : ['completion', ...(image || audio ? ['multimodal'] : [])],
    parameters: '',
    details: { parent_model: '', format: 'gguf', family: '', families: [], parameter_size: '', quantization_level: '' },
  };
}

/** The id may contain slashes, which some clients encode; it is also found without its first part. */
async function answerOne(call: Call, context: ModelsContext): Promise<Reply> {
  const { path } = call;
  const requested = percentDecoded(path.slice(path.indexOf('/models/') + '/models/'.length));
  const model = findModel(await modelsFor(call, context), requested, context.alias);
  if (!model) throw new AppError('model-not-found', { model: requested });
  return json(modelEntry(model));
}
