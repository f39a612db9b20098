import { describe, expect, test } from 'vitest';
import type { GenerationControls } from '../../core/request.ts';
import { whole } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { ResponseStore } from '../../store/responses.ts';
import { ownDocuments } from '../documents/library.ts';
import { dialectParts } from '../testing/doubles.ts';
import { decode } from './decode.ts';

function decoded(body: JsonObject, store = new ResponseStore().of('')) {
  return whole(decode({ input: 'Hi', ...body }, { ...dialectParts(), store, own: ownDocuments({}, {}) }));
}

describe('decode: controls', () => {
  test.each<[JsonObject, Partial<GenerationControls>]>([
    [{}, { maxTokens: 2048, overflow: 'refuse', logprobs: undefined, stop: [], reasoning: undefined }],
    [{ max_output_tokens: 16 }, { maxTokens: 16 }],
    [{ max_output_tokens: -1 }, { maxTokens: 2048 }],
    [{ max_length: 20 }, { maxTokens: 20 }],
    [{ max_length: 20, max_output_tokens: 16 }, { maxTokens: 16 }],
    [{ truncation: 'auto' }, { overflow: 'trim' }],
    [{ truncation: 'disabled' }, { overflow: 'refuse' }],
    [{ truncation: null }, { overflow: 'refuse' }],
    [{ stop: 'END' }, { stop: ['END'] }],
    [{ stop_sequence: ['END'] }, { stop: ['END'] }],
    [{ top_logprobs: 3 }, { logprobs: undefined }],
    [{ include: ['message.output_text.logprobs'] }, { logprobs: 0 }],
    [{ include: ['message.output_text.logprobs'], top_logprobs: 99 }, { logprobs: 20 }],
    [{ reasoning: { effort: 'low' } }, { reasoning: { type: 'share', share: 0.25 } }],
    [{ reasoning_effort: 'high' }, { reasoning: { type: 'share', share: 0.75 } }],
    [{ reasoning_effort: 'high', reasoning: { effort: 'none' } }, { reasoning: { type: 'share', share: 0 } }],
    [{ reasoning: { effort: 'low' }, thinking_budget_tokens: 7 }, { reasoning: { type: 'tokens', tokens: 7 } }],
    [{ reasoning: { effort: 'xhigh', summary: 'auto' } }, { reasoning: undefined }],
  ])('%j', (body, controls) => expect(decoded(body).request.controls).toMatchObject(controls));

  test.each<[JsonObject, object]>([
    [
      { temperature: 0.2, top_p: 0.5, top_k: 7 },
      { temperature: 0.2, topP: 0.5, topK: 7 },
    ],
    [{ presence_penalty: 0.5 }, { presencePenalty: 0.5, frequencyPenalty: 0 }],
    [{ frequency_penalty: 1 }, { presencePenalty: 0, frequencyPenalty: 1 }],
    [
      { seed: 42, min_p: 0.1 },
      { seed: 42, minP: 0.1 },
    ],
  ])('%j is applied to sampling', (body, sampling) =>
    expect(decoded(body).request.controls.sampling).toMatchObject(sampling),
  );
});

test('decode: the response returns the settings of the request, or the defaults', () => {
  expect(decoded({}).response).toEqual({
    id: expect.stringMatching(/^resp_/),
    object: 'response',
    created_at: expect.any(Number),
    completed_at: null,
    status: 'queued',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: dialectParts().modelName(),
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: true,
    temperature: 0.7,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 0.9,
    presence_penalty: 0,
    frequency_penalty: 0,
    truncation: 'disabled',
    usage: null,
    metadata: {},
  });
  const asked = {
    background: true,
    instructions: 'Be kind.',
    max_output_tokens: 16,
    max_tool_calls: 2,
    parallel_tool_calls: false,
    prompt_cache_key: 'key',
    reasoning: { effort: 'low', summary: 'auto' },
    safety_identifier: 'someone',
    temperature: 0,
    text: { format: { type: 'json_object' }, verbosity: 'low' },
    tool_choice: 'none',
    top_logprobs: 2,
    top_p: 0.5,
    presence_penalty: 1,
    frequency_penalty: -1,
    truncation: 'auto',
    metadata: { topic: 'tests' },
  };
  expect(decoded(asked).response).toMatchObject(asked);
});

test('decode: instructions are the first system message', () => {
  const { request: chat } = decoded({
    instructions: 'Be kind.',
    parallel_tool_calls: false,
    chat_template_kwargs: { a: 1 },
  });
  expect(chat.conversation.messages.map(({ role }) => role)).toEqual(['system', 'user']);
  expect(chat).toMatchObject({ parallelToolCalls: false, templateVariables: { a: 1 }, reasoning: { separate: true } });
});

const schema = { type: 'object', properties: {} };

test.each<[unknown, object, object]>([
  [null, { type: 'text' }, { type: 'text' }],
  [{ type: 'text' }, { type: 'text' }, { type: 'text' }],
  [{ type: 'json_object' }, { type: 'json' }, { type: 'json_object' }],
  [
    { type: 'json_schema', name: 'x', schema, strict: false },
    { type: 'schema', schema },
    { type: 'json_schema', name: 'x', description: null, schema, strict: false },
  ],
])('decode: text.format %j', (format, output, echo) => {
  const { request: chat, response } = decoded({ text: { format } });
  expect([chat.output, response.text.format]).toEqual([output, echo]);
});

describe('decode: tools', () => {
  const look = { type: 'function', name: 'look', description: 'Looks', parameters: schema, strict: false };
  const bare = { type: 'function', name: 'wait' };

  test('functions are offered, and returned with every key', () => {
    const { request: chat, response } = decoded({ tools: [look, bare] });
    expect(chat.conversation.tools).toEqual([
      { name: 'look', description: 'Looks', parameters: schema },
      { name: 'wait', parameters: { type: 'object', properties: {} } },
    ]);
    expect(response.tools).toEqual([look, { ...bare, description: null, parameters: null, strict: true }]);
  });

  test('built-in tools, and a search without access to the web, are skipped and named', () => {
    const search = { type: 'web_search', external_web_access: false };
    const { request: chat, response, notices } = decoded({ tools: [search, bare, { type: 'computer_use' }] });
    expect(chat.hosted).toBeUndefined();
    expect(chat.conversation.tools.map(({ name }) => name)).toEqual(['wait']);
    expect([response.tools.length, notices.ignored]).toEqual([1, ['tools (web_search)', 'tools (computer_use)']]);
  });

  test('MCP servers run on the server, without what their requests should carry', () => {
    const served = {
      type: 'mcp',
      server_label: 'tools',
      server_url: 'https://tools.example/mcp',
      require_approval: 'never',
    };
    const sent = { ...served, allowed_tools: { tool_names: ['echo'] }, headers: { a: 'b' }, authorization: 'secret' };
    const { request: chat, response, notices } = decoded({ tools: [sent, bare] });
    expect(chat.hosted?.mcp).toMatchObject([{ name: 'tools', url: served.server_url, field: 'tools[0] (tools)' }]);
    expect(['echo', 'other'].map((name) => chat.hosted?.mcp?.[0]?.offers({ name, inputSchema: {} }))).toEqual([
      true,
      false,
    ]);
    expect(JSON.stringify(response.tools)).not.toMatch(/secret|headers/);
    expect(notices.ignored).toEqual(['tools[0].headers', 'tools[0].authorization']);
    expect(decoded({ tools: [served], tool_choice: 'none' }).request.hosted).toBeUndefined();
  });

  test('on a server without a search, one that is offered beside functions is left out and named', () => {
    const offer = { tools: [{ type: 'web_search' }, bare] };
    const { request: chat, notices } = decoded(offer);
    expect([chat.hosted, notices.ignored]).toEqual([undefined, ['tools (web_search)']]);
    // The chat refuses these.
    for (const body of [{ tools: [{ type: 'web_search' }] }, { ...offer, tool_choice: { type: 'web_search' } }]) {
      expect(decoded(body).request.hosted).toHaveProperty('search');
    }
    const parts = dialectParts();
    const searching = { ...parts, controlLimits: () => ({ ...parts.controlLimits(), searchesWeb: true }) };
    const store = new ResponseStore().of('');
    expect(
      whole(decode({ input: 'Hi', ...offer }, { ...searching, store, own: ownDocuments({}, {}) })).request.hosted,
    ).toHaveProperty('search');
  });

  test('members of a namespace get a prefix only if their name is taken', () => {
    const space = { type: 'namespace', name: 'sky', tools: [bare, { ...bare, name: 'rain' }] };
    const { request: chat, offered, response } = decoded({ tools: [bare, space] });
    expect(chat.conversation.tools.map(({ name }) => name)).toEqual(['wait', 'sky__wait', 'rain']);
    expect(offered.map(({ namespace }) => namespace)).toEqual([undefined, 'sky', 'sky']);
    expect(response.tools).toHaveLength(1);
  });

  test('a custom tool has one argument, and its grammar in the description', () => {
    const format = { type: 'grammar', syntax: 'lark', definition: 'start: "a"' };
    const { request: chat } = decoded({
      tools: [{ type: 'custom', name: 'patch', description: 'Changes files', format }],
    });
    expect(chat.conversation.tools).toEqual([
      {
        name: 'patch',
        description: 'Changes files\n\nThe input follows this grammar:\nstart: "a"',
        parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
      },
    ]);
  });

  test.each<[unknown, object, string[]]>([
    [undefined, { type: 'auto' }, ['look', 'wait']],
    ['none', { type: 'none' }, ['look', 'wait']],
    ['required', { type: 'required' }, ['look', 'wait']],
    [{ type: 'function', name: 'look' }, { type: 'named', name: 'look' }, ['look', 'wait']],
    [
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'wait' }] },
      { type: 'required' },
      ['wait'],
    ],
  ])('tool_choice %j', (wanted, choice, names) => {
    const { request: chat, response } = decoded({ tools: [look, bare], tool_choice: wanted });
    expect([chat.toolChoice, chat.conversation.tools.map(({ name }) => name)]).toEqual([choice, names]);
    expect(response.tool_choice).toEqual(wanted ?? 'auto');
  });
});

describe('decode: previous_response_id', () => {
  const message = (id: string, role: string, words: string) => ({ id, type: 'message', role, content: words });
  const store = new ResponseStore().of('');
  store.put({
    id: 'resp_b',
    response: { status: 'completed', instructions: 'Be rude.' },
    context: [message('msg_1', 'user', 'One'), message('msg_2', 'assistant', 'Two')],
    input: [message('msg_3', 'user', 'Three')],
    output: [message('msg_4', 'assistant', 'Four')],
  });
  store.put({ id: 'resp_c', response: { status: 'in_progress' }, context: [], input: [], output: [] });

  test('prepends the earlier conversation, without its instructions', () => {
    const { request: chat, context, input, response } = decoded({ previous_response_id: 'resp_b' }, store);
    expect(chat.conversation.messages.map(({ content: [part] }) => part?.type === 'text' && part.text)).toEqual([
      'One',
      'Two',
      'Three',
      'Four',
      'Hi',
    ]);
    expect([context.length, input.length, response.previous_response_id]).toEqual([4, 1, 'resp_b']);
  });

  test.each(['resp_a', 'resp_c', 5])('%j is rejected', (id) =>
    expect(() => decoded({ previous_response_id: id }, store)).toThrow(
      'previous_response_id must be the id of a finished response that is still stored.',
    ),
  );
});

test.each<[JsonObject, string]>([
  [{ input: null }, 'input must be'],
  [{ input: [] }, 'input must be a string or items that say something.'],
  [{ instructions: 5 }, 'instructions must be a string.'],
  [{ stream: 'yes' }, 'stream must be true or false.'],
  [{ store: 1 }, 'store must be true or false.'],
  [{ max_output_tokens: 1.5 }, 'max_output_tokens must be an integer.'],
  [{ max_output_tokens: '16' }, 'max_output_tokens must be an integer.'],
  [{ temperature: 'hot' }, 'temperature must be a number.'],
  [{ top_p: [] }, 'top_p must be a number.'],
  [{ top_logprobs: 'all' }, 'top_logprobs must be an integer.'],
  [{ truncation: 'some' }, 'truncation must be "disabled" or "auto".'],
  [{ include: 'all' }, 'include must be an array.'],
  [{ include: [5] }, 'include must be an array of strings.'],
  [{ metadata: [] }, 'metadata must be an object.'],
  [{ reasoning: 'high' }, 'reasoning must be an object.'],
  [{ reasoning: { effort: 5 } }, 'reasoning.effort must be a string.'],
  [{ text: 'json' }, 'text must be an object.'],
  [{ text: { format: 'json' } }, 'text.format must be an object.'],
  [{ text: { format: { type: 'xml' } } }, 'text.format.type must be "text" or "json_object" or "json_schema".'],
  [{ text: { format: { type: 'json_schema' } } }, 'text.format.schema must be an object.'],
  [{ tools: {} }, 'tools must be an array.'],
  [{ tools: ['look'] }, 'tools[0] must be an object.'],
  [{ tools: [{ type: 'function' }] }, 'tools[0].name must be a string.'],
  [{ tools: [{ name: 'look' }] }, 'tools[0].type must be a string.'],
  [{ tools: [{ type: 'function', name: 'look', parameters: [] }] }, 'tools[0].parameters must be an object.'],
  [{ tool_choice: 'any' }, 'tool_choice must be "auto" or "none" or "required".'],
  [{ tool_choice: 5 }, 'tool_choice must be a string or an object.'],
  [{ tool_choice: { type: 'function' } }, 'tool_choice.name must be a string.'],
  [{ tools: [{ type: 'mcp', server_label: 'a' }] }, 'tools[0].server_url must be'],
  [{ tool_choice: { type: 'web_search' } }, 'tool_choice is not possible'],
  [{ conversation: 'conv_1' }, 'conversation is not possible'],
  [{ background: true, store: false }, 'store must be true for a response in the background.'],
])('decode: rejects %j', (body, sentence) => expect(() => decoded(body)).toThrow(sentence));

test('decode: null counts as absent for every field', () => {
  const fields = Object.keys(decoded({}).response);
  const nothing = Object.fromEntries(
    [...fields, 'include', 'stream', 'conversation', 'stop'].map((field) => [field, null]),
  );
  expect(decoded(nothing).response).toEqual(decoded({}).response);
});

test('decode: background is false for a stream', () => {
  const { stream, response } = decoded({ background: true, stream: true });
  expect([stream, response.background]).toEqual([true, false]);
});
