import { expect, test } from 'vitest';
import type { Message } from '../../chat/messages.ts';
import { whole } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { controlLimits, dialectParts } from '../testing/doubles.ts';
import { decode } from './decode.ts';

const hello = [{ role: 'user', content: 'Hi' }];
const read = (body: JsonObject) => whole(decode({ messages: hello, max_tokens: 16, ...body }, dialectParts()));

/** The conversation as a person reads it. */
function describeMessages(body: JsonObject): string[] {
  return read(body).request.conversation.messages.map((message: Message) => {
    const words = message.content.map((part) => (part.type === 'text' ? part.text : '?')).join('|');
    const calls =
      message.role === 'assistant' ? (message.toolCalls ?? []).map(({ name, json }) => ` ${name}${json}`) : [];
    const thoughts = message.role === 'assistant' && message.reasoning ? `(${message.reasoning}) ` : '';
    const result = message.role === 'tool' ? `[${message.callId} ${message.toolName ?? '?'}] ` : '';
    return `${message.role}: ${thoughts}${result}${words}${calls.join('')}`;
  });
}

const text = (words: string) => ({ type: 'text', text: words });
const user = (...content: unknown[]) => ({ role: 'user', content });
const assistant = (...content: unknown[]) => ({ role: 'assistant', content });
const toolUse = (id: string, name: string, input: unknown) => ({ type: 'tool_use', id, name, input });
const toolResult = (id: string, more: object = {}) => ({ type: 'tool_result', tool_use_id: id, ...more });

test.each<[string, JsonObject, string[]]>([
  ['a text', { messages: hello }, ['user: Hi']],
  ['a system prompt', { system: 'Be brief.' }, ['system: Be brief.', 'user: Hi']],
  [
    'system blocks',
    { system: [text('One.'), { ...text('Two.'), cache_control: { type: 'ephemeral' } }] },
    ['system: One.\nTwo.', 'user: Hi'],
  ],
  [
    'the billing line of a coding agent',
    { system: [text('x-anthropic-billing-header: cc_version=2.1; cch=a1b2c;'), text('Be brief.')] },
    ['system: x-anthropic-billing-header: cc_version=2.1; cch=a1b2c;\nBe brief.', 'user: Hi'],
  ],
  ['an empty system prompt', { system: '' }, ['user: Hi']],
  [
    'a system message at the start',
    { system: 'A', messages: [{ role: 'system', content: 'B' }, ...hello] },
    ['system: A\nB', 'user: Hi'],
  ],
  [
    'a later system message',
    {
      messages: [...hello, { role: 'system', content: [text('It is 9.')] }, assistant(text('Yes?')), user(text('Go'))],
    },
    ['user: Hi\n<system>\nIt is 9.\n</system>', 'assistant: Yes?', 'user: Go'],
  ],
  [
    'consecutive messages of one role',
    { messages: [user(text('a'), text('b')), user(text('c')), assistant(text('d'), text('e')), assistant(text('f'))] },
    ['user: a\nb\nc', 'assistant: de\nf'],
  ],
  [
    'calls and their results',
    {
      messages: [
        ...hello,
        assistant(
          { type: 'thinking', thinking: 'hm', signature: 's' },
          text('I look.'),
          toolUse('t1', 'look', { at: 'sky' }),
          toolUse('t2', 'listen', undefined),
        ),
        user(
          text('Well?'),
          toolResult('t1', { content: 'blue' }),
          toolResult('t2', { content: [text('a'), text('b')] }),
          toolResult('t3'),
        ),
      ],
    },
    [
      'user: Hi',
      'assistant: (hm) I look. look{"at":"sky"} listen{}',
      'tool: [t1 look] blue',
      'tool: [t2 listen] a\nb',
      'tool: [t3 ?] ',
      'user: Well?',
    ],
  ],
  [
    'a system message between call and result',
    { messages: [...hello, assistant(toolUse('t', 'f', {})), { role: 'system', content: 'S' }, user(toolResult('t'))] },
    ['user: Hi', 'assistant:  f{}', 'tool: [t f] ', 'user: <system>\nS\n</system>'],
  ],
  [
    'a failed call',
    { messages: [user(toolResult('t', { content: 'no file', is_error: true }))] },
    ['tool: [t ?] Error: no file'],
  ],
  [
    'redacted thinking',
    { messages: [...hello, assistant({ type: 'redacted_thinking', data: 'x' }, text('a'))] },
    ['user: Hi', 'assistant: a'],
  ],
  [
    'a document as text',
    {
      messages: [
        user({
          type: 'document',
          title: 'T',
          context: 'C',
          source: { type: 'text', media_type: 'text/plain', data: 'Words' },
        }),
      ],
    },
    ['user: <document>\nTitle: T\nContext: C\nWords\n</document>'],
  ],
  [
    'a document of blocks',
    { messages: [user({ type: 'document', source: { type: 'content', content: [text('a'), text('b')] } })] },
    ['user: <document>\na\nb\n</document>'],
  ],
  [
    'a search result',
    {
      messages: [
        user(
          toolResult('t', {
            content: [{ type: 'search_result', source: 'https://a.example', title: 'T', content: [text('found')] }],
          }),
        ),
      ],
    },
    ['tool: [t ?] <search_result>\nTitle: T\nSource: https://a.example\nfound\n</search_result>'],
  ],
  ['a prefill', { messages: [...hello, assistant(text('The answer is'))] }, ['user: Hi', 'assistant: The answer is']],
  ['an empty prefill', { messages: [...hello, { role: 'assistant', content: ' ' }] }, ['user: Hi']],
])('decodeConversation: %s', (_, body, expected) => {
  expect(describeMessages(body)).toEqual(expected);
});

test('decode: ignores unknown blocks, server tools and calls without results, with their paths', () => {
  const { request, notices } = read({
    messages: [
      user(text('a'), { type: 'container_upload', file_id: 'f' }),
      assistant({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
      ...hello,
    ],
    tools: [
      { type: 'code_execution_20250825', name: 'code_execution' },
      { name: 'f', input_schema: { type: 'object' } },
    ],
  });
  expect(notices.ignored).toEqual(['messages[0].content[1]', 'messages[1].content[0]', 'tools[0]']);
  expect(request.conversation.tools).toEqual([{ name: 'f', parameters: { type: 'object' } }]);
});

test('decode: adds descriptions to client tools', () => {
  const { request, notices } = read({
    tools: [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
      { type: 'memory_20250818', name: 'memory' },
      { type: 'computer_20250124', name: 'computer', input_schema: { type: 'object' }, description: 'mine' },
    ],
  });
  expect(notices.ignored).toEqual([]);
  expect(request.conversation.tools.map(({ name }) => name)).toEqual([
    'bash',
    'str_replace_based_edit_tool',
    'memory',
    'computer',
  ]);
  for (const { description, parameters } of request.conversation.tools) {
    expect({ description, type: parameters.type }).toEqual({ description: expect.any(String), type: 'object' });
  }
});

test('decode: with --memory the server runs the memory tool itself', () => {
  const parts = { ...dialectParts(), controlLimits: () => ({ ...controlLimits, remembers: true }) };
  const tools = [
    { type: 'memory_20250818', name: 'memory' },
    { name: 'f', input_schema: { type: 'object' } },
  ];
  const { request } = whole(decode({ messages: hello, max_tokens: 16, tools }, parts));
  expect(request.hosted?.memory).toBe(true);
  expect(request.conversation.tools.map(({ name }) => name)).toEqual(['f']);
  const twice = [...tools, { name: 'memory', input_schema: { type: 'object' } }];
  expect(() => whole(decode({ messages: hello, max_tokens: 16, tools: twice }, parts))).toThrow('there twice');
});

test.each<[unknown, object]>([
  [undefined, { toolChoice: { type: 'auto' }, parallelToolCalls: true }],
  [null, { toolChoice: { type: 'auto' } }],
  [
    { type: 'auto', disable_parallel_tool_use: true },
    { toolChoice: { type: 'auto' }, parallelToolCalls: false },
  ],
  [{ type: 'any' }, { toolChoice: { type: 'required' } }],
  [{ type: 'none' }, { toolChoice: { type: 'none' } }],
  [
    { type: 'tool', name: 'f', disable_parallel_tool_use: false },
    { toolChoice: { type: 'named', name: 'f' }, parallelToolCalls: true },
  ],
])('decode: tool_choice %j', (tool_choice, expected) => {
  expect(read({ tool_choice }).request).toMatchObject(expected);
});

const share = (part: number) => ({ type: 'share', share: part });
const tokens = (count: number) => ({ type: 'tokens', tokens: count });

test.each<[JsonObject, string | undefined, object | undefined, object]>([
  [{}, undefined, undefined, {}],
  [{ thinking: { type: 'disabled' } }, 'none', share(0), {}],
  [{ thinking: { type: 'disabled' }, output_config: { effort: 'max' } }, 'none', share(0), {}],
  [{ thinking: { type: 'enabled', budget_tokens: 2048 } }, undefined, tokens(2048), { enable_thinking: true }],
  [
    { thinking: { type: 'enabled', budget_tokens: 2048 }, output_config: { effort: 'low' } },
    'low',
    tokens(2048),
    { enable_thinking: true },
  ],
  [{ thinking: { type: 'enabled' } }, undefined, undefined, { enable_thinking: true }],
  [{ thinking: { type: 'adaptive', display: 'omitted' } }, undefined, undefined, {}],
  [{ thinking: { type: 'between_tools' } }, undefined, undefined, {}],
  [{ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }, 'high', share(0.75), {}],
  [{ output_config: { effort: 'xhigh' } }, 'high', undefined, {}],
  [{ output_config: { effort: 'max' }, reasoning_effort: 'low' }, 'high', undefined, {}],
  [{ reasoning_effort: 'low' }, 'low', share(0.25), {}],
])('decode: thinking %j', (body, effort, budget, variables) => {
  const { reasoning, templateVariables, controls } = read(body).request;
  expect(reasoning).toEqual({ effort, separate: true });
  expect(controls.reasoning).toEqual(budget);
  expect(templateVariables).toEqual(variables);
});

test('decode: output_config.format and output_format', () => {
  const schema = { type: 'object', properties: {} };
  const format = { type: 'json_schema', schema };
  expect(read({ output_config: { format } }).request.output).toEqual({ type: 'schema', schema });
  expect(read({ output_format: format }).request.output).toEqual({ type: 'schema', schema });
  expect(read({ output_config: { format: null } }).request.output).toEqual({ type: 'text' });
});

test.each<[unknown, number, boolean]>([
  [16, 16, false],
  [undefined, 2048, false],
  [null, 2048, false],
  [32_000, 32_000, false],
  [1e15, 2 ** 31 - 1, false],
  [0, 1, true],
])('decode: max_tokens %j limits the reply to %i tokens', (max_tokens, expected, warmUp) => {
  const decoded = read({ max_tokens });
  expect(decoded.request.controls.maxTokens).toBe(expected);
  expect(decoded.facts.warmUp).toBe(warmUp);
});

test('decode: max_tokens is limited by the cap of the server', () => {
  const parts = dialectParts({ controlLimits: () => ({ ...controlLimits, maxTokensLimit: 50 }) });
  expect(whole(decode({ messages: hello, max_tokens: 32_000 }, parts)).request.controls.maxTokens).toBe(50);
});

test('decode: sampling fields, stop texts and native controls', () => {
  const { controls, memory } = read({
    temperature: 0.2,
    top_p: 0.9,
    top_k: 7,
    min_p: 0.05,
    stop_sequences: ['END', ''],
    stop_sequence: ['other'],
    seed: 5,
    memory: 'Remember.',
  }).request;
  expect(controls).toMatchObject({ stop: ['END'], overflow: 'refuse' });
  expect(controls.sampling).toMatchObject({ temperature: 0.2, topP: 0.9, topK: 7, minP: 0.05, seed: 5 });
  expect(memory).toBe('Remember.');
  expect(read({ stop_sequence: ['other'] }).request.controls.stop).toEqual(['other']);
});

test.each<[JsonObject, string]>([
  [{ messages: undefined }, 'messages must be an array.'],
  [{ messages: [] }, 'messages must be an array with at least one message of the user or the assistant.'],
  [{ messages: ['Hi'] }, 'messages[0] must be an object.'],
  [{ messages: [{ role: 'tool', content: '' }] }, 'messages[0].role must be one of user, assistant, system.'],
  [{ messages: [{ role: 'user' }] }, 'messages[0].content must be a string or an array of content blocks.'],
  [{ messages: [user('Hi')] }, 'messages[0].content[0] must be an object.'],
  [{ messages: [user({ text: 'Hi' })] }, 'messages[0].content[0].type must be a string.'],
  [{ messages: [user({ type: 'text' })] }, 'messages[0].content[0].text must be a string.'],
  [
    { messages: [user(toolUse('t', 'f', {}))] },
    'messages[0].content[0].type must be another one: only the assistant uses tools.',
  ],
  [
    { messages: [assistant(toolResult('t'))] },
    'messages[0].content[0].type must be another one: results come from the user.',
  ],
  [{ messages: [assistant(toolUse('t', 'f', '{}'))] }, 'messages[0].content[0].input must be an object.'],
  [{ messages: [user({ type: 'tool_result' })] }, 'messages[0].content[0].tool_use_id must be a string.'],
  [{ system: 5 }, 'system must be a string or an array of content blocks.'],
  [{ model: 5 }, 'model must be a string.'],
  [{ max_tokens: '16' }, 'max_tokens must be a whole number, 0 or more.'],
  [{ max_tokens: -1 }, 'max_tokens must be a whole number, 0 or more.'],
  [{ max_tokens: 1.5 }, 'max_tokens must be a whole number, 0 or more.'],
  [{ temperature: 'hot' }, 'temperature must be a number.'],
  [{ top_k: [] }, 'top_k must be a number.'],
  [{ stop_sequences: 'END' }, 'stop_sequences must be an array.'],
  [{ stop_sequences: [5] }, 'stop_sequences[0] must be a string.'],
  [{ stop_sequences: new Array(257).fill('END') }, 'stop_sequences must be at most 256 texts.'],
  [
    { stop_sequences: ['a'.repeat(50_001)] },
    'stop_sequences must be at most 50000 characters, all texts together; these are 50001.',
  ],
  [{ tools: {} }, 'tools must be an array.'],
  [{ tools: [{ name: 'f' }] }, 'tools[0].input_schema must be an object.'],
  [{ tools: [{ name: '', input_schema: {} }] }, 'tools[0].name must be a string that is not empty.'],
  [{ tool_choice: 'auto' }, 'tool_choice must be an object.'],
  [{ tool_choice: { type: 'required' } }, 'tool_choice.type must be one of auto, any, tool, none.'],
  [{ tool_choice: { type: 'tool' } }, 'tool_choice.name must be a string that is not empty.'],
  [{ thinking: { type: 'on' } }, 'thinking.type must be one of enabled, adaptive, between_tools, disabled.'],
  [
    { thinking: { type: 'enabled', budget_tokens: 'many' } },
    'thinking.budget_tokens must be a whole number, 0 or more.',
  ],
  [{ output_config: { effort: 'extreme' } }, 'output_config.effort must be one of low, medium, high, xhigh, max.'],
  [{ output_config: { format: { type: 'json' } } }, 'output_config.format.type must be one of json_schema.'],
  [{ output_format: { type: 'json_schema' } }, 'output_format.schema must be an object.'],
  [{ thread: { type: 'create' } }, 'thread is not possible: this server keeps no conversations; send all messages.'],
  [{ compaction: { type: 'forget' } }, 'compaction.type must be'],
  [
    { compaction: { type: 'summarize' }, context_management: { edits: [] } },
    'compaction must be sent without context_management.',
  ],
  [
    { messages: [user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '' } })] },
    'Image input (messages[0].content[0].source.data) is not possible',
  ],
  [
    {
      messages: [
        user(toolResult('t', { content: [{ type: 'image', source: { type: 'url', url: 'https://a.example' } }] })),
      ],
    },
    'Image input (messages[0].content[0].content[0].source.url) is not possible',
  ],
  [
    { messages: [user({ type: 'image', source: { type: 'file', file_id: 'f' } })] },
    'A file of this kind (messages[0].content[0].source) is not possible',
  ],
  [
    { messages: [user({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: '' } })] },
    'A file of this kind (messages[0].content[0].source) is not possible',
  ],
])('decode: rejects %j', (body, sentence) => {
  expect(() => read(body)).toThrow(sentence);
});
