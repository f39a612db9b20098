import type { EndpointFidelity, FieldFidelity, Handling } from '../../core/fidelity.ts';
import { loosenedNote, silenceNote } from '../fidelity-notes.ts';

const row =
  (handling: Handling) =>
  (field: string, note?: string): FieldFidelity => ({ field, handling, ...(note === undefined ? {} : { note }) });
const honoured = row('honoured');
const approximated = row('approximated');
const ignored = row('ignored');
const refused = row('refused');

/** What decides about the prompt: the same for an answer and for counting its tokens. */
const prompt: readonly FieldFidelity[] = [
  honoured('model', 'Any name is accepted; the loaded model answers, and the reply names it.'),
  honoured('messages', 'Messages of the same role that follow each other are one turn. An empty list is refused.'),
  approximated(
    'messages[].role: system',
    'At the beginning it is part of the system prompt; later it stands in the turn of the user between <system> tags.',
  ),
  honoured('messages[]: last one of the assistant', 'A prefill: it is continued, and not repeated in the reply.'),
  honoured('messages[].content[]: text'),
  honoured(
    'messages[].content[]: image',
    'Sources base64 and url (on the public internet; 10 MB, 10 seconds, at most 16); file ids are refused, and so is every picture where the loaded model has no projector (--mmproj). Not in the count of tokens, which then says so in x-parley-warnings.',
  ),
  approximated(
    'messages[].content[]: document',
    'Sources text and content are put in as text with title and context; citations are not made. PDF, URL and file sources are refused.',
  ),
  approximated('messages[].content[]: search_result', 'As text with its title and source; citations are not made.'),
  honoured('messages[].content[]: tool_use'),
  approximated(
    'messages[].content[]: tool_result',
    'A text, or blocks of text, pictures, documents and search results. Pictures inside of the JSON of a tool server are shown to the model instead of their base64. is_error puts "Error:" in front.',
  ),
  honoured(
    'messages[].content[]: thinking',
    'Shown to models whose template asks for it; the signature is not checked.',
  ),
  ignored('messages[].content[]: redacted_thinking', 'Encrypted: nobody here can read it.'),
  ignored(
    'messages[].content[]: other kinds',
    'Passed over (server tools, containers, kinds unknown here); x-parley-ignored names the places.',
  ),
  approximated('system', 'A text or text blocks, one under the other; the billing line of coding agents is left out.'),
  approximated(
    'tools',
    `Custom tools, and bash, text_editor and memory with a description of our own. Tools that only the original service runs are left out, and x-parley-ignored names them. strict makes no difference (calls follow the schema wherever the call format of the model allows it); defer_loading, input_examples, allowed_callers and eager_input_streaming have no effect: every tool is offered from the start. ${loosenedNote}`,
  ),
  honoured('tool_choice', 'auto, any, tool and none, with disable_parallel_tool_use.'),
  approximated(
    'thinking',
    `disabled: off, as far as the model can; enabled: on, with budget_tokens as the limit; adaptive and between_tools: as the model does by itself. display has no effect: thinking is always shown. No effect on models that do not think. ${silenceNote}`,
  ),
  approximated(
    'output_config.effort',
    'How much of the reply may be thinking: low 25 %, medium 50 %, high 75 %, xhigh and max all of it.',
  ),
  honoured('output_config.format', 'json_schema: the text is held to the schema.'),
  honoured('output_format', 'The older name of output_config.format.'),
  ignored('cache_control', 'The longest known beginning of a prompt is always taken from the cache, marked or not.'),
  ignored('context_management'),
  ignored('mcp_servers'),
  ignored('speed'),
  ignored('user_profile_id'),
  ignored('workspace_id'),
  ignored('betas'),
];

export const createFidelity: EndpointFidelity = {
  dialect: 'Messages',
  endpoint: 'POST /v1/messages',
  fields: [
    ...prompt,
    honoured(
      'max_tokens',
      'The default of the server when left out; cut to what the server and the context allow. 0 reads the prompt into the cache and answers nothing.',
    ),
    honoured('stream'),
    honoured('temperature', 'Values above 1 are possible. The default is that of the server.'),
    honoured('top_p'),
    honoured('top_k'),
    honoured('stop_sequences', 'Empty ones are left out. Up to 256 texts, 50,000 characters together.'),
    refused('thread', 'The server keeps no conversations.'),
    refused('compaction', 'Ask for a summary in a message.'),
    ignored('metadata'),
    ignored('container'),
    ignored('diagnostics'),
    ignored('fallbacks'),
    ignored('fallback_credit_token'),
    ignored('inference_geo'),
    ignored('service_tier'),
    honoured('genkey', 'The key by which /api/extra/abort and /api/extra/generate/check find this request.'),
    honoured('memory', 'Put in front of the prompt, as in the native API.'),
    honoured(
      'sampling controls of the native API',
      'min_p, rep_pen, seed, grammar and the others, under their own names.',
    ),
  ],
};

export const countFidelity: EndpointFidelity = {
  dialect: 'Messages',
  endpoint: 'POST /v1/messages/count_tokens',
  fields: [
    ...prompt,
    refused('thread', 'The server keeps no conversations.'),
    ignored('compaction'),
    ignored('max_tokens'),
  ],
};

export const messagesFidelity: readonly EndpointFidelity[] = [createFidelity, countFidelity];
