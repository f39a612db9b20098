import type { JsonSchema } from '../../core/fidelity.ts';
import * as a from '../answers.ts';

const tokenChoice = { token: a.text, logprob: a.number, bytes: a.list(a.count) };
const logprobs = a.list(a.object({ ...tokenChoice, top_logprobs: a.list(a.object(tokenChoice)) }));

const status = a.words('in_progress', 'completed', 'incomplete');
const summary = a.object({ type: a.words('summary_text'), text: a.text });
const annotation = a.byType({
  url_citation: a.citedUrl,
  file_citation: { index: a.count, file_id: a.text, filename: a.text },
});
const part = a.object({ type: a.words('output_text'), text: a.text, annotations: a.list(annotation), logprobs });

const call = { status, call_id: a.text, name: a.text, 'namespace?': a.text };
const serverCall = { status: a.words('in_progress', 'completed', 'failed', 'incomplete') };
const compaction = { encrypted_content: a.text };
const item = a.named(
  'OutputItem',
  a.byType(
    {
      reasoning: { summary: a.list(summary), 'encrypted_content?': a.text },
      message: { status, role: a.words('assistant'), content: a.list(part) },
      function_call: { ...call, arguments: a.text },
      custom_tool_call: { ...call, input: a.text },
      compaction,
      web_search_call: {
        ...serverCall,
        action: a.object({
          type: a.words('search'),
          query: a.text,
          queries: a.list(a.text),
          'sources?': a.list(a.object({ type: a.words('url'), url: a.text })),
        }),
      },
      file_search_call: {
        ...serverCall,
        queries: a.list(a.text),
        results: a.orNull(
          a.list(
            a.object({
              file_id: a.text,
              filename: a.text,
              score: a.number,
              text: a.text,
              attributes: a.mapOf(a.either(a.text, a.number, a.flag)),
            }),
          ),
        ),
      },
      mcp_call: {
        ...serverCall,
        ...a.members(a.text, 'server_label', 'name', 'arguments'),
        output: a.orNull(a.text),
        error: a.orNull(a.anyObject),
        approval_request_id: a.orNull(a.text),
      },
      mcp_list_tools: {
        server_label: a.text,
        tools: a.list(
          a.object({
            name: a.text,
            description: a.orNull(a.text),
            input_schema: a.anyObject,
            annotations: a.orNull(a.anyObject),
          }),
        ),
        error: a.orNull(a.text),
      },
      mcp_approval_request: { server_label: a.text, name: a.text, arguments: a.text },
    },
    { id: a.text },
  ),
);

const usage = a.object({
  input_tokens: a.count,
  input_tokens_details: a.object({ cached_tokens: a.count, cache_write_tokens: a.count }),
  output_tokens: a.count,
  output_tokens_details: a.object({ reasoning_tokens: a.count }),
  total_tokens: a.count,
});

/** Typed clients of this dialect need every key. Formats, tools and their choice are repeated as they were sent. */
const response = a.named(
  'Response',
  a.object({
    id: a.text,
    object: a.words('response'),
    created_at: a.count,
    completed_at: a.orNull(a.count),
    status: a.words('queued', 'in_progress', 'completed', 'incomplete', 'cancelled', 'failed'),
    background: a.flag,
    error: a.orNull(a.object({ code: a.text, message: a.text })),
    incomplete_details: a.orNull(a.object({ reason: a.words('max_output_tokens', 'cancelled') })),
    instructions: a.orNull(a.text),
    max_output_tokens: a.orNull(a.whole),
    max_tool_calls: a.orNull(a.whole),
    model: a.text,
    output: a.list(item),
    parallel_tool_calls: a.flag,
    previous_response_id: a.orNull(a.text),
    prompt_cache_key: a.orNull(a.text),
    reasoning: a.object({ effort: a.orNull(a.text), summary: a.orNull(a.text) }),
    safety_identifier: a.orNull(a.text),
    service_tier: a.words('default'),
    store: a.flag,
    temperature: a.number,
    text: a.object({ format: a.open({ type: a.text }), verbosity: a.text }),
    tool_choice: a.either(a.text, a.anyObject),
    tools: a.list(a.anyObject),
    top_logprobs: a.count,
    ...a.members(a.number, 'top_p', 'presence_penalty', 'frequency_penalty'),
    truncation: a.words('auto', 'disabled'),
    usage: a.orNull(usage),
    metadata: a.anyObject,
  }),
);

const event = (members: Readonly<Record<string, JsonSchema>>, ...types: readonly string[]) =>
  a.object({ type: a.words(...types), sequence_number: a.count, ...members });

const position = { item_id: a.text, output_index: a.count };
const inMessage = { ...position, content_index: a.count };
const inReasoning = { ...position, summary_index: a.count };

const states = ['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'];

const events = a.either(
  event({ response }, ...states.map((state) => `response.${state}`)),
  event({ output_index: a.count, item }, 'response.output_item.added', 'response.output_item.done'),
  event({ ...inMessage, part }, 'response.content_part.added', 'response.content_part.done'),
  event({ ...inMessage, delta: a.text, logprobs }, 'response.output_text.delta'),
  event({ ...inMessage, text: a.text, logprobs }, 'response.output_text.done'),
  event(
    { ...inReasoning, part: summary },
    'response.reasoning_summary_part.added',
    'response.reasoning_summary_part.done',
  ),
  event({ ...inReasoning, delta: a.text }, 'response.reasoning_summary_text.delta'),
  event({ ...inReasoning, text: a.text }, 'response.reasoning_summary_text.done'),
  event(
    { ...position, delta: a.text },
    'response.function_call_arguments.delta',
    'response.custom_tool_call_input.delta',
    'response.mcp_call_arguments.delta',
  ),
  event({ ...position, name: a.text, arguments: a.text }, 'response.function_call_arguments.done'),
  event({ ...position, arguments: a.text }, 'response.mcp_call_arguments.done'),
  event(
    position,
    ...['in_progress', 'completed', 'failed'].flatMap((state) => [
      `response.mcp_call.${state}`,
      `response.mcp_list_tools.${state}`,
    ]),
  ),
  event({ ...position, input: a.text }, 'response.custom_tool_call_input.done'),
  event(position, 'response.compaction.compacting'),
  event({ ...inMessage, annotation_index: a.count, annotation }, 'response.output_text.annotation.added'),
  event(
    position,
    ...['in_progress', 'searching', 'completed'].flatMap((state) => [
      `response.web_search_call.${state}`,
      `response.file_search_call.${state}`,
    ]),
  ),
);

const wholeOrStream = a.oneOf(a.json(response), a.events(events));

export const responsesAnswers: a.DialectAnswers = {
  errors: { responses: a.object({ error: a.openaiError, 'detail?': a.busyDetail }) },
  answers: {
    'POST /v1/responses': wholeOrStream,
    'POST /v1/responses/input_tokens': a.json(
      a.object({ object: a.words('response.input_tokens'), input_tokens: a.count }),
    ),
    'POST /v1/responses/compact': a.json(
      a.object({
        id: a.text,
        object: a.words('response.compaction'),
        created_at: a.count,
        output: a.list(
          a.either(a.open({ id: a.text, type: a.words('message') }), a.byType({ compaction }, { id: a.text })),
        ),
        usage,
      }),
    ),
    'GET /v1/responses/{id}': wholeOrStream,
    'DELETE /v1/responses/{id}': a.deleted('response'),
    'GET /v1/responses/{id}/input_items': a.page(a.open({ id: a.text, type: a.text })),
    'POST /v1/responses/{id}/cancel': a.json(response),
  },
  examples: {
    'POST /v1/responses': { input: 'Name three colours.', max_output_tokens: 60, stream: true },
    'POST /v1/responses/compact': { input: 'Name three colours.' },
    'POST /v1/responses/input_tokens': { input: 'Name three colours.' },
  },
};
