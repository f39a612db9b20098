import type { EndpointFidelity, FieldFidelity, Handling } from '../../core/fidelity.ts';
import { loosenedNote, silenceNote } from '../fidelity-notes.ts';

const dialect = 'OpenAI';

const as =
  (handling: Handling) =>
  (field: string, note?: string): FieldFidelity =>
    note === undefined ? { field, handling } : { field, handling, note };
const honoured = as('honoured');
const approximated = as('approximated');
const ignored = as('ignored');
const refused = as('refused');

const afterSampling = 'The figures are those after the samplers: a token without rivals has 0.';

const promptFigures =
  'Of every token that the model read, by the model alone; up to 20 alternatives. Not in streams, and not with pictures or sound.';

const generation: readonly FieldFidelity[] = [
  approximated('model', 'Any name is accepted; the loaded model answers, and the reply carries its name.'),
  honoured('stream'),
  honoured('stream_options', 'include_usage; include_obfuscation has no effect.'),
  honoured('stop', 'Up to 256 texts, 50,000 characters together.'),
  honoured('temperature', 'Negative values count as 0.'),
  honoured('top_p', 'Moved into 0 to 1.'),
  honoured('presence_penalty', 'Moved into -2 to 2.'),
  honoured('frequency_penalty', 'Moved into -2 to 2.'),
  honoured('seed', '-1 draws a fresh one.'),
  honoured('logit_bias', 'Up to 512 entries; also as a list of pairs, with texts for tokens and false for a ban.'),
  honoured('timings_per_token', 'Every chunk of a stream carries timings.'),
  honoured('n_predict', 'Another name for max_tokens.'),
  honoured('grammar', 'And every other control of the native API.'),
  honoured('genkey'),
  ignored('user'),
  ignored('return_progress'),
  ignored('samplers', 'The order of samplers is set with sampler_order.'),
  honoured('cache_prompt', 'With false the whole prompt is computed again.'),
  ignored('id_slot'),
  ignored('verbose'),
];

const projector = 'Refused where the loaded model has no projector for it (--mmproj).';

/** What a message may be made of. */
const contents: readonly FieldFidelity[] = [
  honoured('messages[].content[]: text'),
  approximated(
    'messages[].content[]: image_url',
    `A data URL, bare base64, or an address on the public internet (10 MB, 10 seconds, at most 16); detail has no effect. ${projector}`,
  ),
  honoured('messages[].content[]: image', `Base64 in data. ${projector}`),
  honoured('messages[].content[]: input_audio', `Base64 or a data URL. ${projector}`),
  approximated(
    'messages[].content[]: file',
    'Text files and pictures as data URLs in file_data; all others are refused.',
  ),
  refused('messages[].content[]: other kinds', 'What the model was not shown cannot be answered.'),
  approximated(
    'messages[].content of tools',
    'Pictures and sounds inside of the JSON of a tool server are shown to the model instead of their base64.',
  ),
];

export const chatFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /v1/chat/completions',
  fields: [
    honoured('messages', 'Every role; a last assistant turn is continued.'),
    ...contents,
    ignored('messages[].name', 'Honoured for results of tools; other speakers have no name in the prompt.'),
    ...generation,
    honoured('max_tokens', '0 and less mean the default of the server; too much is cut to what there is room for.'),
    honoured('n', 'Up to 128, generated one after the other. With a seed each has its own, counted up from it.'),
    honoured('max_completion_tokens', 'Wins over max_tokens.'),
    approximated('logprobs', afterSampling),
    honoured('top_logprobs', 'Up to 20; fewer where the samplers leave fewer.'),
    honoured('prompt_logprobs', `${promptFigures} Not beside tools.`),
    honoured(
      'response_format',
      'Held to by a grammar, after any thinking; beside tools a reply is calls or such an answer. A schema that no grammar can follow is refused, with the place in it.',
    ),
    honoured('json_schema', 'A schema for the reply, where response_format is not sent.'),
    approximated(
      'tools',
      `Custom tools are offered as functions with one argument, input; tools that only a provider can run are left out. ${loosenedNote}`,
    ),
    honoured('tool_choice'),
    honoured('parallel_tool_calls'),
    honoured('functions'),
    honoured('function_call'),
    approximated(
      'reasoning_effort',
      `A budget for thinking and a variable of the template; unknown tiers are medium. none: ${silenceNote}`,
    ),
    approximated('reasoning', 'effort, max_tokens and enabled are read.'),
    honoured(
      'chat_template_kwargs',
      `Where the template of the model is used (--jinja). enable_thinking: false counts without it too. ${silenceNote}`,
    ),
    honoured('reasoning_format'),
    honoured('encapsulate_thinking'),
    honoured('thinking_budget_tokens'),
    honoured('reasoning_budget_tokens'),
    honoured('continue_assistant_turn'),
    honoured('continue_final_message'),
    honoured('add_generation_prompt', 'true answers a last assistant turn instead of continuing it.'),
    honoured('modalities', 'Text; audio is refused.'),
    approximated('service_tier', 'Told back as default.'),
    ignored('audio'),
    ignored('images', 'Pictures stand in the messages here.'),
    ignored('metadata'),
    ignored('store'),
    ignored('safety_identifier'),
    ignored('prompt_cache_key'),
    ignored('prompt_cache_options'),
    ignored('prompt_cache_retention'),
    ignored('prediction'),
    ignored('verbosity'),
    ignored('web_search_options'),
    ignored('moderation'),
    ignored('reasoning_control'),
  ],
};

export const completionFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /v1/completions',
  fields: [
    honoured(
      'prompt',
      'Up to 128 texts or lists of token numbers. Numbers are taken as they are: nothing is put before.',
    ),
    honoured('images', `Of the native API: base64, for every prompt. ${projector}`),
    honoured('audio', `As images. ${projector}`),
    ...generation,
    honoured(
      'max_tokens',
      '0 writes nothing, less means the default of the server; too much is cut to what there is room for.',
    ),
    honoured('max_completion_tokens', 'Wins over max_tokens.'),
    honoured(
      'n',
      'Up to 128, beside each other where there is room. With a seed each has its own, counted up from it.',
    ),
    honoured('best_of', 'Up to 128. Not in streams.'),
    honoured(
      'echo',
      'With logprobs the prompt has figures too: those of the model alone, and null for its first token.',
    ),
    honoured('prompt_logprobs', promptFigures),
    honoured(
      'suffix',
      'With models that have marks for a gap; others refuse it. Not with token numbers, nor with echo and logprobs.',
    ),
    approximated('logprobs', `Up to 20; true means 5. ${afterSampling}`),
    honoured('reasoning_effort', 'As a budget for thinking, which stays in the text.'),
    honoured('thinking_budget_tokens'),
    ignored('response_format', 'Use grammar.'),
    ignored('service_tier'),
    ignored('metadata'),
    ignored('store'),
  ],
};

export const inputTokensFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /v1/chat/completions/input_tokens',
  fields: chatFidelity.fields.filter(({ field }) =>
    [
      'model',
      'messages',
      'messages[].name',
      ...contents.map(({ field: part }) => part),
      'tools',
      'tool_choice',
      'functions',
      'function_call',
      'reasoning_effort',
      'reasoning',
      'chat_template_kwargs',
      'continue_assistant_turn',
      'continue_final_message',
      'add_generation_prompt',
    ].includes(field),
  ),
};

export const openaiFidelity: readonly EndpointFidelity[] = [chatFidelity, completionFidelity, inputTokensFidelity];
