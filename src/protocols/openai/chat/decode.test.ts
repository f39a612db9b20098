import { expect, test } from 'vitest';
import type { ChatRequest } from '../../../chat/request.ts';
import { defaultSampling } from '../../../core/sampling-fields.ts';
import { GrammarError } from '../../../grammar/schema.ts';
import type { JsonObject } from '../../../http/body.ts';
import { readFields } from '../../fields.ts';
import { controlLimits, dialectParts } from '../../testing/doubles.ts';
import { type DecodedChat, decodeChat, decodeToolUse } from './decode.ts';
import { chatFields } from './fields.ts';

const messages = [{ role: 'user', content: 'Hi' }];
const decode = (body: object) => decodeChat({ messages, ...body }, dialectParts());

test('decodeChat: defaults', async () => {
  expect(await decode({})).toEqual({
    request: {
      conversation: { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }], media: [], tools: [] },
      continueAssistantTurn: true,
      toolChoice: { type: 'auto' },
      parallelToolCalls: true,
      output: { type: 'text' },
      reasoning: { effort: undefined, separate: true },
      templateVariables: {},
      memory: '',
      controls: expect.objectContaining({ overflow: 'refuse', maxTokens: 2048, sampling: defaultSampling, stop: [] }),
    },
    replies: 1,
    stream: false,
    includeUsage: false,
    genkey: '',
    kept: false,
    timingsPerToken: false,
    reportsProgress: false,
    legacyCalls: false,
    offersTools: false,
    serviceTier: false,
    notices: { ignored: [], thinkingOff: [] },
  });
});

test.each<[object, object]>([
  [{ max_tokens: 5 }, { maxTokens: 5 }],
  [{ max_tokens: 5, max_completion_tokens: 6 }, { maxTokens: 6 }],
  [{ max_tokens: -1 }, { maxTokens: 2048 }],
  [{ max_tokens: 32_000 }, { maxTokens: 32_000 }],
  [{ max_length: 7 }, { maxTokens: 7 }],
  [{ max_length: 7, max_tokens: 8 }, { maxTokens: 8 }],
  [{ n_predict: 9 }, { maxTokens: 9 }],
  [{ stop: 'END' }, { stop: ['END'] }],
  [{ stop: ['a', '', 'b'], stop_sequence: ['c'] }, { stop: ['a', 'b'] }],
  [{ stop_sequence: ['c'] }, { stop: ['c'] }],
  [
    { logit_bias: { 15: -200, 16: 3 } },
    {
      logitBias: [
        [15, -100],
        [16, 3],
      ],
    },
  ],
  [
    {
      logit_bias: [
        [15, false],
        ['ab', 2],
      ],
    },
    {
      logitBias: [
        [15, -100],
        [97, 2],
        [98, 2],
      ],
    },
  ],
  [{ logprobs: true }, { logprobs: 0 }],
  [{ logprobs: true, top_logprobs: 3 }, { logprobs: 3 }],
  [{ logprobs: true, top_logprobs: 99 }, { logprobs: 20 }],
  [{ logprobs: false, top_logprobs: 0 }, { logprobs: undefined }],
  [{ prompt_logprobs: 3 }, { promptLogprobs: 3, logprobs: undefined }],
  [{ reasoning_effort: 'low' }, { reasoning: { type: 'share', share: 0.25 } }],
  [{ reasoning: { effort: 'none' } }, { reasoning: { type: 'share', share: 0 } }],
  [{ thinking_budget_tokens: 64, reasoning_effort: 'low' }, { reasoning: { type: 'tokens', tokens: 64 } }],
  [{ reasoning_budget_tokens: -1 }, { reasoning: undefined }],
  [{ reasoning: { max_tokens: 10 } }, { reasoning: { type: 'tokens', tokens: 10 } }],
])('decodeChat controls: %o', async (body, expected) => {
  expect((await decode(body)).request.controls).toMatchObject(expected);
});

test.each<[object, object]>([
  [{ temperature: -1 }, { temperature: 0 }],
  [
    { temperature: 1.5, top_p: 2 },
    { temperature: 1.5, topP: 1 },
  ],
  [{ presence_penalty: 9 }, { presencePenalty: 2 }],
  [{ frequency_penalty: 0.5 }, { presencePenalty: 0, frequencyPenalty: 0.5 }],
  [
    { presence_penalty: 0.1, frequency_penalty: 5 },
    { presencePenalty: 0.1, frequencyPenalty: 2 },
  ],
  [{ seed: 42 }, { seed: 42 }],
  [{ seed: -1 }, { seed: -1 }],
  [{ seed: 0 }, { seed: 2 ** 31 - 1 }],
  [{ seed: 42, sampler_seed: 1 }, { seed: 42 }],
  [
    { min_p: 0.1, top_k: 20, rep_pen: 1.1 },
    { minP: 0.1, topK: 20, repetitionPenalty: 1.1 },
  ],
  [{ typ_p: 0.9 }, { typical: 0.9 }],
  [
    { temperature: null, seed: null },
    { temperature: 0.7, seed: -1 },
  ],
])('decodeChat sampling: %o', async (body, expected) => {
  expect((await decode(body)).request.controls.sampling).toMatchObject(expected);
});

const schema = { type: 'object', properties: { a: { type: 'string' } } };

test.each<[object, Partial<ChatRequest>]>([
  [{ response_format: { type: 'text' } }, { output: { type: 'text' } }],
  [{ response_format: { type: 'json_object' } }, { output: { type: 'json' } }],
  [{ response_format: { type: 'json_object', schema } }, { output: { type: 'schema', schema } }],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } },
    { output: { type: 'schema', schema } },
  ],
  [
    { response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
    { output: { type: 'schema', schema: {} } },
  ],
  [{ json_schema: schema }, { output: { type: 'schema', schema } }],
  [{ reasoning_effort: 'high' }, { reasoning: { effort: 'high', separate: true } }],
  [{ reasoning_effort: 'ultra' }, { reasoning: { effort: 'max', separate: true } }],
  [{ reasoning_effort: 'very much' }, { reasoning: { effort: 'medium', separate: true } }],
  [{ reasoning: { enabled: false } }, { reasoning: { effort: 'none', separate: true } }],
  [{ encapsulate_thinking: false }, { reasoning: { effort: undefined, separate: false } }],
  [{ encapsulate_thinking: false, timings_per_token: true }, { reasoning: { effort: undefined, separate: true } }],
  [{ reasoning_format: 'none', timings_per_token: true }, { reasoning: { effort: undefined, separate: false } }],
  [{ reasoning_format: 'deepseek' }, { reasoning: { effort: undefined, separate: true } }],
  [{ chat_template_kwargs: { enable_thinking: false } }, { templateVariables: { enable_thinking: false } }],
  [{ continue_assistant_turn: false }, { continueAssistantTurn: false }],
  [{ continue_assistant_turn: false, timings_per_token: false }, { continueAssistantTurn: true }],
  [{ continue_final_message: true, continue_assistant_turn: false }, { continueAssistantTurn: true }],
  [{ continue_final_message: false }, { continueAssistantTurn: false }],
  [{ add_generation_prompt: true }, { continueAssistantTurn: false }],
  [{ memory: 'Once.' }, { memory: 'Once.' }],
])('decodeChat request: %o', async (body, expected) => {
  expect((await decode(body)).request).toMatchObject(expected);
});

test.each<[object, Partial<DecodedChat>]>([
  [
    { stream: true, stream_options: { include_usage: true } },
    { stream: true, includeUsage: true },
  ],
  [
    { stream: null, stream_options: null },
    { stream: false, includeUsage: false },
  ],
  [{ n: 3 }, { replies: 3 }],
  [{ timings_per_token: true }, { timingsPerToken: true }],
  [{ service_tier: 'auto' }, { serviceTier: true }],
  [{ functions: [{ name: 'f' }] }, { legacyCalls: true, offersTools: true }],
  [{ tools: [{ function: { name: 'f' } }], tool_choice: 'none' }, { offersTools: false }],
  [{ tools: [{ type: 'web_search' }] }, { offersTools: false, notices: { ignored: ['tools[0]'], thinkingOff: [] } }],
  [
    { messages: [{ role: 'user', name: 'Ann', content: 'Hi' }] },
    { notices: { ignored: ['messages[].name'], thinkingOff: [] } },
  ],
])('decodeChat delivery: %o', async (body, expected) => {
  expect(await decode(body)).toMatchObject(expected);
});

test.each<[object, string]>([
  [{ temperature: '0.5' }, 'temperature must be a number.'],
  [{ max_tokens: 1.5 }, 'max_tokens must be a whole number.'],
  [{ max_tokens: '5' }, 'max_tokens must be a number.'],
  [{ n: 0 }, 'n must be a whole number from 1 to 128.'],
  [{ n: 129 }, 'n must be a whole number from 1 to 128.'],
  [{ stop: 5 }, 'stop must be an array of strings.'],
  [{ stop: [5] }, 'stop must be an array of strings.'],
  [{ stream: 'yes' }, 'stream must be true or false.'],
  [{ stream_options: true }, 'stream_options must be an object.'],
  [{ seed: 'x' }, 'seed must be a number.'],
  [{ logit_bias: 'x' }, 'logit_bias must be an object'],
  [{ logit_bias: { 5: 'x' } }, 'logit_bias must be an object'],
  [{ logit_bias: [[1]] }, 'logit_bias must be an object'],
  [{ logprobs: 5 }, 'logprobs must be true or false.'],
  [{ top_logprobs: 5 }, 'logprobs must be true where top_logprobs is sent.'],
  [{ logprobs: true, top_logprobs: -1 }, 'top_logprobs must be a whole number from 0 to 20.'],
  [{ prompt_logprobs: 21 }, 'prompt_logprobs must be a whole number from 0 to 20.'],
  [{ prompt_logprobs: 1, stream: true }, 'prompt_logprobs is not possible: a stream has no place for it'],
  [
    { prompt_logprobs: 1, tools: [{ type: 'function', function: { name: 'f' } }] },
    'prompt_logprobs is not possible: it does not go with tools.',
  ],
  [{ response_format: 'json' }, 'response_format must be an object.'],
  [{ response_format: { type: 'xml' } }, 'response_format.type must be "text", "json_object" or "json_schema".'],
  [{ response_format: { type: 'json_schema', json_schema: { schema: 5 } } }, 'response_format.json_schema.schema'],
  [{ reasoning_effort: 5 }, 'reasoning_effort must be a string.'],
  [{ reasoning_format: 'xml' }, 'reasoning_format must be'],
  [{ chat_template_kwargs: [] }, 'chat_template_kwargs must be an object.'],
  [{ modalities: ['text', 'audio'] }, 'modalities is not possible'],
  [
    { continue_final_message: true, add_generation_prompt: true },
    'continue_final_message must be false where add_generation_prompt is true.',
  ],
])('decodeChat: rejects %o', async (body, sentence) => {
  await expect(decode(body)).rejects.toThrow(sentence);
});

test('decodeChat: rejects a schema without a grammar with its path', async () => {
  const schemaToGrammar = () => {
    throw new GrammarError('is no type', '#/type', 'type');
  };
  const parts = dialectParts({ controlLimits: () => ({ ...controlLimits, schemaToGrammar }) });
  const body = { messages, response_format: { type: 'json_schema', json_schema: { schema: { type: 'x' } } } };
  await expect(decodeChat(body, parts)).rejects.toMatchObject({
    code: 'invalid-field',
    details: { field: 'response_format.json_schema.schema', expected: expect.stringContaining('is no type') },
  });
});

const toolUse = (body: JsonObject) => decodeToolUse(readFields(chatFields, { messages: [{}], ...body }));

const add = { type: 'function', function: { name: 'add', parameters: { type: 'object', properties: { a: {} } } } };
const tell = { type: 'function', function: { name: 'tell', description: 'Tells.', strict: true } };
const addTool = { name: 'add', parameters: { type: 'object', properties: { a: {} } } };
const tellTool = { name: 'tell', description: 'Tells.', parameters: { type: 'object', properties: {} } };
const named = (name: string) => ({ type: 'function', function: { name } });

test.each<[string, object, Partial<ReturnType<typeof toolUse>>]>([
  ['decodeToolUse: no tools', {}, { tools: [], choice: { type: 'auto' }, parallel: true, legacy: false, skipped: [] }],
  [
    'decodeToolUse: tools with choice auto',
    { tools: [add, tell] },
    { tools: [addTool, tellTool], choice: { type: 'auto' } },
  ],
  ['decodeToolUse: tool_choice null is auto', { tools: [add], tool_choice: null }, { choice: { type: 'auto' } }],
  ['decodeToolUse: tool_choice none', { tools: [add], tool_choice: 'none' }, { choice: { type: 'none' } }],
  ['decodeToolUse: tool_choice required', { tools: [add], tool_choice: 'required' }, { choice: { type: 'required' } }],
  [
    'decodeToolUse: named tool',
    { tools: [add], tool_choice: named('add') },
    { choice: { type: 'named', name: 'add' } },
  ],
  ['decodeToolUse: no parallel calls', { tools: [add], parallel_tool_calls: false }, { parallel: false }],
  [
    'decodeToolUse: allowed_tools',
    {
      tools: [add, tell],
      tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [named('tell')] } },
    },
    { tools: [tellTool], choice: { type: 'required' } },
  ],
  [
    'decodeToolUse: custom tool',
    { tools: [{ type: 'custom', custom: { name: 'run', format: { type: 'text' } } }] },
    {
      tools: [
        { name: 'run', parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] } },
      ],
    },
  ],
  [
    'decodeToolUse: skips tools of a provider',
    { tools: [{ type: 'web_search' }, add] },
    { tools: [addTool], skipped: ['tools[0]'] },
  ],
  [
    'decodeToolUse: legacy functions',
    { functions: [add.function], function_call: 'auto', parallel_tool_calls: true },
    { tools: [addTool], choice: { type: 'auto' }, legacy: true, parallel: false },
  ],
  [
    'decodeToolUse: named legacy function',
    { functions: [add.function], function_call: { name: 'add' } },
    { choice: { type: 'named', name: 'add' }, legacy: true },
  ],
  [
    'decodeToolUse: legacy function_call none',
    { functions: [add.function], function_call: 'none' },
    { choice: { type: 'none' } },
  ],
])('%s', (_, body, expected) => {
  expect(toolUse(body as Record<string, unknown>)).toMatchObject(expected);
});

test.each<[string, object, string]>([
  ['tools that are no list', { tools: {} }, 'tools must be an array.'],
  ['a tool without a name', { tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name must be'],
  [
    'parameters that are no object',
    { tools: [{ function: { name: 'x', parameters: 1 } }] },
    'tools[0].function.parameters',
  ],
  ['an unknown choice', { tools: [add], tool_choice: 'perhaps' }, 'tool_choice must be'],
  ['a tool that was not offered', { tools: [add], tool_choice: named('sub') }, 'tool_choice must be one of the tools'],
  ['a call without tools', { tool_choice: 'required' }, 'tools must be given when a call is required.'],
  [
    'an allowed tool that was not offered',
    { tools: [add], tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('sub')] } } },
    'tool_choice.allowed_tools.tools[0] must be one of the tools',
  ],
  [
    'an unknown legacy function',
    { functions: [add.function], function_call: { name: 'sub' } },
    'function_call must be',
  ],
])('decodeToolUse: rejects %s', (_, body, sentence) => {
  expect(() => toolUse(body as Record<string, unknown>)).toThrow(sentence);
});
