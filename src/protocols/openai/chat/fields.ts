import {
  anyValue,
  described,
  isAbsent,
  objectOf,
  optionalFlag,
  optionalObject,
  optionalText,
  optionalWhole,
  orElse,
  type Read,
  readFlag,
  readList,
  readText,
} from '../../fields/readers.ts';
import { objectSchema, objectsSchema, textSchema, textsSchema } from '../../fields/schemas.ts';
import {
  approximated,
  aside,
  each,
  type Fields,
  fidelityOf,
  honoured,
  ignored,
  kindsAt,
  places,
  refused,
  withSchema,
} from '../../fields/table.ts';
import { loosenedNote, silenceNote } from '../../tools.ts';
import { unsupportedField } from '../errors.ts';
import { afterSampling, dialect, generationFields, promptLogprobs, readReplies } from '../fields.ts';
import { partKinds, readMessages } from './messages.ts';

const readTools = orElse(described(objectsSchema, readList), []);
const readChoice = described({ type: ['string', 'object'] }, anyValue);

/** The fields that make the prompt: also those of an endpoint that counts its tokens. */
const promptFields = {
  messages: honoured(readMessages, 'Every role; a last assistant turn is continued.'),
  ...kindsAt('messages[].content[]', partKinds),
  ...places({
    'messages[].content[]: other kinds': refused('What the model was not shown cannot be answered.'),
    'messages[].content of tools': aside('approximated', 'Media in the JSON of a result are shown to the model.'),
    'messages[].name': ignored('Only used for results of tools.'),
  }),
  tools: approximated(
    readTools,
    `Custom tools become functions with one argument, input; tools that only a provider can run are ignored. ${loosenedNote}`,
  ),
  tool_choice: honoured(readChoice),
  functions: honoured(readTools),
  function_call: honoured(readChoice),
  reasoning_effort: approximated(
    optionalText,
    `A limit and a template variable; unknown is medium. none: ${silenceNote}`,
  ),
  reasoning: approximated(
    objectOf({ effort: optionalText, max_tokens: optionalWhole, enabled: optionalFlag }),
    'effort, max_tokens and enabled are read.',
  ),
  chat_template_kwargs: honoured(
    optionalObject,
    `With --jinja. enable_thinking: false works without it too. ${silenceNote}`,
  ),
  continue_assistant_turn: honoured(orElse(readFlag, true)),
  continue_final_message: honoured(optionalFlag),
  add_generation_prompt: honoured(optionalFlag, 'true does not continue a last assistant turn.'),
  memory: honoured(orElse(readText, ''), 'Put in front of the prompt, as in the native API.'),
};

const refuseAudio: Read<void> = (value, path) => {
  if (readList(value, path).includes('audio')) {
    throw unsupportedField(path, 'replies of this model are text', 'unsupported_value');
  }
};

export const chatFields = {
  ...promptFields,
  ...generationFields,
  max_tokens: honoured(optionalWhole, '0 and less mean the default of the server. Cut to what fits.'),
  n: honoured(readReplies, 'Up to 128, one after the other; each next reply has the next seed.'),
  logprobs: approximated(orElse(readFlag, false), afterSampling),
  top_logprobs: honoured(optionalWhole, 'Up to 20, of those that the samplers leave.'),
  prompt_logprobs: promptLogprobs(' Not with tools.'),
  response_format: honoured(
    optionalObject,
    'Enforced by a grammar, after any reasoning; with tools a reply is calls or such an answer. A schema without a grammar is refused, with the path in it.',
  ),
  json_schema: honoured(described(objectSchema, anyValue), 'A schema for the reply, without response_format.'),
  parallel_tool_calls: honoured(orElse(readFlag, true)),
  reasoning_format: honoured(optionalText),
  encapsulate_thinking: honoured(orElse(readFlag, true)),
  thinking_budget_tokens: honoured(optionalWhole),
  reasoning_budget_tokens: honoured(optionalWhole),
  modalities: withSchema(textsSchema, aside('honoured', 'Text; audio is refused.', refuseAudio)),
  service_tier: approximated(
    described(textSchema, (value) => !isAbsent(value)),
    'Returned as default.',
  ),
  audio: ignored(),
  images: ignored('Pictures are parts of messages.'),
  ...each(['metadata', 'store', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_options'], ignored()),
  ...each(['prompt_cache_retention', 'prediction', 'verbosity', 'web_search_options'], ignored()),
  ...each(['moderation', 'reasoning_control'], ignored()),
};

export type ChatFields = Fields<typeof chatFields>;

export const chatFidelity = fidelityOf(dialect, 'POST /v1/chat/completions', chatFields);
export const inputTokensFidelity = fidelityOf(dialect, 'POST /v1/chat/completions/input_tokens', {
  model: generationFields.model,
  ...promptFields,
});
