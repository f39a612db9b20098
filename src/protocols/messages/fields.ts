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
  'The server keeps no conversations.',
  refuse('this server keeps no conversations; send all messages'),
);

/** The fields that make the prompt: also those of the endpoint that counts its tokens. */
const promptFields = {
  model: aside('honoured', 'Any name is accepted; the loaded model answers, and the reply names it.', readText),
  messages: honoured(
    described(messagesSchema, readList),
    'Messages of the same role that follow each other are one turn. An empty list is refused.',
  ),
  ...places({
    'messages[].role: system': aside(
      'approximated',
      'At the beginning it is part of the system prompt; later it stands in the turn of the user between <system> tags.',
    ),
    'messages[]: last one of the assistant': aside(
      'honoured',
      'A prefill: it is continued, and not repeated in the reply.',
    ),
  }),
  ...kindsAt('messages[].content[]', blockKinds),
  ...places({
    'messages[].content[]: tool_use': aside('honoured'),
    'messages[].content[]: tool_result': aside(
      'approximated',
      'A text, or blocks of text, pictures, documents and search results. Pictures inside of the JSON of a tool server are shown to the model instead of their base64. is_error puts "Error:" in front.',
    ),
    'messages[].content[]: thinking': aside(
      'honoured',
      'Shown to models whose template asks for it; the signature is not checked.',
    ),
    'messages[].content[]: redacted_thinking': ignored('Encrypted: nobody here can read it.'),
    'messages[].content[]: other kinds': ignored(
      'Passed over (server tools, containers, kinds unknown here); x-parley-ignored names the places.',
    ),
  }),
  system: approximated(
    described({ anyOf: [textSchema, objectsSchema] }, anyValue),
    'A text or text blocks, one under the other; the billing line of coding agents is left out.',
  ),
  tools: approximated(
    orElse(described(objectsSchema, readList), []),
    `Custom tools, and bash, text_editor and memory with a description of our own. Tools that only the original service runs are left out, and x-parley-ignored names them. strict makes no difference (calls follow the schema wherever the call format of the model allows it); defer_loading, input_examples, allowed_callers and eager_input_streaming have no effect: every tool is offered from the start. ${loosenedNote}`,
  ),
  tool_choice: honoured(optionalObject, 'auto, any, tool and none, with disable_parallel_tool_use.'),
  thinking: approximated(
    optionalObject,
    `disabled: off, as far as the model can; enabled: on, with budget_tokens as the limit; adaptive and between_tools: as the model does by itself. display has no effect: thinking is always shown. No effect on models that do not think. ${silenceNote}`,
  ),
  output_config: group({
    effort: approximated(
      optional(oneOf('low', 'medium', 'high', 'xhigh', 'max')),
      'How much of the reply may be thinking: low 25 %, medium 50 %, high 75 %, xhigh and max all of it.',
    ),
    format: honoured(optionalObject, 'json_schema: the text is held to the schema.'),
  }),
  output_format: honoured(optionalObject, 'The older name of output_config.format.'),
  cache_control: ignored('The longest known beginning of a prompt is always taken from the cache, marked or not.'),
  ...each(['context_management', 'mcp_servers', 'speed', 'user_profile_id', 'workspace_id', 'betas'], ignored()),
};

export const createFields = {
  ...promptFields,
  max_tokens: honoured(
    optional(readCount),
    'The default of the server when left out; cut to what the server and the context allow. 0 reads the prompt into the cache and answers nothing.',
  ),
  stream: honoured(orElse(looseFlag, false)),
  // Only their types are checked here.
  ...asControls(
    { temperature: 'Values above 1 are possible. The default is that of the server.', top_p: '', top_k: '' },
    { check: readNumber },
  ),
  stop_sequences: honoured(
    optional(readStops),
    'Empty ones are left out. Up to 256 texts, 50,000 characters together.',
  ),
  thread,
  compaction: refused('Ask for a summary in a message.', refuse('ask for a summary in a message instead')),
  ...each(
    ['metadata', 'container', 'diagnostics', 'fallbacks', 'fallback_credit_token', 'inference_geo', 'service_tier'],
    ignored(),
  ),
  genkey: honoured(readGenkey, 'The key by which /api/extra/abort and /api/extra/generate/check find this request.'),
  memory: honoured(orElse(readText, ''), 'Put in front of the prompt, as in the native API.'),
  ...places({
    'sampling controls of the native API': aside(
      'honoured',
      'min_p, rep_pen, seed, grammar and the others, under their own names.',
    ),
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
