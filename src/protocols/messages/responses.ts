import * as s from '../response-schemas.ts';

const usage = s.object({
  ...s.properties(s.count, 'input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'),
  'output_tokens_details?': s.object({ thinking_tokens: s.count }),
  'iterations?': s.array(
    s.object({
      type: s.literal('compaction', 'message'),
      ...s.properties(
        s.count,
        'input_tokens',
        'output_tokens',
        'cache_read_input_tokens',
        'cache_creation_input_tokens',
      ),
      cache_creation: s.literal(null),
      'model?': s.string,
    }),
  ),
  'server_tool_use?': s.object({ web_search_requests: s.count, web_fetch_requests: s.count }),
});

const ending = {
  stop_reason: s.literal(
    'end_turn',
    'max_tokens',
    'tool_use',
    'stop_sequence',
    'model_context_window_exceeded',
    'compaction',
    null,
  ),
  stop_sequence: s.nullable(s.string),
};

const summary = { content: s.nullable(s.string), encrypted_content: s.literal(null) };
const cited = {
  cited_text: s.string,
  document_index: s.count,
  document_title: s.nullable(s.string),
  file_id: s.nullable(s.string),
};
const blocks = { start_block_index: s.count, end_block_index: s.count };
const citation = s.byType({
  page_location: { ...cited, start_page_number: s.count, end_page_number: s.count },
  content_block_location: { ...cited, ...blocks },
  search_result_location: {
    cited_text: s.string,
    search_result_index: s.count,
    source: s.string,
    title: s.nullable(s.string),
    ...blocks,
  },
  web_search_result_location: { url: s.string, title: s.string, cited_text: s.string, encrypted_index: s.string },
  char_location: { ...cited, start_char_index: s.count, end_char_index: s.count },
});

const toolError = (type: string) => s.object({ type: s.literal(type), error_code: s.string });
const searchResult = s.object({
  type: s.literal('web_search_result'),
  ...s.properties(s.string, 'url', 'title', 'encrypted_content'),
  page_age: s.nullable(s.string),
});
const fetchResult = s.object({
  type: s.literal('web_fetch_result'),
  url: s.string,
  retrieved_at: s.string,
  content: s.object({
    type: s.literal('document'),
    title: s.nullable(s.string),
    source: s.object({ type: s.literal('text'), media_type: s.string, data: s.string }),
    'citations?': s.object({ enabled: s.boolean }),
  }),
});

const block = s.byType({
  compaction: summary,
  thinking: { thinking: s.string, signature: s.string },
  text: { text: s.string, 'citations?': s.array(citation) },
  tool_use: { id: s.string, name: s.string, input: s.anyObject },
  // Calls that the server ran, and their results.
  mcp_tool_use: { id: s.string, name: s.string, server_name: s.string, input: s.anyObject },
  mcp_tool_result: {
    tool_use_id: s.string,
    is_error: s.boolean,
    content: s.array(s.object({ type: s.literal('text'), text: s.string })),
  },
  server_tool_use: { id: s.string, name: s.literal('web_search', 'web_fetch'), input: s.anyObject },
  web_search_tool_result: {
    tool_use_id: s.string,
    content: s.union(s.array(searchResult), toolError('web_search_tool_result_error')),
  },
  web_fetch_tool_result: {
    tool_use_id: s.string,
    content: s.union(fetchResult, toolError('web_fetch_tool_result_error')),
  },
});

const edits = {
  'context_management?': s.object({
    applied_edits: s.array(
      s.byType({
        clear_tool_uses_20250919: { cleared_tool_uses: s.count, cleared_input_tokens: s.count },
        clear_thinking_20251015: { cleared_thinking_turns: s.count, cleared_input_tokens: s.count },
      }),
    ),
  }),
};

const message = s.named(
  'Message',
  s.object({
    id: s.string,
    type: s.literal('message'),
    role: s.literal('assistant'),
    model: s.string,
    content: s.array(block),
    ...ending,
    usage,
    ...edits,
  }),
);

const error = {
  type: s.literal('error'),
  error: s.object({
    type: s.literal(
      'authentication_error',
      'permission_error',
      'not_found_error',
      'request_too_large',
      'rate_limit_error',
      'overloaded_error',
      'api_error',
      'invalid_request_error',
    ),
    message: s.string,
    'details?': s.object({ error_code: s.string }),
  }),
};

const file = s.object({
  id: s.string,
  type: s.literal('file'),
  filename: s.string,
  mime_type: s.string,
  size_bytes: s.count,
  created_at: s.dateTime,
  downloadable: s.boolean,
  expires_at: s.nullable(s.dateTime),
});
const listed = { has_more: s.boolean, first_id: s.nullable(s.string), last_id: s.nullable(s.string) };
const batch = s.named(
  'MessageBatch',
  s.object({
    id: s.string,
    type: s.literal('message_batch'),
    processing_status: s.literal('in_progress', 'canceling', 'ended'),
    request_counts: s.object({
      ...s.properties(s.count, 'processing', 'succeeded', 'errored', 'canceled', 'expired'),
    }),
    created_at: s.dateTime,
    expires_at: s.dateTime,
    ...s.properties(s.nullable(s.dateTime), 'ended_at', 'cancel_initiated_at', 'archived_at'),
    results_url: s.nullable(s.string),
  }),
);

const index = { index: s.count };
const event = s.union(
  s.byType({
    message_start: { message },
    ping: {},
    message_stop: {},
    content_block_start: { ...index, content_block: block },
    content_block_delta: {
      ...index,
      delta: s.byType({
        compaction_delta: summary,
        thinking_delta: { thinking: s.string },
        signature_delta: { signature: s.string },
        text_delta: { text: s.string },
        input_json_delta: { partial_json: s.string },
        citations_delta: { citation },
      }),
    },
    content_block_stop: index,
    message_delta: { delta: s.object(ending), usage, ...edits },
  }),
  s.object(error),
);

const question = [{ role: 'user', content: 'Name three colours.' }];

export const errors = { messages: s.object({ ...error, request_id: s.string, 'detail?': s.busyDetail }) };

export const responses = {
  message: s.oneOf(s.json(message), s.sse(event)),
  countTokens: s.jsonObject({
    input_tokens: s.count,
    'context_management?': s.object({ original_input_tokens: s.count }),
  }),
  file: s.json(file),
  files: s.jsonObject({ data: s.array(file), ...listed, next_page: s.nullable(s.string) }),
  fileContent: s.media('application/octet-stream'),
  deletedFile: s.jsonObject({ id: s.string, type: s.literal('file_deleted') }),
  batch: s.json(batch),
  batches: s.jsonObject({ data: s.array(batch), ...listed }),
  batchResults: s.media('application/x-jsonl'),
  deletedBatch: s.jsonObject({ id: s.string, type: s.literal('message_batch_deleted') }),
};

export const examples = {
  message: { model: 'any', messages: question, max_tokens: 60, stream: true },
  countTokens: { model: 'any', messages: question },
};
