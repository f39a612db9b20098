import type { JsonSchema } from '../../core/fidelity.ts';
import * as s from '../response-schemas.ts';

const tokenChoice = { token: s.string, logprob: s.number, bytes: s.array(s.count) };
const logprobs = s.array(s.object({ ...tokenChoice, top_logprobs: s.array(s.object(tokenChoice)) }));

const status = s.literal('in_progress', 'completed', 'incomplete');
const summary = s.object({ type: s.literal('summary_text'), text: s.string });
const annotation = s.byType({
  url_citation: s.urlCitation,
  file_citation: { index: s.count, file_id: s.string, filename: s.string },
});
const part = s.object({ type: s.literal('output_text'), text: s.string, annotations: s.array(annotation), logprobs });

const call = { status, call_id: s.string, name: s.string, 'namespace?': s.string };
const serverCall = { status: s.literal('in_progress', 'completed', 'failed', 'incomplete') };
const compaction = { encrypted_content: s.string };
const item = s.named(
  'OutputItem',
  s.byType(
    {
      reasoning: { summary: s.array(summary), 'encrypted_content?': s.string },
      message: { status, role: s.literal('assistant'), content: s.array(part) },
      function_call: { ...call, arguments: s.string },
      custom_tool_call: { ...call, input: s.string },
      compaction,
      web_search_call: {
        ...serverCall,
        action: s.object({
          type: s.literal('search'),
          query: s.string,
          queries: s.array(s.string),
          'sources?': s.array(s.object({ type: s.literal('url'), url: s.string })),
        }),
      },
      file_search_call: {
        ...serverCall,
        queries: s.array(s.string),
        results: s.nullable(
          s.array(
            s.object({
              file_id: s.string,
              filename: s.string,
              score: s.number,
              text: s.string,
              attributes: s.fileAttributes,
            }),
          ),
        ),
      },
      mcp_call: {
        ...serverCall,
        ...s.properties(s.string, 'server_label', 'name', 'arguments'),
        output: s.nullable(s.string),
        error: s.nullable(s.anyObject),
        approval_request_id: s.nullable(s.string),
      },
      mcp_list_tools: {
        server_label: s.string,
        tools: s.array(
          s.object({
            name: s.string,
            description: s.nullable(s.string),
            input_schema: s.anyObject,
            annotations: s.nullable(s.anyObject),
          }),
        ),
        error: s.nullable(s.string),
      },
      mcp_approval_request: { server_label: s.string, name: s.string, arguments: s.string },
    },
    { id: s.string },
  ),
);

const usage = s.object({
  input_tokens: s.count,
  input_tokens_details: s.object({ cached_tokens: s.count, cache_write_tokens: s.count }),
  output_tokens: s.count,
  output_tokens_details: s.object({ reasoning_tokens: s.count }),
  total_tokens: s.count,
});

/** Typed clients of this dialect need every key. Formats, tools and their choice are repeated as they were sent. */
const response = s.named(
  'Response',
  s.object({
    id: s.string,
    object: s.literal('response'),
    created_at: s.count,
    completed_at: s.nullable(s.count),
    status: s.literal('queued', 'in_progress', 'completed', 'incomplete', 'cancelled', 'failed'),
    background: s.boolean,
    error: s.nullable(s.object({ code: s.string, message: s.string })),
    incomplete_details: s.nullable(s.object({ reason: s.literal('max_output_tokens', 'cancelled') })),
    instructions: s.nullable(s.string),
    max_output_tokens: s.nullable(s.integer),
    max_tool_calls: s.nullable(s.integer),
    model: s.string,
    output: s.array(item),
    parallel_tool_calls: s.boolean,
    previous_response_id: s.nullable(s.string),
    prompt_cache_key: s.nullable(s.string),
    reasoning: s.object({ effort: s.nullable(s.string), summary: s.nullable(s.string) }),
    safety_identifier: s.nullable(s.string),
    service_tier: s.literal('default'),
    store: s.boolean,
    temperature: s.number,
    text: s.object({ format: s.looseObject({ type: s.string }), verbosity: s.string }),
    tool_choice: s.union(s.string, s.anyObject),
    tools: s.array(s.anyObject),
    top_logprobs: s.count,
    ...s.properties(s.number, 'top_p', 'presence_penalty', 'frequency_penalty'),
    truncation: s.literal('auto', 'disabled'),
    usage: s.nullable(usage),
    metadata: s.anyObject,
  }),
);

const event = (members: Readonly<Record<string, JsonSchema>>, ...types: readonly string[]) =>
  s.object({ type: s.literal(...types), sequence_number: s.count, ...members });

const position = { item_id: s.string, output_index: s.count };
const inMessage = { ...position, content_index: s.count };
const inReasoning = { ...position, summary_index: s.count };

const states = ['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'];

const events = s.union(
  event({ response }, ...states.map((state) => `response.${state}`)),
  event({ output_index: s.count, item }, 'response.output_item.added', 'response.output_item.done'),
  event({ ...inMessage, part }, 'response.content_part.added', 'response.content_part.done'),
  event({ ...inMessage, delta: s.string, logprobs }, 'response.output_text.delta'),
  event({ ...inMessage, text: s.string, logprobs }, 'response.output_text.done'),
  event(
    { ...inReasoning, part: summary },
    'response.reasoning_summary_part.added',
    'response.reasoning_summary_part.done',
  ),
  event({ ...inReasoning, delta: s.string }, 'response.reasoning_summary_text.delta'),
  event({ ...inReasoning, text: s.string }, 'response.reasoning_summary_text.done'),
  event(
    { ...position, delta: s.string },
    'response.function_call_arguments.delta',
    'response.custom_tool_call_input.delta',
    'response.mcp_call_arguments.delta',
  ),
  event({ ...position, name: s.string, arguments: s.string }, 'response.function_call_arguments.done'),
  event({ ...position, arguments: s.string }, 'response.mcp_call_arguments.done'),
  event(
    position,
    ...['in_progress', 'completed', 'failed'].flatMap((state) => [
      `response.mcp_call.${state}`,
      `response.mcp_list_tools.${state}`,
    ]),
  ),
  event({ ...position, input: s.string }, 'response.custom_tool_call_input.done'),
  event(position, 'response.compaction.compacting'),
  event({ ...inMessage, annotation_index: s.count, annotation }, 'response.output_text.annotation.added'),
  event(
    position,
    ...['in_progress', 'searching', 'completed'].flatMap((state) => [
      `response.web_search_call.${state}`,
      `response.file_search_call.${state}`,
    ]),
  ),
);

const wholeOrStream = s.oneOf(s.json(response), s.sse(events));

export const errors = { responses: s.object({ error: s.openaiError, 'detail?': s.busyDetail }) };

export const responses = {
  reply: wholeOrStream,
  inputTokens: s.inputTokens,
  compaction: s.jsonObject({
    id: s.string,
    object: s.literal('response.compaction'),
    created_at: s.count,
    output: s.array(
      s.union(s.looseObject({ id: s.string, type: s.literal('message') }), s.byType({ compaction }, { id: s.string })),
    ),
    usage,
  }),
  stored: wholeOrStream,
  deleted: s.deleted('response'),
  inputItems: s.page(s.looseObject({ id: s.string, type: s.string })),
  response: s.json(response),
};

export const examples = {
  reply: { input: 'Name three colours.', max_output_tokens: 60, stream: true },
  compaction: { input: 'Name three colours.' },
  inputTokens: { input: 'Name three colours.' },
};
