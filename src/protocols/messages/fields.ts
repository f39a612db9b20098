import { AppError } from '../../core/errors.ts';
import { asControls, readGenkey } from '../controls/table.ts';
import { limitedTexts, looseFlag } from '../fields/loose.ts';
import {
  anyValue,
  described,
  listOf,
  oneOf,
  optional,
  optionalObject,
  orElse,
  type Read,
  readCount,
  readList,
  readNumber,
  readText,
  wrong,
} from '../fields/readers.ts';
import { messagesSchema, objectsSchema, textSchema, textsSchema } from '../fields/schemas.ts';
import {
  approximated,
  aside,
  each,
  type Fields,
  fidelityOf,
  group,
  honoured,
  ignored,
  kindsAt,
  places,
  refused,
} from '../fields/table.ts';
import { loosenedNote, silenceNote } from '../tools.ts';
import { blockKinds } from './conversation.ts';

const dialect = 'Messages';

const mostStops = 256;
const readTexts = listOf(readText);

const readStops: Read<readonly string[]> = described(textsSchema, (value, path) => {
  const texts = readTexts(value, path).filter((text) => text !== '');
  if (texts.length > mostStops) throw wrong(path, `at most ${mostStops} texts`);
  return limitedTexts(path, texts);
});

/** For fields that change what the request means, so that it would be wrong to ignore them. */
const refuse =
  (instead: string): Read<never> =>
  (_, feature) => {
    throw new AppError('unsupported', { feature, instead });
  };

const thread = refused(
  'Conversations are not stored.',
  refuse('this server keeps no conversations; send all messages'),
);

/** The fields that make the prompt: also those of the endpoint that counts its tokens. */
const promptFields = {
  model: aside('honoured', 'Any name: the loaded model answers, and the reply has its name.', readText),
  messages: honoured(described(messagesSchema, readList), 'Not empty. Consecutive messages of one role are one turn.'),
  ...places({
    'messages[].role: system': aside(
      'approximated',
      'First: system prompt. Later: in the user turn, in <system> tags.',
    ),
    'messages[]: last one of the assistant': aside('honoured', 'A prefill: continued, and not repeated in the reply.'),
  }),
  ...kindsAt('messages[].content[]', blockKinds),
  ...places({
    'messages[].content[]: tool_use': aside('honoured'),
    'messages[].content[]: tool_result': aside(
      'approximated',
      'A text, or blocks of text, pictures, documents and search results. Pictures in the JSON of a text are shown to the model. is_error puts "Error:" in front.',
    ),
    'messages[].content[]: thinking': aside('honoured', 'For templates that use it; the signature is not checked.'),
    'messages[].content[]: redacted_thinking': ignored('Encrypted by another server.'),
    'messages[].content[]: other kinds': ignored('x-parley-ignored has their paths (server tools, containers, …).'),
  }),
  system: approximated(
    described({ anyOf: [textSchema, objectsSchema] }, anyValue),
    'A text or text blocks. The billing line of coding agents is dropped.',
  ),
  tools: approximated(
    orElse(described(objectsSchema, readList), []),
    `Custom tools, and bash, text_editor and memory with a description of the server. Tools that only the original service runs are ignored (x-parley-ignored). strict makes no difference (calls follow the schema if the call format of the model allows it); defer_loading, input_examples, allowed_callers and eager_input_streaming have no effect: every tool is offered from the start. ${loosenedNote}`,
  ),
  tool_choice: honoured(optionalObject, 'auto, any, tool and none, with disable_parallel_tool_use.'),
  thinking: approximated(
    optionalObject,
    `disabled: off, as far as the model can; enabled: on, with budget_tokens as the limit; adaptive and between_tools: as the model decides. display has no effect: thinking is always shown. No effect on models that do not think. ${silenceNote}`,
  ),
  output_config: group({
    effort: approximated(
      optional(oneOf('low', 'medium', 'high', 'xhigh', 'max')),
      'How much of the reply may be thinking: low 25 %, medium 50 %, high 75 %, xhigh and max all of it.',
    ),
    format: honoured(optionalObject, 'json_schema, enforced by a grammar.'),
  }),
  output_format: honoured(optionalObject, 'The older name of output_config.format.'),
  cache_control: ignored('The longest cached prefix of a prompt is always used, marked or not.'),
  ...each(['context_management', 'mcp_servers', 'speed', 'user_profile_id', 'workspace_id', 'betas'], ignored()),
};

export const createFields = {
  ...promptFields,
  max_tokens: honoured(optional(readCount), 'Cut to what fits. 0 reads the prompt into the cache, without a reply.'),
  stream: honoured(orElse(looseFlag, false)),
  // Only their types are checked here.
  ...asControls({ temperature: 'May be above 1.', top_p: '', top_k: '' }, { check: readNumber }),
  stop_sequences: honoured(optional(readStops), 'Empty ones are ignored. Up to 256, 50,000 characters together.'),
  thread,
  compaction: refused('Ask for a summary in a message.', refuse('ask for a summary in a message instead')),
  ...each(
    ['metadata', 'container', 'diagnostics', 'fallbacks', 'fallback_credit_token', 'inference_geo', 'service_tier'],
    ignored(),
  ),
  genkey: honoured(readGenkey, 'The key for /api/extra/abort and /api/extra/generate/check.'),
  memory: honoured(orElse(readText, ''), 'Put in front of the prompt, as in the native API.'),
  ...places({
    'sampling controls of the native API': aside('honoured', 'min_p, seed, grammar and all others, by their names.'),
  }),
};

export type CreateFields = Fields<typeof createFields>;

export const createFidelity = fidelityOf(dialect, 'POST /v1/messages', createFields);
export const countFidelity = fidelityOf(dialect, 'POST /v1/messages/count_tokens', {
  ...promptFields,
  thread,
  ...each(['compaction', 'max_tokens'], ignored()),
});

export const messagesFidelity = [createFidelity, countFidelity];
