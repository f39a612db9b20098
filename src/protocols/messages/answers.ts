import * as a from '../answers.ts';

const usage = a.object({
  ...a.members(a.count, 'input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'),
  'output_tokens_details?': a.object({ thinking_tokens: a.count }),
  'iterations?': a.list(
    a.object({
      type: a.words('compaction', 'message'),
      ...a.members(a.count, 'input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'),
      cache_creation: a.words(null),
      'model?': a.text,
    }),
  ),
  'server_tool_use?': a.object({ web_search_requests: a.count, web_fetch_requests: a.count }),
});

const ending = {
  stop_reason: a.words(
    'end_turn',
    'max_tokens',
    'tool_use',
    'stop_sequence',
    'model_context_window_exceeded',
    'compaction',
    null,
  ),
  stop_sequence: a.orNull(a.text),
};

const summary = { content: a.orNull(a.text), encrypted_content: a.words(null) };
const cited = {
  cited_text: a.text,
  document_index: a.count,
  document_title: a.orNull(a.text),
  file_id: a.orNull(a.text),
};
const blocks = { start_block_index: a.count, end_block_index: a.count };
const citation = a.byType({
  page_location: { ...cited, start_page_number: a.count, end_page_number: a.count },
  content_block_location: { ...cited, ...blocks },
  search_result_location: {
    cited_text: a.text,
    search_result_index: a.count,
    source: a.text,
    title: a.orNull(a.text),
    ...blocks,
  },
  web_search_result_location: { url: a.text, title: a.text, cited_text: a.text, encrypted_index: a.text },
  char_location: { ...cited, start_char_index: a.count, end_char_index: a.count },
});

const toolError = (type: string) => a.object({ type: a.words(type), error_code: a.text });
const searchResult = a.object({
  type: a.words('web_search_result'),
  ...a.members(a.text, 'url', 'title', 'encrypted_content'),
  page_age: a.orNull(a.text),
});
const fetchResult = a.object({
  type: a.words('web_fetch_result'),
  url: a.text,
  retrieved_at: a.text,
  content: a.object({
    type: a.words('document'),
    title: a.orNull(a.text),
    source: a.object({ type: a.words('text'), media_type: a.text, data: a.text }),
    'citations?': a.object({ enabled: a.flag }),
  }),
});

const block = a.byType({
  compaction: summary,
  thinking: { thinking: a.text, signature: a.text },
  text: { text: a.text, 'citations?': a.list(citation) },
  tool_use: { id: a.text, name: a.text, input: a.anyObject },
  // Calls that the server ran, and their results.
  mcp_tool_use: { id: a.text, name: a.text, server_name: a.text, input: a.anyObject },
  mcp_tool_result: {
    tool_use_id: a.text,
    is_error: a.flag,
    content: a.list(a.object({ type: a.words('text'), text: a.text })),
  },
  server_tool_use: { id: a.text, name: a.words('web_search', 'web_fetch'), input: a.anyObject },
  web_search_tool_result: {
    tool_use_id: a.text,
    content: a.either(a.list(searchResult), toolError('web_search_tool_result_error')),
  },
  web_fetch_tool_result: {
    tool_use_id: a.text,
    content: a.either(fetchResult, toolError('web_fetch_tool_result_error')),
  },
});

const edits = {
  'context_management?': a.object({
    applied_edits: a.list(
      a.byType({
        clear_tool_uses_20250919: { cleared_tool_uses: a.count, cleared_input_tokens: a.count },
        clear_thinking_20251015: { cleared_thinking_turns: a.count, cleared_input_tokens: a.count },
      }),
    ),
  }),
};

const message = a.named(
  'Message',
  a.object({
    id: a.text,
    type: a.words('message'),
    role: a.words('assistant'),
    model: a.text,
    content: a.list(block),
    ...ending,
    usage,
    ...edits,
  }),
);

const error = {
  type: a.words('error'),
  error: a.object({
    type: a.words(
      'authentication_error',
      'permission_error',
      'not_found_error',
      'request_too_large',
      'rate_limit_error',
      'overloaded_error',
      'api_error',
      'invalid_request_error',
    ),
    message: a.text,
    'details?': a.object({ error_code: a.text }),
  }),
};

const file = a.object({
  id: a.text,
  type: a.words('file'),
  filename: a.text,
  mime_type: a.text,
  size_bytes: a.count,
  created_at: a.moment,
  downloadable: a.flag,
  expires_at: a.orNull(a.moment),
});
const listed = { has_more: a.flag, first_id: a.orNull(a.text), last_id: a.orNull(a.text) };
const batch = a.named(
  'MessageBatch',
  a.object({
    id: a.text,
    type: a.words('message_batch'),
    processing_status: a.words('in_progress', 'canceling', 'ended'),
    request_counts: a.object({
      ...a.members(a.count, 'processing', 'succeeded', 'errored', 'canceled', 'expired'),
    }),
    created_at: a.moment,
    expires_at: a.moment,
    ...a.members(a.orNull(a.moment), 'ended_at', 'cancel_initiated_at', 'archived_at'),
    results_url: a.orNull(a.text),
  }),
);
const special = 'with anthropic-version';

const index = { index: a.count };
const event = a.either(
  a.byType({
    message_start: { message },
    ping: {},
    message_stop: {},
    content_block_start: { ...index, content_block: block },
    content_block_delta: {
      ...index,
      delta: a.byType({
        compaction_delta: summary,
        thinking_delta: { thinking: a.text },
        signature_delta: { signature: a.text },
        text_delta: { text: a.text },
        input_json_delta: { partial_json: a.text },
        citations_delta: { citation },
      }),
    },
    content_block_stop: index,
    message_delta: { delta: a.object(ending), usage, ...edits },
  }),
  a.object(error),
);

const question = [{ role: 'user', content: 'Name three colours.' }];

export const messagesAnswers: a.DialectAnswers = {
  errors: { messages: a.object({ ...error, request_id: a.text, 'detail?': a.busyDetail }) },
  answers: {
    'POST /v1/messages': a.oneOf(a.json(message), a.events(event)),
    'POST /v1/messages/count_tokens': a.json(
      a.object({
        input_tokens: a.count,
        'context_management?': a.object({ original_input_tokens: a.count }),
      }),
    ),
    [`POST /v1/files ${special}`]: a.json(file),
    [`GET /v1/files ${special}`]: a.json(a.object({ data: a.list(file), ...listed, next_page: a.orNull(a.text) })),
    [`GET /v1/files/{id} ${special}`]: a.json(file),
    [`GET /v1/files/{id}/content ${special}`]: a.media('application/octet-stream'),
    [`DELETE /v1/files/{id} ${special}`]: a.json(a.object({ id: a.text, type: a.words('file_deleted') })),
    'POST /v1/messages/batches': a.json(batch),
    'GET /v1/messages/batches': a.json(a.object({ data: a.list(batch), ...listed })),
    'GET /v1/messages/batches/{id}': a.json(batch),
    'GET /v1/messages/batches/{id}/results': a.media('application/x-jsonl'),
    'POST /v1/messages/batches/{id}/cancel': a.json(batch),
    'DELETE /v1/messages/batches/{id}': a.json(a.object({ id: a.text, type: a.words('message_batch_deleted') })),
  },
  examples: {
    'POST /v1/messages': { model: 'any', messages: question, max_tokens: 60, stream: true },
    'POST /v1/messages/count_tokens': { model: 'any', messages: question },
  },
};
