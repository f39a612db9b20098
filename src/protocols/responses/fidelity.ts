import type { EndpointFidelity, FieldFidelity } from '../../core/fidelity.ts';
import { loosenedNote, silenceNote } from '../fidelity-notes.ts';

const dialect = 'OpenAI Responses';

const own: readonly FieldFidelity[] = [
  { field: 'model', handling: 'approximated', note: 'Any name: the loaded model answers, and is named.' },
  {
    field: 'input',
    handling: 'approximated',
    note:
      'Text, or messages, function calls and results, custom tool calls and results, reasoning and item references. ' +
      'Items of other types, and references to items that are not stored, are left out and named in x-parley-ignored.',
  },
  {
    field: 'input[].content[]',
    handling: 'approximated',
    note:
      'Texts and refusals; pictures (input_image) as data URLs, base64 or addresses on the public internet (10 MB, ' +
      '10 seconds, at most 16), sounds (input_audio), and text files or pictures in file_data. detail has no effect. ' +
      'Other files and file ids are refused, and so are pictures and sounds where the loaded model has no projector ' +
      'for them (--mmproj).',
  },
  {
    field: 'input[].output',
    handling: 'honoured',
    note:
      'A text or parts. Pictures and sounds inside of the JSON of a tool server are shown to the model instead of ' +
      'their base64.',
  },
  {
    field: 'instructions',
    handling: 'honoured',
    note: 'The first system message; not passed on by previous_response_id.',
  },
  { field: 'stream', handling: 'honoured' },
  { field: 'stream_options', handling: 'ignored', note: 'No padding is ever added to events.' },
  {
    field: 'previous_response_id',
    handling: 'honoured',
    note: 'While that response is stored; a missing one is refused with previous_response_not_found.',
  },
  { field: 'conversation', handling: 'refused', note: 'Use previous_response_id.' },
  {
    field: 'store',
    handling: 'honoured',
    note: 'On by default; kept in memory, bounded by number and size, the oldest dropped first, lost when the server ends.',
  },
  {
    field: 'max_output_tokens',
    handling: 'honoured',
    note: 'Thinking counts. Cut to the cap of the server and to the room in the context; 0 or less means the default.',
  },
  { field: 'temperature', handling: 'honoured' },
  { field: 'top_p', handling: 'honoured' },
  { field: 'presence_penalty', handling: 'honoured' },
  { field: 'frequency_penalty', handling: 'honoured' },
  {
    field: 'top_logprobs',
    handling: 'honoured',
    note: 'From 0 to 20, with message.output_text.logprobs in include; the engine may report fewer.',
  },
  {
    field: 'tools',
    handling: 'approximated',
    note:
      'Functions, custom tools (their grammar is told to the model, not enforced) and namespaces of both. ' +
      `Built-in tools such as web_search are left out and named in x-parley-ignored. ${loosenedNote}`,
  },
  {
    field: 'tool_choice',
    handling: 'approximated',
    note: 'Words, a function or custom tool, and allowed_tools; a built-in tool cannot be forced and is refused.',
  },
  { field: 'parallel_tool_calls', handling: 'honoured' },
  { field: 'max_tool_calls', handling: 'ignored', note: 'Counts calls of built-in tools only; shown again.' },
  { field: 'text.format', handling: 'honoured', note: 'Held to by a grammar, whatever strict says.' },
  { field: 'text.verbosity', handling: 'ignored', note: 'Shown again.' },
  {
    field: 'reasoning.effort',
    handling: 'approximated',
    note: `Told to the chat template, and a share of the reply as limit. "none": ${silenceNote}`,
  },
  { field: 'reasoning.summary', handling: 'approximated', note: 'The thinking itself is always told as the summary.' },
  { field: 'reasoning.generate_summary', handling: 'ignored' },
  { field: 'reasoning.mode', handling: 'ignored' },
  { field: 'reasoning.context', handling: 'ignored' },
  {
    field: 'include',
    handling: 'approximated',
    note:
      'message.output_text.logprobs, and reasoning.encrypted_content (the thinking in base64, not encrypted); ' +
      'other entries have no effect.',
  },
  {
    field: 'truncation',
    handling: 'honoured',
    note: '"auto" leaves out the oldest messages, never those of the system; how many is told in x-parley-dropped-messages.',
  },
  { field: 'metadata', handling: 'honoured', note: 'Shown again.' },
  {
    field: 'background',
    handling: 'approximated',
    note: 'Needs store. Together with stream the answer is streamed as usual, and the response says background: false.',
  },
  { field: 'prompt_cache_key', handling: 'ignored', note: 'Shown again; prompts are reused by what they begin with.' },
  { field: 'safety_identifier', handling: 'ignored', note: 'Shown again.' },
  { field: 'user', handling: 'ignored' },
  { field: 'prompt_cache_options', handling: 'ignored' },
  { field: 'prompt_cache_retention', handling: 'ignored' },
  { field: 'service_tier', handling: 'ignored', note: 'Always "default".' },
  { field: 'prompt', handling: 'ignored', note: 'There are no stored prompts; input is needed.' },
  { field: 'moderation', handling: 'ignored' },
  { field: 'context_management', handling: 'ignored' },
  { field: 'access_programs', handling: 'ignored' },
  { field: 'image', handling: 'ignored' },
  { field: 'client_metadata', handling: 'ignored' },
];

/** Fields of other families that count here too. */
const borrowed: readonly FieldFidelity[] = [
  { field: 'stop', handling: 'honoured', note: 'Not of this dialect; as in chat completions.' },
  { field: 'reasoning_effort', handling: 'approximated', note: 'Where reasoning.effort is not sent.' },
  { field: 'thinking_budget_tokens', handling: 'honoured', note: 'A limit in tokens; beats the effort.' },
  {
    field: 'chat_template_kwargs',
    handling: 'honoured',
    note: "Variables for the model's chat template; enable_thinking: false counts without it too.",
  },
  {
    field: 'continue_assistant_turn',
    handling: 'honoured',
    note: 'On by default: a last message of the assistant is continued.',
  },
  { field: 'encapsulate_thinking', handling: 'honoured', note: 'On by default: thinking becomes an item of its own.' },
  { field: 'memory', handling: 'honoured', note: 'Put in front of the prompt.' },
  { field: 'genkey', handling: 'honoured' },
  { field: '(native sampling fields)', handling: 'honoured', note: 'All of them; see the native API.' },
];

export const createFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /v1/responses',
  fields: [...own, ...borrowed],
};

const countFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /v1/responses/input_tokens',
  fields: [
    {
      field: '(body)',
      handling: 'honoured',
      note: 'As POST /v1/responses; what shapes the prompt is counted, but for media (told in x-parley-warnings).',
    },
  ],
};

export const retrieveFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'GET /v1/responses/{id}',
  fields: [
    { field: 'stream', handling: 'approximated', note: 'The events are made anew, each text in one piece.' },
    {
      field: 'starting_after',
      handling: 'refused',
      note: 'The numbers of the first stream are not kept. Without stream it means nothing.',
    },
    { field: 'include[]', handling: 'ignored', note: 'A response holds what was asked for when it was made.' },
    { field: 'include_obfuscation', handling: 'ignored' },
  ],
};

export const inputItemsFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'GET /v1/responses/{id}/input_items',
  fields: [
    { field: 'limit', handling: 'honoured', note: '1 to 100, 20 by default.' },
    { field: 'order', handling: 'honoured', note: '"desc" by default.' },
    { field: 'after', handling: 'honoured' },
    { field: 'include[]', handling: 'ignored' },
  ],
};

export const responsesFidelity: readonly EndpointFidelity[] = [
  createFidelity,
  countFidelity,
  retrieveFidelity,
  inputItemsFidelity,
];
