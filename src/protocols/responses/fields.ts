import { AppError } from '../../core/errors.ts';
import { asControls, loadedModel, readEffort, readGenkey, readStop } from '../controls/table.ts';
import { looseFlag, looseWhole } from '../fields/loose.ts';
import {
  anyValue,
  clamp,
  described,
  optional,
  optionalObject,
  optionalText,
  orElse,
  type Read,
  reader,
  readFlag,
  readList,
  readText,
  word,
  wrong,
} from '../fields/readers.ts';
import { objectsSchema, textSchema, textsSchema } from '../fields/schemas.ts';
import {
  approximated,
  aside,
  each,
  type Fields,
  fidelityOf,
  group,
  honoured,
  ignored,
  places,
  refused,
  returnedField,
} from '../fields/table.ts';
import { loosenedNote, silenceNote } from '../tools.ts';

const dialect = 'OpenAI Responses';

const optionalInteger = optional(reader<number>('an integer', Number.isInteger, { type: 'integer' }));
const readFinite = reader<number>('a number', Number.isFinite, { type: 'number' });
const readIncludes: Read<readonly string[]> = described(textsSchema, (value, path) => {
  const list = readList(value, path);
  if (list.every((entry) => typeof entry === 'string')) return list;
  throw wrong(path, 'an array of strings');
});

const refuseConversation: Read<never> = (_, feature) => {
  throw new AppError('unsupported', { feature, instead: 'go on from an answer by previous_response_id' });
};

export const createFields = {
  model: loadedModel,
  input: approximated(
    described({ anyOf: [textSchema, objectsSchema] }, anyValue),
    'Text, or messages, function calls and results, custom tool calls and results, reasoning and item references. ' +
      'Other items, and references to items that are not stored, are ignored (x-parley-ignored).',
  ),
  ...places({
    'input[].content[]': aside(
      'approximated',
      'Texts and refusals; pictures (input_image) as data URLs, base64 or addresses on the public internet (10 MB, ' +
        '10 seconds, at most 16), sounds (input_audio), and text files or pictures in file_data. detail has no effect. ' +
        'Other files and file ids are refused, and so are pictures and sounds where the loaded model has no projector ' +
        'for them (--mmproj).',
    ),
    'input[].output': aside(
      'honoured',
      'A text or parts. Pictures and sounds inside of the JSON of a tool server are shown to the model instead of ' +
        'their base64.',
    ),
  }),
  instructions: honoured(optionalText, 'The first system message; not passed on by previous_response_id.'),
  stream: honoured(orElse(readFlag, false)),
  stream_options: ignored('No padding is ever added to events.'),
  previous_response_id: honoured(
    described(textSchema, anyValue),
    'Refused (previous_response_not_found) if not stored.',
  ),
  conversation: refused('Use previous_response_id.', refuseConversation),
  store: honoured(orElse(readFlag, true), 'In memory: the oldest are dropped, and a restart loses all.'),
  max_output_tokens: honoured(optionalInteger, 'Includes reasoning. Cut to what fits; 0 or less is the default.'),
  // Only their types are checked here.
  ...asControls({ temperature: '', top_p: '', presence_penalty: '', frequency_penalty: '' }, { check: readFinite }),
  top_logprobs: honoured(
    described({ type: 'integer', default: 0 }, (value, path) => clamp(optionalInteger(value, path) ?? 0, 0, 20)),
    'From 0 to 20, with message.output_text.logprobs in include; the engine may report fewer.',
  ),
  tools: approximated(
    orElse(described(objectsSchema, readList), []),
    'Functions, custom tools (their grammar is in the prompt, and not enforced) and namespaces of both. ' +
      `Built-in tools such as web_search are ignored (x-parley-ignored). ${loosenedNote}`,
  ),
  tool_choice: approximated(
    described({ type: ['string', 'object'] }, anyValue),
    'Words, a function or custom tool, and allowed_tools; a built-in tool cannot be forced and is refused.',
  ),
  parallel_tool_calls: honoured(orElse(readFlag, true)),
  max_tool_calls: returnedField(optionalInteger, 'Only for built-in tools; returned.'),
  text: group({
    format: honoured(optionalObject, 'Enforced by a grammar, with strict or without.'),
    verbosity: returnedField(optionalText, 'Returned.'),
  }),
  reasoning: group({
    effort: approximated(optionalText, `A limit and a template variable. "none": ${silenceNote}`),
    summary: approximated(optionalText, 'The summary is always the reasoning itself.'),
    ...each(['generate_summary', 'mode', 'context'], ignored()),
  }),
  include: approximated(
    orElse(readIncludes, []),
    'message.output_text.logprobs and reasoning.encrypted_content (base64, not encrypted); others are ignored.',
  ),
  truncation: honoured(
    optional(word('disabled', 'auto')),
    '"auto" drops the oldest messages, except system messages; x-parley-dropped-messages has their number.',
  ),
  metadata: honoured(optionalObject, 'Returned.'),
  background: approximated(orElse(readFlag, false), 'Needs store. Without effect in streams, which show false.'),
  prompt_cache_key: returnedField(optionalText, 'Returned; the longest cached prefix is always used.'),
  safety_identifier: returnedField(optionalText, 'Returned.'),
  ...each(['user', 'prompt_cache_options', 'prompt_cache_retention'], ignored()),
  service_tier: ignored('Always "default".'),
  prompt: ignored('There are no stored prompts; input is needed.'),
  ...each(['moderation', 'context_management', 'access_programs', 'image', 'client_metadata'], ignored()),
  // Fields of other dialects.
  stop: honoured(optional(readStop), 'As in chat completions.'),
  reasoning_effort: approximated(readEffort, 'If reasoning.effort is absent.'),
  thinking_budget_tokens: honoured(orElse(looseWhole, -1), 'A limit in tokens; wins over the effort.'),
  chat_template_kwargs: honoured(
    optionalObject,
    'Template variables. enable_thinking: false works without a template too.',
  ),
  continue_assistant_turn: honoured(orElse(looseFlag, true), 'Continues a last assistant message.'),
  encapsulate_thinking: honoured(orElse(looseFlag, true), 'Reasoning is an own item.'),
  memory: honoured(orElse(readText, ''), 'Put in front of the prompt.'),
  genkey: honoured(readGenkey),
  ...places({ '(native sampling fields)': aside('honoured', 'All of them; see the native API.') }),
};

export type CreateFields = Fields<typeof createFields>;

/** From the query, in which everything is text. */
export const retrieveFields = {
  stream: approximated(
    described({ type: 'boolean' }, (value) => value === 'true' || value === '1'),
    'Each text is one delta.',
  ),
  starting_after: {
    ...refused('The numbers of the first stream are not stored. Ignored without stream.'),
    /** An error, which is only thrown if the response is streamed. */
    read: (value: unknown, feature: string) => {
      const instead = 'a replay has other sequence numbers than the first stream';
      return value === undefined ? undefined : new AppError('unsupported', { feature, instead });
    },
  },
  'include[]': ignored('Set when the response is created.'),
  include_obfuscation: ignored(),
};

export const inputItemsFields = {
  limit: honoured(
    described({ type: 'integer', default: 20 }, (value, path) => clamp(orElse(looseWhole, 20)(value, path), 1, 100)),
    '1 to 100, 20 by default.',
  ),
  order: honoured(orElse(word('asc', 'desc'), 'desc'), '"desc" by default.'),
  after: honoured(optionalText),
  'include[]': ignored(),
};

export const createFidelity = fidelityOf(dialect, 'POST /v1/responses', createFields);
export const retrieveFidelity = fidelityOf(dialect, 'GET /v1/responses/{id}', retrieveFields);
export const inputItemsFidelity = fidelityOf(dialect, 'GET /v1/responses/{id}/input_items', inputItemsFields);

export const responsesFidelity = [
  createFidelity,
  fidelityOf(
    dialect,
    'POST /v1/responses/input_tokens',
    places({
      '(body)': aside('honoured', 'As POST /v1/responses. Media are not counted (x-parley-warnings).'),
    }),
  ),
  retrieveFidelity,
  inputItemsFidelity,
];
