import { asControls, readGenkey } from '../controls/table.ts';
import { collectionsField } from '../documents/collections.ts';
import * as f from '../fields.ts';
import { citationNote, searchNote } from '../hosted-tools.ts';
import { loosenedNote, silenceNote } from '../tools.ts';
import { readContextManagement } from './context-management.ts';
import { blockKinds } from './conversation.ts';

const maxStops = 256;
const readTexts = f.listOf(f.readText);

const readStops: f.Read<readonly string[]> = f.described(f.textsSchema, (value, path) => {
  const texts = readTexts(value, path).filter((text) => text !== '');
  if (texts.length > maxStops) throw f.wrong(path, `at most ${maxStops} texts`);
  return f.limitedTexts(path, texts);
});

const thread = f.refused(
  'Conversations are not stored.',
  f.unsupported('this server keeps no conversations; send all messages'),
);

/** The fields that make the prompt: also those of the endpoint that counts its tokens. */
const promptFields = {
  model: f.aside('honoured', 'Any name: the loaded model answers, and the reply has its name.', f.readText),
  messages: f.honoured(
    f.described(f.messagesSchema, f.readList),
    'Not empty. Consecutive messages of one role are one turn.',
  ),
  ...f.positions({
    'messages[].role: system': f.aside(
      'approximated',
      'First: system prompt. Later: in the user turn, in <system> tags.',
    ),
    'messages[]: last one of the assistant': f.aside(
      'honoured',
      'A prefill: continued, and not repeated in the reply.',
    ),
  }),
  ...f.kindsAt('messages[].content[]', blockKinds),
  ...f.positions({
    'messages[].content[]: tool_use': f.aside('honoured'),
    'messages[].content[]: tool_result': f.aside(
      'approximated',
      'A text, or blocks of text, pictures, documents and search results. Pictures in the JSON of a text are shown to the model. is_error puts "Error:" in front.',
    ),
    'messages[].content[]: thinking': f.aside('honoured', 'For templates that use it; the signature is not checked.'),
    'messages[].content[]: redacted_thinking': f.ignored('Encrypted by another server.'),
    'messages[].content[]: server_tool_use and results': f.aside(
      'honoured',
      'Also mcp_tool_use. Calls and results of this server become part of the prompt again. Of the search results of other servers only titles and addresses can be read.',
    ),
    'messages[].content[]: other kinds': f.ignored('x-parley-ignored has their paths (code execution, containers, …).'),
  }),
  system: f.approximated(
    f.described({ anyOf: [f.textSchema, f.objectsSchema] }, f.anyValue),
    'A text or text blocks. The billing line of Claude Code is left out, except with --exactprompts.',
  ),
  tools: f.approximated(
    f.orElse(f.described(f.objectsSchema, f.readList), []),
    `Custom tools, and bash, text_editor and memory with a description of the server. With --memory (also of a preset) the server runs memory itself, on what is remembered for the sender. web_search and web_fetch of any date are run by the server, see below. Other tools that only the original service runs are ignored (x-parley-ignored). strict makes no difference (calls follow the schema if the call format of the model allows it); defer_loading, input_examples, allowed_callers and eager_input_streaming have no effect: every tool is offered from the start. ${loosenedNote}`,
  ),
  mcp_servers: f.approximated(
    f.orElse(f.listOf(f.readObject), []),
    'Servers of --mcpfile (url is that of the file, or mcpfile:NAME) and of --mcpallow; others are refused. Their tools run on the server without confirmation. tool_configuration, or a mcp_toolset in tools, chooses the tools. authorization_token is sent to servers of --mcpallow; those of the file get what the file says (x-parley-ignored).',
  ),
  ...f.positions({
    'tools[]: web_search_*': f.aside(
      'approximated',
      `${searchNote} max_uses, allowed_domains or blocked_domains (with subdomains and paths) and user_location are read; response_inclusion has no effect. An error is a result with its error_code. ${citationNote} A text block ends with its citation.`,
    ),
    'tools[]: web_fetch_*': f.aside(
      'approximated',
      'With --websearch. Pages on the public internet: text of 3 MB, or a PDF or another document of 20 MB, which is read as a file of a collection is; 30 seconds; every redirect is checked. The address must be in the conversation, in a result or in a fetched page (url_not_in_prior_context). max_uses, domain lists, max_content_tokens (about 3 characters each) and citations (quotes, as char_location) are read; url_sources and use_cache have no effect.',
    ),
  }),
  tool_choice: f.honoured(f.optionalObject, 'auto, any, tool and none, with disable_parallel_tool_use.'),
  thinking: f.approximated(
    f.optionalObject,
    `disabled: off, as far as the model can; enabled: on, with budget_tokens as the limit; adaptive and between_tools: as the model decides. display has no effect: thinking is always shown. No effect on models that do not think. ${silenceNote}`,
  ),
  output_config: f.group({
    effort: f.approximated(
      f.optional(f.oneOf('low', 'medium', 'high', 'xhigh', 'max')),
      'How much of the reply may be thinking: low 25 %, medium 50 %, high 75 %, xhigh and max all of it.',
    ),
    format: f.honoured(f.optionalObject, 'json_schema, enforced by a grammar.'),
  }),
  output_format: f.honoured(f.optionalObject, 'The older name of output_config.format.'),
  memory: f.honoured(f.orElse(f.readText, ''), 'Put in front of the prompt, as in the native API.'),
  collections: f.honoured(
    collectionsField.read,
    `${collectionsField.note} Citations are search_result_location, whose source is the page of the passage.`,
  ),
  cache_control: f.ignored('The longest cached prefix of a prompt is always used, marked or not.'),
  context_management: f.honoured(
    f.optional(readContextManagement),
    'The reply has context_management.applied_edits. Unknown edits are refused.',
  ),
  ...f.positions({
    'context_management.edits[]: clear_tool_uses_20250919': f.aside(
      'honoured',
      'Results of old tool calls, the oldest first, become a short placeholder.',
    ),
    'context_management.edits[]: clear_thinking_20251015': f.aside(
      'honoured',
      'A turn ends with a message of the user.',
    ),
    'context_management.edits[]: compact_20260112': f.aside(
      'honoured',
      'Also if the prompt does not fit before it reaches the trigger. The block ends with the last message of the user, unless that is long. content is null if the summary failed and the conversation fits without it. Not in token counts.',
    ),
  }),
  ...f.each(['speed', 'user_profile_id', 'workspace_id', 'betas'], f.ignored()),
};

export const createFields = {
  ...promptFields,
  max_tokens: f.honoured(f.optionalCount, 'Cut to what fits. 0 reads the prompt into the cache, without a reply.'),
  stream: f.honoured(f.orElse(f.looseFlag, false)),
  // Only their types are checked here.
  ...asControls({ temperature: 'May be above 1.', top_p: '', top_k: '' }, { check: f.readNumber }),
  stop_sequences: f.honoured(f.optional(readStops), 'Empty ones are ignored. Up to 256, 50,000 characters together.'),
  thread,
  compaction: f.honoured(
    f.optionalObject,
    'type: summarize. The reply is one block with the summary; instructions replace those of the server. Not beside context_management.',
  ),
  ...f.each(
    ['metadata', 'container', 'diagnostics', 'fallbacks', 'fallback_credit_token', 'inference_geo', 'service_tier'],
    f.ignored(),
  ),
  genkey: f.honoured(readGenkey, 'The key for /api/extra/abort and /api/extra/generate/check.'),
  ...f.positions({
    'sampling controls of the native API': f.aside('honoured', 'min_p, seed, grammar and all others, by their names.'),
  }),
};

export type CreateFields = f.Fields<typeof createFields>;

/** The fields of a reply have no effect on its prompt, whatever their values. */
export const countFields = {
  ...promptFields,
  thread,
  ...f.each(['compaction', 'max_tokens'], f.ignored()),
};
