import * as a from '../answers.ts';

const usage = a.object({
  input_tokens: a.count,
  cache_creation_input_tokens: a.count,
  cache_read_input_tokens: a.count,
  output_tokens: a.count,
  'output_tokens_details?': a.object({ thinking_tokens: a.count }),
  'iterations?': a.list(
    a.object({
      type: a.words('compaction', 'message'),
      input_tokens: a.count,
      output_tokens: a.count,
      cache_read_input_tokens: a.count,
      cache_creation_input_tokens: a.count,
      cache_creation: a.words(null),
      'model?': a.text,
    }),
  ),
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

const block = a.either(
  a.object({ type: a.words('compaction'), ...summary }),
  a.object({ type: a.words('thinking'), thinking: a.text, signature: a.text }),
  a.object({ type: a.words('text'), text: a.text }),
  a.object({ type: a.words('tool_use'), id: a.text, name: a.text, input: a.anyObject }),
);

const edits = {
  'context_management?': a.object({
    applied_edits: a.list(
      a.either(
        a.object({
          type: a.words('clear_tool_uses_20250919'),
          cleared_tool_uses: a.count,
          cleared_input_tokens: a.count,
        }),
        a.object({
          type: a.words('clear_thinking_20251015'),
          cleared_thinking_turns: a.count,
          cleared_input_tokens: a.count,
        }),
      ),
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
  }),
};

const index = { index: a.count };
const event = a.either(
  a.object({ type: a.words('message_start'), message }),
  a.object({ type: a.words('ping', 'message_stop') }),
  a.object({ type: a.words('content_block_start'), ...index, content_block: block }),
  a.object({
    type: a.words('content_block_delta'),
    ...index,
    delta: a.either(
      a.object({ type: a.words('compaction_delta'), ...summary }),
      a.object({ type: a.words('thinking_delta'), thinking: a.text }),
      a.object({ type: a.words('signature_delta'), signature: a.text }),
      a.object({ type: a.words('text_delta'), text: a.text }),
      a.object({ type: a.words('input_json_delta'), partial_json: a.text }),
    ),
  }),
  a.object({ type: a.words('content_block_stop'), ...index }),
  a.object({ type: a.words('message_delta'), delta: a.object(ending), usage, ...edits }),
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
    'GET /v1/messages/batches': a.refused,
    'POST /v1/messages/batches': a.refused,
    'DELETE /v1/messages/batches': a.refused,
  },
  examples: {
    'POST /v1/messages': { model: 'any', messages: question, max_tokens: 60, stream: true },
    'POST /v1/messages/count_tokens': { model: 'any', messages: question },
  },
};
