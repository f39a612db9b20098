import { collectionsField } from '../../documents/collections.ts';
import * as f from '../../fields.ts';
import { citationNote, searchNote } from '../../hosted-tools.ts';
import { loosenedNote, silenceNote } from '../../tools.ts';
import { unsupportedField } from '../errors.ts';
import { afterSampling, generationFields, promptLogprobs, readReplies } from '../fields.ts';
import { partKinds, readMessages } from './messages.ts';

const readTools = f.orElse(f.described(f.objectsSchema, f.readList), []);
const readChoice = f.described({ type: ['string', 'object'] }, f.anyValue);

/** The fields that make the prompt: also those of an endpoint that counts its tokens. */
const promptFields = {
  web_search_options: f.approximated(
    f.optionalObject,
    `${searchNote} search_context_size (low: 300 characters of each page) and user_location are read. ${citationNote} They are in annotations; indices count Unicode characters.`,
  ),
  messages: f.honoured(readMessages, 'Every role; a last assistant turn is continued.'),
  ...f.kindsAt('messages[].content[]', partKinds),
  ...f.positions({
    'messages[].content[]: other kinds': f.refused('What the model was not shown cannot be answered.'),
    'messages[].content of tools': f.aside('approximated', 'Media in the JSON of a result are shown to the model.'),
    'messages[].name': f.ignored('Only used for results of tools.'),
  }),
  tools: f.approximated(
    readTools,
    `Custom tools become functions with one argument, input; tools that only a provider can run are ignored. ${loosenedNote}`,
  ),
  tool_choice: f.honoured(readChoice),
  functions: f.honoured(readTools),
  function_call: f.honoured(readChoice),
  reasoning_effort: f.approximated(
    f.optionalText,
    `A limit and a template variable; unknown is medium. none: ${silenceNote}`,
  ),
  reasoning: f.approximated(
    f.objectOf({ effort: f.optionalText, max_tokens: f.optionalWhole, enabled: f.optionalFlag }),
    'effort, max_tokens and enabled are read.',
  ),
  chat_template_kwargs: f.honoured(
    f.optionalObject,
    `With --jinja, or with tools whose format of calls is known. enable_thinking: false works without it too. ${silenceNote}`,
  ),
  continue_assistant_turn: f.honoured(f.orElse(f.readFlag, true)),
  continue_final_message: f.honoured(f.optionalFlag),
  add_generation_prompt: f.honoured(f.optionalFlag, 'true does not continue a last assistant turn.'),
  memory: f.honoured(f.orElse(f.readText, ''), 'Put in front of the prompt, as in the native API.'),
  collections: f.honoured(
    collectionsField.read,
    `${collectionsField.note} Citations are annotations: the mark stays in the text, and url is the page of the passage.`,
  ),
};

const readPresence = f.described(f.textSchema, (value) => !f.isAbsent(value));

const refuseAudio: f.Read<void> = (value, path) => {
  if (f.readList(value, path).includes('audio')) {
    throw unsupportedField(path, 'replies of this model are text', 'unsupported_value');
  }
};

export const chatFields = {
  ...promptFields,
  ...generationFields,
  max_tokens: f.honoured(f.optionalWhole, '0 and less mean the default of the server. Cut to what fits.'),
  n: f.honoured(readReplies, 'Up to 128, one after the other; each next reply has the next seed.'),
  logprobs: f.approximated(f.orElse(f.readFlag, false), afterSampling),
  top_logprobs: f.honoured(f.optionalWhole, 'Up to 20, of those that the samplers leave.'),
  prompt_logprobs: promptLogprobs(' Not with tools.'),
  response_format: f.honoured(
    f.optionalObject,
    'Enforced by a grammar, after any reasoning; with tools a reply is calls or such an answer. A schema without a grammar is refused, with the path in it.',
  ),
  json_schema: f.honoured(f.described(f.objectSchema, f.anyValue), 'A schema for the reply, without response_format.'),
  parallel_tool_calls: f.honoured(f.orElse(f.readFlag, true)),
  reasoning_format: f.honoured(f.optionalText),
  encapsulate_thinking: f.honoured(f.orElse(f.readFlag, true)),
  thinking_budget_tokens: f.honoured(f.optionalWhole),
  reasoning_budget_tokens: f.honoured(f.optionalWhole),
  modalities: f.withSchema(f.textsSchema, f.aside('honoured', 'Text; audio is refused.', refuseAudio)),
  service_tier: f.approximated(readPresence, 'Returned as default.'),
  audio: f.ignored(),
  images: f.ignored('Pictures are parts of messages.'),
  ...f.each(['metadata', 'store', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_options'], f.ignored()),
  ...f.each(['prompt_cache_retention', 'prediction', 'verbosity'], f.ignored()),
  ...f.each(['moderation', 'reasoning_control'], f.ignored()),
};

export type ChatFields = f.Fields<typeof chatFields>;

export const inputTokensFields = { model: generationFields.model, ...promptFields };
