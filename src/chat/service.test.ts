import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { fold } from '../core/fold.ts';
import { builtInAdapters, type ChatAdapter, type ChatTags, tagsWithoutThinking } from './adapters/adapter.ts';
import type { ChatRequest } from './request.ts';
import { chatService } from './service.ts';
import { untimedTemplate } from './testing/inline-template.ts';
import { chatRequest, scriptedText, spoken, time, weather } from './testing/scripted-text.ts';

const template = `{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if tools %}<tool_call>{% endif %}<|im_start|>assistant\n`;
const context = { genkey: '', client: 'test', signal: new AbortController().signal };

function chatWith(
  replies: Parameters<typeof scriptedText>[0],
  options: {
    jinja?: boolean;
    tools?: boolean;
    template?: string;
    silent?: ChatTags;
    system?: string;
    shown?: boolean;
  } = {},
) {
  const script = scriptedText(replies);
  const text = options.template ?? template;
  let ids = 0;
  const warnings: string[] = [];
  const chat = chatService({
    text: script.service,
    tags: (builtInAdapters.ChatML as ChatAdapter).tags,
    tagsWithoutThinking: options.silent,
    templateText: text,
    template: () => (options.jinja || options.shown ? untimedTemplate(text) : Promise.resolve(undefined)),
    templateUse: { chats: options.jinja ?? false, tools: options.tools ?? false, listedTools: options.shown ?? false },
    systemPrompt: options.system ?? '',
    serverVariables: {},
    now: () => new Date(0),
    newCallId: () => `call_${++ids}`,
    warn: (warning) => warnings.push(warning),
  });
  return { ...script, chat, warnings };
}

const picture = { kind: 'image', base64: 'AAAA' } as const;

function withPicture(request: ChatRequest): ChatRequest {
  const { conversation } = request;
  const messages = conversation.messages.map((message) => ({
    ...message,
    content: [...message.content, { type: 'medium', index: 0 } as const],
  }));
  return { ...request, conversation: { ...conversation, messages, media: [picture] } };
}

async function collect(events: AsyncIterable<GenerationEvent>): Promise<GenerationEvent[]> {
  const all: GenerationEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('chatService: plain chat', () => {
  test('renders with the tags of the adapter and replies with text', async () => {
    const { chat, asked } = chatWith(['Hello there']);
    expect((await fold(chat.reply(chatRequest('Hi'), context))).text).toBe('Hello there');
    expect(asked[0]?.prompt).toBe('<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n');
    expect(asked[0]?.stop).toEqual(['<|im_start|>user']);
  });

  test('separates thinking unless the client wants the tags', async () => {
    const reply = '<think>hm</think>Yes.';
    const apart = await fold(chatWith([reply]).chat.reply(chatRequest('Hi'), context));
    expect([apart.reasoning, apart.text]).toEqual(['hm', 'Yes.']);
    const together = chatRequest('Hi', { reasoning: { effort: undefined, separate: false } });
    expect((await fold(chatWith([reply]).chat.reply(together, context))).text).toBe(reply);
  });

  test('releases the reservation after the last event and after an error', async () => {
    const good = chatWith(['ok']);
    await collect(good.chat.reply(chatRequest('Hi'), context));
    expect(good.released()).toBe(1);
    const bad = chatWith(['ok']);
    const events = await collect(
      bad.chat.reply(chatRequest('Hi', { toolChoice: { type: 'named', name: 'x' } }), context),
    );
    expect(events.map(({ type }) => type)).toEqual(['error']);
    expect(bad.released()).toBe(1);
  });

  test.each([1, 2])(
    'replies: a reader that ends at an error does not abort the request (%i at once)',
    async (count) => {
      const failed: GenerationEvent = { type: 'error', error: new AppError('stopping', {}) };
      const { chat, contexts, released } = chatWith([[failed], [failed]]);
      const replies = chat.replies(chatRequest('Hi'), context, count);
      for (const reply of replies) await expect(fold(reply)).rejects.toThrow(failed.error);
      expect([contexts[0]?.signal.aborted, released()]).toEqual([false, 1]);
    },
  );

  test('replies: several replies use one reservation, other requests run between them', async () => {
    const { chat, released, passed } = chatWith(['one', 'two', 'three']);
    const replies = chat.replies(chatRequest('Hi'), context, 3);
    expect(await Promise.all(replies.map(async (reply) => (await fold(reply)).text))).toEqual(['one', 'two', 'three']);
    expect([released(), passed()]).toEqual([1, 2]);
  });

  test('replies: those who follow the request get the events as the dialect does, by the number of the reply', async () => {
    const { chat } = chatWith(['<think>hm</think>Yes.', 'No.']);
    const seen: string[] = [];
    const watch = { replyEvent: (reply: number, { type }: GenerationEvent) => void seen.push(`${reply} ${type}`) };
    const all = await Promise.all(chat.replies(chatRequest('Hi'), { ...context, watch }, 2).map(collect));
    expect(seen).toEqual(all.flatMap((events, reply) => events.map(({ type }) => `${reply} ${type}`)));
    expect(seen).toContain('0 reasoning-delta');
  });

  test('replies: each reply has its own seed', async () => {
    const { chat, asked } = chatWith(['one', 'two']);
    const request = chatRequest('Hi');
    const controls = { ...request.controls, sampling: { ...request.controls.sampling, seed: 7 } };
    await Promise.all(chat.replies({ ...request, controls }, context, 2).map(fold));
    expect(asked.map(({ sampling }) => sampling.seed)).toEqual([7, 8]);
  });

  test('sends media with their placeholders for each reply', async () => {
    const { chat, asked } = chatWith(['one', 'two']);
    await Promise.all(chat.replies(withPicture(chatRequest('What is it?')), context, 2).map(fold));
    expect(asked.map(({ media }) => media)).toEqual([[picture], [picture]]);
    expect(asked[0]?.prompt).toContain('What is it?\n(Attached Image 1)\n<|im_end|>');
  });

  test('an answer in a format has a grammar', async () => {
    const { chat, asked } = chatWith(['{}']);
    await fold(chat.reply(chatRequest('Hi', { output: { type: 'schema', schema: weather.parameters } }), context));
    expect(asked[0]?.grammar?.gbnf).toContain('city');
    expect(asked[0]?.grammar?.triggers).toBeUndefined();
  });
});

describe('chatService: tools in the template', () => {
  const call = 'Let me see.<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>';
  const ask = (changes: Partial<ChatRequest> = {}) => chatRequest('Weather?', { tools: [weather, time], ...changes });

  test('streams calls and finishes with tool-calls', async () => {
    const { chat, asked } = chatWith([call], { jinja: true, tools: true });
    const events = await collect(chat.reply(ask(), context));
    const generation = await fold(replay(events));
    expect(generation).toMatchObject({ text: 'Let me see.', reason: 'tool-calls' });
    expect(generation.toolCalls).toEqual([{ id: 'call_1', name: 'get_weather', json: '{"city": "Paris"}' }]);
    expect(events.filter(({ type }) => type === 'tool-delta').length).toBeGreaterThan(1);
    expect(asked[0]?.grammar?.triggers).toHaveLength(1);
  });

  test('a required call has a grammar from the first token', async () => {
    const { chat, asked } = chatWith([call], { jinja: true, tools: true });
    await fold(chat.reply(ask({ toolChoice: { type: 'named', name: 'get_time' } }), context));
    expect(asked[0]?.grammar).toMatchObject({ retainState: false });
    expect(asked[0]?.grammar?.triggers).toBeUndefined();
    expect(asked[0]?.grammar?.gbnf).not.toContain('get_weather');
  });

  test('a call that is cut off finishes with length', async () => {
    const cut = spoken(call.slice(0, 60)).map((event) =>
      event.type === 'finish' ? { ...event, reason: 'length' as const, cause: 'limit' as const } : event,
    );
    const { chat } = chatWith([cut], { jinja: true, tools: true });
    expect((await fold(chat.reply(ask(), context))).reason).toBe('length');
  });

  test('with an output format the grammar allows calls or that format', async () => {
    const { chat, asked } = chatWith(['{"sky":"blue"}'], { jinja: true, tools: true });
    const schema = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] };
    const generation = await fold(chat.reply(ask({ output: { type: 'schema', schema } }), context));
    expect(generation).toMatchObject({ text: '{"sky":"blue"}', reason: 'stop' });
    expect(asked[0]?.grammar?.triggers).toBeUndefined();
    for (const word of ['get_weather', 'get_time', 'sky']) expect(asked[0]?.grammar?.gbnf).toContain(word);
  });

  test('formats without a grammar use two-step calls, and the answer keeps its format', async () => {
    const decided = JSON.stringify({ reasoning: 'r', final_decision: 'no', tool_name: 'null' });
    const other = '{% for m in messages %}{{ m.content }}{% endfor %}{{ tools | tojson if tools }}';
    const { chat, asked } = chatWith([decided, '{}'], { jinja: true, tools: true, template: other });
    const generation = await fold(chat.reply(ask({ output: { type: 'json' } }), context));
    expect(generation).toMatchObject({ text: '{}', reason: 'stop' });
    expect(asked.map(({ grammar }) => grammar?.triggers)).toEqual([undefined, undefined]);
    expect(asked[1]?.grammar?.gbnf).not.toContain('get_weather');
  });

  test('tool choice none: the prompt has no tools', async () => {
    const { chat, asked } = chatWith(['No.'], { jinja: true, tools: true });
    await fold(chat.reply(ask({ toolChoice: { type: 'none' } }), context));
    expect(asked[0]?.prompt).not.toContain('<tool_call>');
    expect(asked[0]?.grammar).toBeUndefined();
  });
});

describe('chatService: tools in a known format, without --jinjatools', () => {
  const listing = template.replace('<tool_call>', '{{ tools | tojson }}<tool_call>');
  const call = (city: string) => `<tool_call>\n{"name": "get_weather", "arguments": {"city": "${city}"}}\n</tool_call>`;
  const ask = (changes: Partial<ChatRequest> = {}) => chatRequest('Weather?', { tools: [weather, time], ...changes });
  const shown = { shown: true, template: listing } as const;

  test('one generation in the words of the template; its calls are sent at the end, each in one piece', async () => {
    const { chat, asked } = chatWith([`<think>hm</think>Let me see.${call('Paris')}\n${call('Rome')}`], shown);
    const events = await collect(chat.reply(ask(), context));
    expect(events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1])).toEqual(
      // biome-ignore format: the order of the events
      ['start', 'reasoning-delta', 'text-delta', 'tool-start', 'tool-delta', 'tool-end', 'tool-start', 'tool-delta', 'tool-end', 'finish'],
    );
    expect(events.filter(({ type }) => type === 'tool-delta')).toHaveLength(2);
    expect(await fold(replay(events))).toMatchObject({
      text: 'Let me see.',
      reasoning: 'hm',
      reason: 'tool-calls',
      toolCalls: [{ json: '{"city": "Paris"}' }, { json: '{"city": "Rome"}' }],
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]?.prompt).toContain('The weather in a city');
    expect(asked[0]?.grammar?.triggers).toHaveLength(1);
  });

  test('an answer in words is streamed and takes one generation', async () => {
    const { chat, asked } = chatWith(['It is sunny.'], shown);
    const events = await collect(chat.reply(ask(), context));
    expect(events.filter(({ type }) => type === 'text-delta')).toHaveLength(4);
    expect(await fold(replay(events))).toMatchObject({ text: 'It is sunny.', reason: 'stop', toolCalls: [] });
    expect(asked).toHaveLength(1);
  });

  test.each([{ type: 'required' }, { type: 'named', name: 'get_weather' }] as const)(
    'tool choice $type: the grammar applies from the first token of the only generation',
    async (toolChoice) => {
      const { chat, asked } = chatWith([call('Paris')], shown);
      expect((await fold(chat.reply(ask({ toolChoice }), context))).toolCalls).toHaveLength(1);
      expect(asked.map(({ grammar }) => grammar?.triggers)).toEqual([undefined]);
    },
  );

  test('a named tool is called once, and the model chooses how often it calls others', async () => {
    const grammars = await Promise.all(
      [{ type: 'required' } as const, { type: 'named', name: 'get_weather' } as const].map(async (toolChoice) => {
        const { chat, asked } = chatWith([call('Paris')], shown);
        await fold(chat.reply(ask({ toolChoice, parallelToolCalls: true }), context));
        return asked[0]?.grammar?.gbnf ?? '';
      }),
    );
    const repeats = /^root ::=.*\)\*/m;
    expect(grammars.map((gbnf) => repeats.test(gbnf))).toEqual([true, false]);
  });

  test('a call that is cut off has the arguments so far and finishes with length', async () => {
    const cut = spoken(call('Paris').slice(0, 60)).map((event) =>
      event.type === 'finish' ? { ...event, reason: 'length' as const, cause: 'limit' as const } : event,
    );
    const generation = await fold(chatWith([cut], shown).chat.reply(ask(), context));
    expect(generation).toMatchObject({ reason: 'length', toolCalls: [{ json: '{"city": "P' }] });
  });

  test('an error inside a call ends the reply with that error', async () => {
    const failed: GenerationEvent[] = [
      ...spoken(call('Paris').slice(0, 58)).slice(0, -1),
      { type: 'error', error: new AppError('engine-failed', { capability: 'text', reason: 'x' }) },
    ];
    const events = await collect(chatWith([failed], shown).chat.reply(ask(), context));
    expect(events.at(-1)?.type).toBe('error');
  });

  test('tools that do not fit into the context are decided by name', async () => {
    const tooLong: GenerationEvent[] = [
      { type: 'error', error: new AppError('context-overflow', { promptTokens: 5000, contextSize: 2048 }) },
    ];
    const no = JSON.stringify({ reasoning: 'r', final_decision: 'no', tool_name: 'null' });
    const { chat, asked } = chatWith([tooLong, no, 'It is sunny.'], shown);
    expect((await fold(chat.reply(ask(), context))).text).toBe('It is sunny.');
    expect(asked[2]?.memory).toContain('Available Tools');
  });

  test('a conversation that fills half of the context without its tools is refused: agents shorten it then', async () => {
    const error = new AppError('context-overflow', { promptTokens: 5000, contextSize: 2048 });
    const { chat, asked } = chatWith([[{ type: 'error', error }]], shown);
    const long = {
      ...ask(),
      conversation: { ...chatRequest('word '.repeat(1100)).conversation, tools: ask().conversation.tools },
    };
    expect(await collect(chat.reply(long, context))).toEqual([{ type: 'error', error }]);
    expect(asked).toHaveLength(1);
  });

  test('a template that does not show the tools is not used for them', async () => {
    const no = JSON.stringify({ reasoning: 'r', final_decision: 'no', tool_name: 'null' });
    const { chat, asked } = chatWith([no, 'It is sunny.'], { shown: true });
    expect((await fold(chat.reply(ask(), context))).text).toBe('It is sunny.');
    expect(asked[1]?.memory).toContain('Available Tools');
  });

  test('a chat without tools uses the adapter, unless it has calls: then it begins like the chat with tools', async () => {
    const calls = `{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}{% endfor %}<tool_call>{{ tools | tojson if tools }}`;
    const { chat } = chatWith([], { shown: true, template: calls });
    const request = chatRequest('Weather?');
    expect((await chat.render(request)).by).toBe('adapter');
    const turn = { role: 'assistant', content: [], toolCalls: [{ id: 'c', name: 'get_weather', json: '{}' }] } as const;
    const messages = [...request.conversation.messages, turn];
    const summary = { ...request, conversation: { ...request.conversation, messages } };
    expect(await chat.render(summary)).toMatchObject({
      by: 'template',
      prompt: expect.stringContaining('<user>Weather?<assistant>'),
    });
  });
});

describe('chatService: tools without the template', () => {
  const ask = (changes: Partial<ChatRequest> = {}) =>
    chatRequest('Weather in Paris?', { tools: [weather, time], ...changes });
  const decision = (name: string, decided: string) =>
    JSON.stringify({ reasoning: 'r', final_decision: decided, tool_name: name });
  const written = '[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]';

  test('two generations with a grammar: decision, then call', async () => {
    const { chat, asked, released } = chatWith([decision('get_weather', 'yes'), written]);
    const generation = await fold(chat.reply(ask(), context));
    expect(generation).toMatchObject({ text: '', reason: 'tool-calls' });
    expect(generation.toolCalls).toEqual([{ id: 'call_1', name: 'get_weather', json: '{"city":"Paris"}' }]);
    expect(asked.map(({ grammar }) => grammar !== undefined)).toEqual([true, true]);
    expect(released()).toBe(1);
  });

  test('both generations see the media once', async () => {
    const { chat, asked } = chatWith([decision('get_weather', 'yes'), written]);
    await fold(chat.reply(withPicture(ask()), context));
    expect(asked.map(({ media }) => media)).toEqual([[picture], [picture]]);
    for (const { prompt } of asked) expect(prompt.match(/Attached Image/g)).toHaveLength(1);
  });

  test.each([decision('null', 'no'), decision('get_weather', 'no'), 'no JSON'])(
    'after %s it answers in words',
    async (said) => {
      const { chat, asked } = chatWith([said, 'It is sunny.']);
      const generation = await fold(chat.reply(ask(), context));
      expect(generation).toMatchObject({ text: 'It is sunny.', reason: 'stop', toolCalls: [] });
      expect(asked[1]?.memory).toContain('Available Tools');
    },
  );

  test.each([
    ['a call', decision('get_weather', 'yes'), written],
    ['an answer in words', decision('null', 'no'), 'It is sunny.'],
  ])(
    'the decision before %s counts as completion tokens; prompt tokens are those of the last prompt',
    async (_, first, second) => {
      const tokens = (said: string) => Math.ceil(said.length / 3);
      const { usage } = await fold(chatWith([first, second]).chat.reply(ask(), context));
      expect(usage).toEqual({
        promptTokens: 10,
        cachedTokens: 4,
        completionTokens: tokens(first) + tokens(second),
        reasoningTokens: tokens(first),
      });
    },
  );

  test('a named tool needs no decision', async () => {
    const { chat, asked } = chatWith([written]);
    const generation = await fold(chat.reply(ask({ toolChoice: { type: 'named', name: 'get_weather' } }), context));
    expect(generation.toolCalls).toHaveLength(1);
    expect(asked).toHaveLength(1);
  });

  test('a call that cannot be parsed is text', async () => {
    const { chat } = chatWith([decision('get_weather', 'yes'), '[{"type": "func']);
    expect(await fold(chat.reply(ask(), context))).toMatchObject({
      text: '[{"type": "func',
      toolCalls: [],
      reason: 'stop',
    });
  });
});

describe('chatService: calls that the token limit cuts off', () => {
  const cutAt = (written: string): GenerationEvent[] =>
    spoken(written).map((event) => (event.type === 'finish' ? { ...event, reason: 'length', cause: 'limit' } : event));
  const forced = { tools: [weather, time], toolChoice: { type: 'named', name: 'get_weather' } } as const;
  const ask = (written: string, options: Parameters<typeof chatWith>[1] = {}) =>
    fold(chatWith([cutAt(written)], options).chat.reply(chatRequest('Weather?', forced), context));

  test.each([
    ['[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Par', ['{"city": "Par']],
    ['[{"type": "function", "function": {"name": "get_wea', ['']],
    ['[', ['']],
    [
      '[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}, {"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Ro',
      ['{"city":"Paris"}', '{"city": "Ro'],
    ],
  ])('two-step, at %s: has the arguments so far', async (written, jsons) => {
    const { text, toolCalls, reason } = await ask(written);
    expect([text, toolCalls.map(({ json }) => json), reason]).toEqual(['', jsons, 'length']);
    for (const { name, id } of toolCalls) expect([name, id]).toEqual(['get_weather', expect.stringMatching(/^call_/)]);
  });

  test('two-step, at the end of the list: finishes with length and no call', async () => {
    const written = '[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]';
    expect(await ask(written)).toMatchObject({ toolCalls: [{ json: '{"city":"Paris"}' }], reason: 'tool-calls' });
  });

  test.each([
    ['<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par', '{"city": "Par'],
    ['<tool_call>\n{"name": "get_weather", "argu', ''],
    ['<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool', '{"city": "Paris"}'],
  ])('template format, at %j: has the arguments so far', async (written, json) => {
    const { text, toolCalls, reason } = await ask(written, { jinja: true, tools: true });
    expect([text, toolCalls.map((call) => call.json), reason]).toEqual(['', [json], 'length']);
  });

  test('before the name is complete it is text', async () => {
    const { text, toolCalls, reason } = await ask('<tool_call>\n{"name": "get_w', { jinja: true, tools: true });
    expect([text, toolCalls, reason]).toEqual(['<tool_call>\n{"name": "get_w', [], 'length']);
  });
});

describe('chatService: tools that do not fit into the context', () => {
  const tooLong: GenerationEvent[] = [
    { type: 'error', error: new AppError('context-overflow', { promptTokens: 5000, contextSize: 2048 }) },
  ];
  const ask = (changes: Partial<ChatRequest> = {}) => chatRequest('Weather?', { tools: [weather, time], ...changes });
  const yes = JSON.stringify({ reasoning: 'r', final_decision: 'yes', tool_name: 'get_weather' });
  const no = JSON.stringify({ reasoning: 'r', final_decision: 'no', tool_name: 'null' });
  const written = '[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]';

  test('are decided by name and called with the types of their parameters', async () => {
    const { chat, asked } = chatWith([tooLong, yes, tooLong, written]);
    expect(await fold(chat.reply(ask(), context))).toMatchObject({
      reason: 'tool-calls',
      toolCalls: [{ name: 'get_weather' }],
    });
    const prompts = asked.map(({ prompt }) => prompt);
    expect(prompts.map((prompt) => prompt.includes('- get_weather: The weather in a city'))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(prompts[2]).toContain('"required":["city"]');
    expect(prompts[3]).toContain('{"city":"string"}');
    expect(prompts[3]).not.toContain('required');
    expect(asked[3]?.grammar).toEqual(asked[2]?.grammar);
  });

  test('are not listed for an answer in words', async () => {
    const { chat, asked } = chatWith([no, tooLong, 'It is sunny.']);
    expect((await fold(chat.reply(ask(), context))).text).toBe('It is sunny.');
    expect(asked.slice(1).map(({ memory }) => memory.includes('Available Tools'))).toEqual([true, false]);
    expect(asked[2]?.prompt).toBe(asked[1]?.prompt);
  });

  test('are an error if even their names do not fit', async () => {
    const { chat, asked } = chatWith([tooLong, tooLong]);
    await expect(fold(chat.reply(ask(), context))).rejects.toThrow('5000 tokens');
    expect(asked).toHaveLength(2);
  });
});

describe('chatService: schemas that no grammar can express', () => {
  const price = {
    name: 'pay',
    parameters: { type: 'object', properties: { amount: { type: 'number', multipleOf: 0.01 } }, required: ['amount'] },
  };
  const written = '[{"type": "function", "function": {"name": "pay", "arguments": {"amount": 3}}}]';

  test('the tool can be called; one warning', async () => {
    const { chat, asked, warnings } = chatWith([written, written]);
    const request = chatRequest('Pay 3', { tools: [price], toolChoice: { type: 'required' } });
    for (const _ of [1, 2]) {
      expect(await fold(chat.reply(request, context))).toMatchObject({
        reason: 'tool-calls',
        toolCalls: [{ name: 'pay' }],
      });
    }
    expect(asked[0]?.grammar?.gbnf).toContain('amount');
    expect(warnings).toEqual([expect.stringContaining('pay/properties/amount multipleOf')]);
  });

  test('no warning if no tool may be called', async () => {
    const { chat, warnings } = chatWith(['No.']);
    await fold(chat.reply(chatRequest('Hi', { tools: [price], toolChoice: { type: 'none' } }), context));
    expect(warnings).toEqual([]);
  });

  test('rejected as an output format', async () => {
    const { chat } = chatWith(['{}']);
    const [event] = await collect(
      chat.reply(chatRequest('Pay', { output: { type: 'schema', schema: price.parameters } }), context),
    );
    expect(event).toMatchObject({ type: 'error', error: { message: expect.stringContaining('#/properties/amount') } });
  });
});

describe('chatService: reply without thinking', () => {
  const { tags } = builtInAdapters.ChatML as ChatAdapter;
  const silent = tagsWithoutThinking(tags, { name: 'ChatML', template: '<think>' }) as ChatTags;
  const off: [string, Partial<ChatRequest>][] = [
    ['a variable of the template', { templateVariables: { enable_thinking: false } }],
    ['a level of effort', { reasoning: { effort: 'none', separate: true } }],
  ];

  test.each(off)('by %s: opens with closed thinking', async (_, change) => {
    const { chat, asked } = chatWith(['Hello'], { silent });
    const request = chatRequest('Hi', change);
    expect(await chat.thinksAnyway(request)).toBe(false);
    expect(await fold(chat.reply(request, context))).toMatchObject({ reasoning: '', text: 'Hello' });
    expect(asked[0]?.prompt).toMatch(/<\|im_start\|>assistant\n<think>\n\n<\/think>\n$/);
  });

  test.each(off)(
    'asked for by %s where the format has no such form, is told to be ignored and held by its budget',
    async (_, change) => {
      const { chat, asked } = chatWith(['Hello']);
      const request = chatRequest('Hi', change);
      expect(await chat.thinksAnyway(request)).toBe(true);
      await fold(chat.reply(request, context));
      expect(asked[0]?.prompt).toMatch(/<\|im_start\|>assistant\n$/);
      expect(asked[0]?.reasoning).toEqual({ type: 'share', share: 0 });
    },
  );

  test.each(off)('by %s: left to the template', async (_, change) => {
    const { chat, asked } = chatWith(['Hello'], { jinja: true, silent });
    const request = chatRequest('Hi', change);
    expect(await chat.thinksAnyway(request)).toBe(false);
    await fold(chat.reply(request, context));
    expect(asked[0]?.prompt).not.toContain('<think>');
  });

  test('uses the adapter if the template is not used for tools', async () => {
    const change = { templateVariables: { enable_thinking: false }, tools: [weather] };
    expect(await chatWith([], { jinja: true }).chat.thinksAnyway(chatRequest('Hi', change))).toBe(true);
    expect(await chatWith([], { jinja: true, tools: true }).chat.thinksAnyway(chatRequest('Hi', change))).toBe(false);
  });

  test('not without such a request', async () => {
    for (const change of [
      {},
      { templateVariables: { enable_thinking: true }, reasoning: { effort: 'none', separate: true } },
    ]) {
      const { chat, asked } = chatWith(['Hello'], { silent });
      expect(await chat.thinksAnyway(chatRequest('Hi', change))).toBe(false);
      await fold(chat.reply(chatRequest('Hi', change), context));
      expect(asked[0]?.prompt).not.toContain('<think>');
      expect(asked[0]?.reasoning).toBeUndefined();
    }
  });

  test('leaves earlier turns unchanged', async () => {
    const { chat, asked } = chatWith(['Hello'], { silent });
    const request = chatRequest('Hi', { templateVariables: { enable_thinking: false } });
    const turn = { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'Yes?' }] };
    const [question] = request.conversation.messages;
    const messages = [question, turn, question] as ChatRequest['conversation']['messages'];
    await fold(chat.reply({ ...request, conversation: { ...request.conversation, messages } }, context));
    expect(asked[0]?.prompt.match(/<think>/g)).toHaveLength(1);
    expect(asked[0]?.prompt).toContain('<|im_start|>assistant\nYes?<|im_end|>');
  });
});

async function* replay(events: readonly GenerationEvent[]): AsyncGenerator<GenerationEvent> {
  yield* events;
}

test.each([{ jinja: true }, { jinja: false }])(
  'systemPrompt: begins chats that have no system message, with %j',
  async (options) => {
    const { chat } = chatWith([], { ...options, system: 'You are Foo.' });
    const request = chatRequest('Hi');
    expect((await chat.render(request)).prompt).toMatch(/^<\|im_start\|>system\nYou are Foo\.<\|im_end\|>\n/);
    const messages = [{ role: 'system' as const, content: [{ type: 'text' as const, text: 'Own.' }] }];
    const own = {
      ...request,
      conversation: { ...request.conversation, messages: [...messages, ...request.conversation.messages] },
    };
    expect((await chat.render(own)).prompt).not.toContain('You are Foo.');
  },
);
