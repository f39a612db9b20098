import { AppError, asAppError } from '../../core/errors.ts';
import { findNamed, sameName } from '../../core/model-names.ts';
import type { HeldModel, ModelMemory } from '../../core/models-view.ts';
import { refuseWithoutModel } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { adminOnly, read, write } from '../access.ts';
import type { ChatReader, DialectContext } from '../dialect.ts';
import type { EmbeddingContext } from '../embedding.ts';
import {
  bodyOf,
  endpointRow,
  type ModelEndpoint,
  type PlainEndpoint,
  type SharedPath,
  withServices,
} from '../endpoint.ts';
import * as f from '../fields.ts';
import { completionEndpoints } from './completion.ts';
import { embeddingEndpoints } from './embedding.ts';
import { llamacppDialect } from './errors.ts';
import { templateFields } from './fields.ts';
import { readPieces } from './prompts.ts';
import { type StatusContext, type StatusServices, statusEndpoints } from './status.ts';

export interface ModelMemoryContext extends Pick<DialectContext, 'modelName'> {
  /** The text model of the call. */
  readonly name: string;
  readonly memory?: ModelMemory | undefined;
}

export interface LlamacppContext
  extends StatusContext,
    EmbeddingContext,
    ModelMemoryContext,
    Pick<ChatReader, 'readChat'> {}

/** What is the same for all models. */
interface LlamacppServices extends StatusServices, Pick<LlamacppContext, 'memory' | 'readChat'> {}

const row = endpointRow(write('admin'), { method: 'POST', match: 'exact', dialect: llamacppDialect });
const disabled = (): Reply => json({ error: { message: 'this feature is disabled', type: 'feature_disabled' } }, 403);

/** Endpoints of the llama.cpp server that are refused, in the words that its clients know. */
const refusedEndpoints: readonly PlainEndpoint[] = [
  row(
    '/chat/completions/control',
    'Not there: the thinking of a running reply cannot be ended.',
    () => json({ success: false }),
    { ...write('chat'), match: 'ending', response: 'control' },
  ),
  row('/tools', 'Not there: tools of the server.', disabled, { ...read('tools'), method: 'GET', response: 'refused' }),
  row('/cors-proxy', 'Not there: fetching for a page.', disabled, {
    ...read('tools'),
    method: 'GET',
    response: 'refused',
  }),
];

const modelFields = {
  model: f.honoured(f.readText, 'a model of any kind, by the names of `GET /v1/models` and `GET /api/extra/models`'),
};

const memoryRow = endpointRow(adminOnly, {
  method: 'POST',
  match: 'exact',
  dialect: llamacppDialect,
  fields: modelFields,
  response: 'success',
  modelSelection: 'own-name',
});

/** Load and unload by name. Both answer at once; `GET /api/extra/models` shows the state. */
export const modelMemoryEndpoints: readonly ModelEndpoint<ModelMemoryContext>[] = [
  memoryRow('/models/load', 'Load a model.', (call, context) => change(call, context, 'load')),
  memoryRow('/models/unload', 'Unload a model; the next request for it loads it again.', (call, context) =>
    change(call, context, 'unload'),
  ),
];

async function change(call: Call, context: ModelMemoryContext, action: 'load' | 'unload'): Promise<Reply> {
  const { model } = f.readFields(modelFields, await bodyOf(call));
  const held = findHeld(model, context);
  if (!held) throw new AppError('model-not-found', { model });
  // Its state shows how it goes.
  context.memory?.[action](held.kind, held.name).catch(() => undefined);
  return json({ success: true });
}

/** The text model of the call, or one of another kind. */
function findHeld(requested: string, { name, modelName, memory }: ModelMemoryContext): HeldModel | undefined {
  const held = memory?.list() ?? [];
  const isText = sameName(requested, modelName()) || sameName(requested, name);
  const text = held.find((one) => one.kind === 'text' && one.name === name);
  return (isText ? text : undefined) ?? findNamed(held, (one) => [one.name], requested);
}

const tokenizeFields = {
  content: f.honoured(f.orElse(readPieces, [])),
  add_special: f.honoured(f.orElse(f.looseFlag, false)),
  parse_special: f.honoured(f.orElse(f.looseFlag, true)),
  with_pieces: f.honoured(f.orElse(f.looseFlag, false), 'a token that is a part of a character comes as its bytes'),
};

const readTokens = f.reader<readonly number[]>(
  'an array of token numbers',
  (value) => Array.isArray(value) && value.every(f.isTokenId),
  f.tokenNumbers,
);

const detokenizeFields = { tokens: f.honoured(f.orElse(readTokens, [])) };

const tokenRow = endpointRow(read(), { method: 'POST', dialect: llamacppDialect });

export const tokenEndpoints: readonly ModelEndpoint<ChatReader>[] = [
  tokenRow('/tokenize', 'The tokens of a text, with their pieces if requested.', tokenize, {
    fields: tokenizeFields,
    response: 'tokenize',
  }),
  tokenRow('/detokenize', 'The text of a list of tokens.', detokenize, {
    fields: detokenizeFields,
    response: 'detokenize',
  }),
  tokenRow('/apply-template', 'The prompt that a chat would become.', applyTemplate, {
    fields: templateFields,
    response: 'applyTemplate',
  }),
];

async function tokenize(call: Call, { text }: ChatReader): Promise<Reply> {
  const fields = f.readFields(tokenizeFields, await bodyOf(call, 'object'));
  const { content, add_special: addSpecial, parse_special: parseSpecial } = fields;
  // Only the first text of a list is the beginning; numbers stay as they are.
  const first = content.findIndex((piece) => typeof piece === 'string');
  const tokenLists = await Promise.all(
    content.map((piece, index) =>
      typeof piece === 'number'
        ? [piece]
        : text.tokenize(piece, { addSpecial: addSpecial && index === first, parseSpecial }),
    ),
  );
  // Not earlier: the tokenizer waits for a model that is being loaded.
  refuseWithoutModel(text.state());
  const tokens = tokenLists.flat();
  if (!fields.with_pieces) return json({ tokens });
  const pieces = await text.pieces(tokens);
  return json({ tokens: tokens.map((id, index) => ({ id, piece: pieces[index] ?? '' })) });
}

async function detokenize(call: Call, { text }: ChatReader): Promise<Reply> {
  const { tokens } = f.readFields(detokenizeFields, await bodyOf(call, 'object'));
  const content = await text.detokenize(tokens, { renderSpecial: true });
  refuseWithoutModel(text.state());
  return json({ content });
}

async function applyTemplate(call: Call, context: ChatReader): Promise<Reply> {
  const { chat, applyDefaults, readChat } = context;
  const { prompt, memory } = await chat.render(await readChat(applyDefaults(await bodyOf(call)), context));
  return json({ prompt: memory + prompt });
}

const endpoints: readonly ModelEndpoint<LlamacppContext>[] = [
  ...statusEndpoints,
  ...completionEndpoints,
  ...tokenEndpoints,
  ...embeddingEndpoints,
  ...modelMemoryEndpoints,
  ...refusedEndpoints,
];

export const llamacppEndpoints = (server: LlamacppServices) => withServices(endpoints, server);

/** For a path of two dialects: requests with fields of this one are answered in its form. Unexpected errors are thrown. */
export function answeringBoth<Context>(
  theirs: ModelEndpoint<Context>,
  ours: ModelEndpoint<Context>,
): ModelEndpoint<Context> {
  return {
    ...theirs,
    also: ours,
    summary: `${theirs.summary} With the fields of the llama.cpp server it is another name for ${ours.path}.`,
    handle: async (call, context) => {
      if (!ours.shared || !(await isOurs(call, ours.shared))) return theirs.handle(call, context);
      try {
        return await ours.handle(call, context);
      } catch (thrown) {
        const error = asAppError(thrown);
        if (error.code === 'internal') throw thrown;
        return ours.dialect.errorReply(error);
      }
    },
  };
}

async function isOurs(call: Call, { own, foreign }: SharedPath): Promise<boolean> {
  // A long body without any of our names need not be parsed.
  if (!own.some((name) => call.body.includes(`"${name}"`))) return false;
  try {
    const sent = await bodyOf(call);
    const has = (name: string): boolean => !f.isAbsent(sent[name]);
    return own.some(has) && !foreign.some(has);
  } catch {
    return false;
  }
}
