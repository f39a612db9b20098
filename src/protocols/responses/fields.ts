import { AppError } from '../../core/errors.ts';
import { asControls, readEffort, readGenkey, readStop } from '../controls/table.ts';
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
  sentAs,
  shownAgain,
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
  model: sentAs(textSchema, aside('approximated', 'Any name: the loaded model answers, and is named.')),
  input: approximated(
    described({ anyOf: [textSchema, objectsSchema] }, anyValue),
    'Text, or messages, function calls and results, custom tool calls and results, reasoning and item references. ' +
      'Items of other types, and references to items that are not stored, are left out and named in x-parley-ignored.',
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
    'While that response is stored; a missing one is refused with previous_response_not_found.',
  ),
  conversation: refused('Use previous_response_id.', refuseConversation),
  store: honoured(
    orElse(readFlag, true),
    'On by default; kept in memory, bounded by number and size, the oldest dropped first, lost when the server ends.',
  ),
  max_output_tokens: honoured(
    optionalInteger,
    'Thinking counts. Cut to the cap of the server and to the room in the context; 0 or less means the default.',
  ),
  // Only their types are checked here.
  ...asControls({ temperature: '', top_p: '', presence_penalty: '', frequency_penalty: '' }, { check: readFinite }),
  top_logprobs: honoured(
    described({ type: 'integer', default: 0 }, (value, path) => clamp(optionalInteger(value, path) ?? 0, 0, 20)),
    'From 0 to 20, with message.output_text.logprobs in include; the engine may report fewer.',
  ),
  tools: approximated(
    orElse(described(objectsSchema, readList), []),
    'Functions, custom tools (their grammar is told to the model, not enforced) and namespaces of both. ' +
      `Built-in tools such as web_search are left out and named in x-parley-ignored. ${loosenedNote}`,
  ),
  tool_choice: approximated(
    described({ type: ['string', 'object'] }, anyValue),
    'Words, a function or custom tool, and allowed_tools; a built-in tool cannot be forced and is refused.',
  ),
  parallel_tool_calls: honoured(orElse(readFlag, true)),
  max_tool_calls: shownAgain(optionalInteger, 'Counts calls of built-in tools only; shown again.'),
  text: group({
    format: honoured(optionalObject, 'Held to by a grammar, whatever strict says.'),
    verbosity: shownAgain(optionalText, 'Shown again.'),
  }),
  reasoning: group({
    effort: approximated(
      optionalText,
      `Told to the chat template, and a share of the reply as limit. "none": ${silenceNote}`,
    ),
    summary: approximated(optionalText, 'The thinking itself is always told as the summary.'),
    ...each(['generate_summary', 'mode', 'context'], ignored()),
  }),
  include: approximated(
    orElse(readIncludes, []),
    'message.output_text.logprobs, and reasoning.encrypted_content (the thinking in base64, not encrypted); ' +
      'other entries have no effect.',
  ),
  truncation: honoured(
    optional(word('disabled', 'auto')),
    '"auto" leaves out the oldest messages, never those of the system; how many is told in x-parley-dropped-messages.',
  ),
  metadata: honoured(optionalObject, 'Shown again.'),
  background: approximated(
    orElse(readFlag, false),
    'Needs store. Together with stream the answer is streamed as usual, and the response says background: false.',
  ),
  prompt_cache_key: shownAgain(optionalText, 'Shown again; prompts are reused by what they begin with.'),
  safety_identifier: shownAgain(optionalText, 'Shown again.'),
  ...each(['user', 'prompt_cache_options', 'prompt_cache_retention'], ignored()),
  service_tier: ignored('Always "default".'),
  prompt: ignored('There are no stored prompts; input is needed.'),
  ...each(['moderation', 'context_management', 'access_programs', 'image', 'client_metadata'], ignored()),
  // Fields of other dialects.
  stop: honoured(optional(readStop), 'Not of this dialect; as in chat completions.'),
  reasoning_effort: approximated(readEffort, 'Where reasoning.effort is not sent.'),
  thinking_budget_tokens: honoured(orElse(looseWhole, -1), 'A limit in tokens; beats the effort.'),
  chat_template_kwargs: honoured(
    optionalObject,
    "Variables for the model's chat template; enable_thinking: false counts without it too.",
  ),
  continue_assistant_turn: honoured(
    orElse(looseFlag, true),
    'On by default: a last message of the assistant is continued.',
  ),
  encapsulate_thinking: honoured(orElse(looseFlag, true), 'On by default: thinking becomes an item of its own.'),
  memory: honoured(orElse(readText, ''), 'Put in front of the prompt.'),
  genkey: honoured(readGenkey),
  ...places({ '(native sampling fields)': aside('honoured', 'All of them; see the native API.') }),
};

export type CreateFields = Fields<typeof createFields>;

/** From the query, in which everything is text. */
export const retrieveFields = {
  stream: approximated(
    described({ type: 'boolean' }, (value) => value === 'true' || value === '1'),
    'The events are made anew, each text in one piece.',
  ),
  starting_after: {
    ...refused('The numbers of the first stream are not kept. Without stream it means nothing.'),
    /** An error, which is only thrown if the response is streamed. */
    read: (value: unknown, feature: string) => {
      const instead = 'a stored answer is told anew, with other numbers than when it was made';
      return value === undefined ? undefined : new AppError('unsupported', { feature, instead });
    },
  },
  'include[]': ignored('A response holds what was asked for when it was made.'),
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
      '(body)': aside(
        'honoured',
        'As POST /v1/responses; what shapes the prompt is counted, but for media (told in x-parley-warnings).',
      ),
    }),
  ),
  retrieveFidelity,
  inputItemsFidelity,
];
