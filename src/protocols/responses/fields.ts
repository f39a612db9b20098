import { AppError } from '../../core/errors.ts';
import { asControls, loadedModel, readEffort, readGenkey, readStop } from '../controls/table.ts';
import { collectionsField } from '../documents/collections.ts';
import * as f from '../fields.ts';
import { citationNote, searchNote } from '../hosted-tools.ts';
import { loosenedNote, silenceNote } from '../tools.ts';
import { ttlField } from '../ttl.ts';
import { readContextManagement } from './compaction.ts';

const optionalInteger = f.optional(f.reader<number>('an integer', Number.isInteger, { type: 'integer' }));
const readFinite = f.reader<number>('a number', Number.isFinite, { type: 'number' });
const readIncludes: f.Read<readonly string[]> = f.described(f.textsSchema, (value, path) => {
  const list = f.readList(value, path);
  if (list.every((entry) => typeof entry === 'string')) return list;
  throw f.wrong(path, 'an array of strings');
});

export const createFields = {
  model: loadedModel,
  input: f.approximated(
    f.described({ anyOf: [f.textSchema, f.objectsSchema] }, f.anyValue),
    'Text, or messages, function calls and results, custom tool calls and results, web and file searches, calls of MCP servers and their approval, reasoning and item references. ' +
      'Other items, and references to items that are not stored, are ignored (x-parley-ignored).',
  ),
  ...f.positions({
    'input[].content[]': f.aside(
      'approximated',
      'Texts and refusals; pictures (input_image) as data URLs, base64 or addresses on the public internet (10 MB, ' +
        '10 seconds, at most 16), sounds (input_audio), and files (input_file) by file_id, file_url or file_data: pictures, ' +
        'sounds, and the text of documents (text, PDF, docx, odt, epub, rtf, HTML, e-mail; at most 32). detail has no effect. ' +
        'Pictures and sounds are refused where the loaded model has no projector for them (--mmproj).',
    ),
    'input[]: compaction': f.aside(
      'honoured',
      'A summary of this server: encrypted_content is base64, not encrypted. That of other servers, or a damaged one, is refused.',
    ),
    'input[]: compaction_trigger': f.aside('honoured', 'As the last item: the reply is a compaction item.'),
    'input[].output': f.aside(
      'honoured',
      'A text or parts. Pictures and sounds inside of the JSON of a tool server are shown to the model instead of ' +
        'their base64.',
    ),
  }),
  instructions: f.honoured(f.optionalText, 'The first system message; not passed on by previous_response_id.'),
  stream: f.honoured(f.orElse(f.readFlag, false)),
  stream_options: f.ignored('No padding is ever added to events.'),
  previous_response_id: f.honoured(
    f.described(f.textSchema, f.anyValue),
    'Refused (previous_response_not_found) if not stored.',
  ),
  conversation: f.refused('Use previous_response_id.', f.unsupported('go on from an answer by previous_response_id')),
  store: f.honoured(f.orElse(f.readFlag, true), 'In memory: the oldest are dropped, and a restart loses all.'),
  max_output_tokens: f.honoured(optionalInteger, 'Includes reasoning. Cut to what fits; 0 or less is the default.'),
  // Only their types are checked here.
  ...asControls({ temperature: '', top_p: '', presence_penalty: '', frequency_penalty: '' }, { check: readFinite }),
  top_logprobs: f.honoured(
    f.described({ type: 'integer', default: 0 }, (value, path) => f.clamp(optionalInteger(value, path) ?? 0, 0, 20)),
    'From 0 to 20, with message.output_text.logprobs in include; the engine may report fewer.',
  ),
  tools: f.approximated(
    f.orElse(f.described(f.objectsSchema, f.readList), []),
    'Functions, custom tools (their grammar is in the prompt, and not enforced) and namespaces of both. ' +
      `Built-in tools other than web_search, file_search and mcp are ignored (x-parley-ignored). ${loosenedNote}`,
  ),
  ...f.positions({
    'tools[]: web_search': f.aside(
      'approximated',
      `Also web_search_preview. ${searchNote} filters, search_context_size (low: 300 characters of each page) and user_location are read. With external_web_access: false, and beside functions on a server without --websearch, it is ignored (x-parley-ignored). ${citationNote} Indices count Unicode characters.`,
    ),
    'tools[]: file_search': f.aside(
      'honoured',
      'Searches vector stores of this server, named by id or name, as often as the model needs to; an unknown one is refused. filters, max_num_results (20; as many as fit into the context) and ranking_options (score_threshold, hybrid_search, ranker "none" without reranker) are read. The model cites passages by their number, like [1]: the mark stays in the text, the annotation file_citation is at its end (UTF-16 units), and numbers of no passage are dropped.',
    ),
    'tools[]: mcp': f.aside(
      'approximated',
      'Servers of --mcpfile (server_url is that of the file, or mcpfile:NAME) and of --mcpallow; others are refused. require_approval is honoured: a call of a tool that needs approval (the default, and any tool that neither always nor never names) ends the response with an mcp_approval_request; an mcp_approval_response, with previous_response_id or with the items before it, lets the call run or tells the model that it was denied. The tools are needed in each request. allowed_tools chooses the tools, by name or by read_only. headers and authorization are sent to servers of --mcpallow; those of the file get what the file says (x-parley-ignored).',
    ),
  }),
  tool_choice: f.approximated(
    f.described({ type: ['string', 'object'] }, f.anyValue),
    'Words, a function, custom tool, web_search or file_search, and allowed_tools; another built-in tool cannot be forced and is refused.',
  ),
  parallel_tool_calls: f.honoured(f.orElse(f.readFlag, true)),
  max_tool_calls: f.honoured(optionalInteger, 'The most web searches and the most file searches of a reply; returned.'),
  text: f.group({
    format: f.honoured(f.optionalObject, 'Enforced by a grammar, with strict or without.'),
    verbosity: f.returnedField(f.optionalText, 'Returned.'),
  }),
  reasoning: f.group({
    effort: f.approximated(f.optionalText, `A limit and a template variable. "none": ${silenceNote}`),
    summary: f.approximated(f.optionalText, 'The summary is always the reasoning itself.'),
    ...f.each(['generate_summary', 'mode', 'context'], f.ignored()),
  }),
  include: f.approximated(
    f.orElse(readIncludes, []),
    'message.output_text.logprobs, web_search_call.action.sources, file_search_call.results and reasoning.encrypted_content (base64, not encrypted); others are ignored.',
  ),
  truncation: f.honoured(
    f.optional(f.word('disabled', 'auto')),
    '"auto" drops the oldest messages, except system messages; x-parley-dropped-messages has their number.',
  ),
  metadata: f.honoured(f.optionalObject, 'Returned.'),
  background: f.approximated(f.orElse(f.readFlag, false), 'Needs store. Without effect in streams, which show false.'),
  prompt_cache_key: f.returnedField(f.optionalText, 'Returned; the longest cached prefix is always used.'),
  safety_identifier: f.returnedField(f.optionalText, 'Returned.'),
  ...f.each(['user', 'prompt_cache_options', 'prompt_cache_retention'], f.ignored()),
  service_tier: f.ignored('Always "default".'),
  prompt: f.ignored('There are no stored prompts; input is needed.'),
  context_management: f.honoured(
    f.optional(readContextManagement),
    'compaction: above compact_threshold tokens, or if the prompt does not fit, the conversation is summarised first. The output begins with the item; it replaces everything before it but system messages.',
  ),
  ...f.each(['moderation', 'access_programs', 'image', 'client_metadata'], f.ignored()),
  // Fields of other dialects.
  stop: f.honoured(f.optional(readStop), 'As in chat completions.'),
  reasoning_effort: f.approximated(readEffort, 'If reasoning.effort is absent.'),
  thinking_budget_tokens: f.honoured(f.orElse(f.looseWhole, -1), 'A limit in tokens; wins over the effort.'),
  chat_template_kwargs: f.honoured(
    f.optionalObject,
    'Template variables. enable_thinking: false works without a template too.',
  ),
  continue_assistant_turn: f.honoured(f.orElse(f.looseFlag, true), 'Continues a last assistant message.'),
  encapsulate_thinking: f.honoured(f.orElse(f.looseFlag, true), 'Reasoning is an own item.'),
  memory: f.honoured(f.orElse(f.readText, ''), 'Put in front of the prompt.'),
  collections: f.honoured(collectionsField.read, `${collectionsField.note} Citations are as those of file_search.`),
  genkey: f.honoured(readGenkey),
  ttl: ttlField,
  ...f.positions({ '(native sampling fields)': f.aside('honoured', 'All of them; see the native API.') }),
};

export type CreateFields = f.Fields<typeof createFields>;

const { model, input, instructions, previous_response_id: previous } = createFields;

export const compactFields = {
  model,
  input,
  instructions,
  previous_response_id: previous,
  ...f.each(['prompt_cache_key', 'prompt_cache_options', 'service_tier', 'image'], f.ignored()),
};

/** From the query, in which everything is text. */
export const retrieveFields = {
  stream: f.approximated(
    f.described({ type: 'boolean' }, (value) => value === 'true' || value === '1'),
    'Each text is one delta.',
  ),
  starting_after: {
    ...f.refused('The numbers of the first stream are not stored. Ignored without stream.'),
    /** An error, which is only thrown if the response is streamed. */
    read: (value: unknown, feature: string) => {
      const instead = 'a replay has other sequence numbers than the first stream';
      return value === undefined ? undefined : new AppError('unsupported', { feature, instead });
    },
  },
  'include[]': f.ignored('Set when the response is created.'),
  include_obfuscation: f.ignored(),
};

export const inputItemsFields = {
  limit: f.honoured(
    f.described({ type: 'integer', default: 20 }, (value, path) =>
      f.clamp(f.orElse(f.looseWhole, 20)(value, path), 1, 100),
    ),
    '1 to 100, 20 by default.',
  ),
  order: f.honoured(f.orElse(f.word('asc', 'desc'), 'desc'), '"desc" by default.'),
  after: f.honoured(f.optionalText),
  'include[]': f.ignored(),
};

export const countFields = f.positions({
  '(body)': f.aside('honoured', 'As POST /v1/responses. Media are not counted (x-parley-warnings).'),
});
