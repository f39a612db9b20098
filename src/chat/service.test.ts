import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { fold } from '../core/fold.ts';
import { builtInAdapters, type ChatAdapter, type ChatTags, tagsWithoutThinking } from './adapters/adapter.ts';
import type { ChatRequest } from './request.ts';
import { chatService } from './service.ts';
import { compileTemplate } from './template.ts';
import { inlineTemplate } from './testing/inline-template.ts';
import { chatRequest, scriptedText, spoken, time, weather } from './testing/scripted-text.ts';

const template = `{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if tools %}<tool_call>{% endif %}<|im_start|>assistant\n`;
const ticket = { genkey: '', client: 'test', signal: new AbortController().signal };

function chatWith(
  replies: Parameters<typeof scriptedText>[0],
  options: { jinja?: boolean; tools?: boolean; template?: string; silent?: ChatTags } = {},
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
    template: () => (options.jinja ? compileTemplate(text).then(inlineTemplate) : Promise.resolve(undefined)),
    templateTools: options.tools ?? false,
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

describe('a plain chat', () => {
  test('is written between the tags of the adapter and answered as text', async () => {
    const { chat, asked } = chatWith(['Hello there']);
    expect((await fold(chat.reply(chatRequest('Hi'), ticket))).text).toBe('Hello there');
    expect(asked[0]?.prompt).toBe('<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n');
    expect(asked[0]?.stop).toEqual(['<|im_start|>user']);
  });

  test('thinking is parted from the answer, unless the client wants the tags', async () => {
    const reply = '<think>hm</think>Yes.';
    const apart = await fold(chatWith([reply]).chat.reply(chatRequest('Hi'), ticket));
    expect([apart.reasoning, apart.text]).toEqual(['hm', 'Yes.']);
    const together = chatRequest('Hi', { reasoning: { effort: undefined, separate: false } });
    expect((await fold(chatWith([reply]).chat.reply(together, ticket))).text).toBe(reply);
  });

  test('the place in the queue is given back after the last event, and after an error too', async () => {
    const good = chatWith(['ok']);
    await collect(good.chat.reply(chatRequest('Hi'), ticket));
    expect(good.released()).toBe(1);
    const bad = chatWith(['ok']);
    const events = await collect(
      bad.chat.reply(chatRequest('Hi', { toolChoice: { type: 'named', name: 'x' } }), ticket),
    );
    expect(events.map(({ type }) => type)).toEqual(['error']);
    expect(bad.released()).toBe(1);
  });

  test('several answers come one after the other from one place, and others have their turns in between', async () => {
    const { chat, released, passed } = chatWith(['one', 'two', 'three']);
    const replies = chat.replies(chatRequest('Hi'), ticket, 3);
    expect(await Promise.all(replies.map(async (reply) => (await fold(reply)).text))).toEqual(['one', 'two', 'three']);
    expect([released(), passed()]).toEqual([1, 2]);
  });

  test('under a fixed seed each of several answers has its own', async () => {
    const { chat, asked } = chatWith(['one', 'two']);
    const request = chatRequest('Hi');
    const controls = { ...request.controls, sampling: { ...request.controls.sampling, seed: 7 } };
    await Promise.all(chat.replies({ ...request, controls }, ticket, 2).map(fold));
    expect(asked.map(({ sampling }) => sampling.seed)).toEqual([7, 8]);
  });

  test('pictures go along with their places in the prompt, for each of several answers', async () => {
    const { chat, asked } = chatWith(['one', 'two']);
    await Promise.all(chat.replies(withPicture(chatRequest('What is it?')), ticket, 2).map(fold));
    expect(asked.map(({ media }) => media)).toEqual([[picture], [picture]]);
    expect(asked[0]?.prompt).toContain('What is it?\n(Attached Image 1)\n<|im_end|>');
  });

  test('an answer in a given format is held to a grammar', async () => {
    const { chat, asked } = chatWith(['{}']);
    await fold(chat.reply(chatRequest('Hi', { output: { type: 'schema', schema: weather.parameters } }), ticket));
    expect(asked[0]?.grammar?.gbnf).toContain('city');
    expect(asked[0]?.grammar?.triggers).toBeUndefined();
  });
});

describe('tools that the template carries', () => {
  const call = 'Let me see.<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>';
  const ask = (changes: Partial<ChatRequest> = {}) => chatRequest('Weather?', { tools: [weather, time], ...changes });

  test('become calls while they are written, and the end says so', async () => {
    const { chat, asked } = chatWith([call], { jinja: true, tools: true });
    const events = await collect(chat.reply(ask(), ticket));
    const generation = await fold(replay(events));
    expect(generation).toMatchObject({ text: 'Let me see.', reason: 'tool-calls' });
    expect(generation.toolCalls).toEqual([{ id: 'call_1', name: 'get_weather', json: '{"city": "Paris"}' }]);
    expect(events.filter(({ type }) => type === 'tool-delta').length).toBeGreaterThan(1);
    expect(asked[0]?.grammar?.triggers).toHaveLength(1);
  });

  test('a required call is under the grammar from the first token', async () => {
    const { chat, asked } = chatWith([call], { jinja: true, tools: true });
    await fold(chat.reply(ask({ toolChoice: { type: 'named', name: 'get_time' } }), ticket));
    expect(asked[0]?.grammar).toMatchObject({ retainState: false });
    expect(asked[0]?.grammar?.triggers).toBeUndefined();
    expect(asked[0]?.grammar?.gbnf).not.toContain('get_weather');
  });

  test('a call that is cut off by the limit keeps its reason', async () => {
    const cut = spoken(call.slice(0, 60)).map((event) =>
      event.type === 'finish' ? { ...event, reason: 'length' as const, cause: 'limit' as const } : event,
    );
    const { chat } = chatWith([cut], { jinja: true, tools: true });
    expect((await fold(chat.reply(ask(), ticket))).reason).toBe('length');
  });

  test('beside a format for the answer, the grammar lets through calls and that answer from the first token', async () => {
    const { chat, asked } = chatWith(['{"sky":"blue"}'], { jinja: true, tools: true });
    const schema = { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'] };
    const generation = await fold(chat.reply(ask({ output: { type: 'schema', schema } }), ticket));
    expect(generation).toMatchObject({ text: '{"sky":"blue"}', reason: 'stop' });
    expect(asked[0]?.grammar?.triggers).toBeUndefined();
    for (const word of ['get_weather', 'get_time', 'sky']) expect(asked[0]?.grammar?.gbnf).toContain(word);
  });

  test('calls that no grammar can spell are decided on apart, and the answer keeps its format', async () => {
    const decided = JSON.stringify({ reasoning: 'r', final_decision: 'no', tool_name: 'null' });
    const other = '{% for m in messages %}<|start|>{{ m.content }}{% endfor %}{% if tools %}<|channel|>{% endif %}';
    const { chat, asked } = chatWith([decided, '{}'], { jinja: true, tools: true, template: other });
    const generation = await fold(chat.reply(ask({ output: { type: 'json' } }), ticket));
    expect(generation).toMatchObject({ text: '{}', reason: 'stop' });
    expect(asked.map(({ grammar }) => grammar?.triggers)).toEqual([undefined, undefined]);
    expect(asked[1]?.grammar?.gbnf).not.toContain('get_weather');
  });

  test('none means that the model does not even see them', async () => {
    const { chat, asked } = chatWith(['No.'], { jinja: true, tools: true });
    await fold(chat.reply(ask({ toolChoice: { type: 'none' } }), ticket));
    expect(asked[0]?.prompt).not.toContain('<tool_call>');
    expect(asked[0]?.grammar).toBeUndefined();
  });
});

describe('tools without the template', () => {
  const ask = (changes: Partial<ChatRequest> = {}) =>
    chatRequest('Weather in Paris?', { tools: [weather, time], ...changes });
  const decision = (name: string, decided: string) =>
    JSON.stringify({ reasoning: 'r', final_decision: decided, tool_name: name });
  const written = '[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]';

  test('the model decides first and then writes the call; both under a grammar', async () => {
    const { chat, asked, released } = chatWith([decision('get_weather', 'yes'), written]);
    const generation = await fold(chat.reply(ask(), ticket));
    expect(generation).toMatchObject({ text: '', reason: 'tool-calls' });
    expect(generation.toolCalls).toEqual([{ id: 'call_1', name: 'get_weather', json: '{"city":"Paris"}' }]);
    expect(asked.map(({ grammar }) => grammar !== undefined)).toEqual([true, true]);
    expect(released()).toBe(1);
  });

  test('both steps see the pictures of the conversation, each in one place', async () => {
    const { chat, asked } = chatWith([decision('get_weather', 'yes'), written]);
    await fold(chat.reply(withPicture(ask()), ticket));
    expect(asked.map(({ media }) => media)).toEqual([[picture], [picture]]);
    for (const { prompt } of asked) expect(prompt.match(/Attached Image/g)).toHaveLength(1);
  });

  test.each([decision('null', 'no'), decision('get_weather', 'no'), 'no JSON'])(
    'after %s it answers in words',
    async (said) => {
      const { chat, asked } = chatWith([said, 'It is sunny.']);
      const generation = await fold(chat.reply(ask(), ticket));
      expect(generation).toMatchObject({ text: 'It is sunny.', reason: 'stop', toolCalls: [] });
      expect(asked[1]?.memory).toContain('Available Tools');
    },
  );

  test.each([
    ['a call', decision('get_weather', 'yes'), written],
    ['an answer in words', decision('null', 'no'), 'It is sunny.'],
  ])('the decision before %s counts as written, and the prompt is the last one', async (_, first, second) => {
    const tokens = (said: string) => Math.ceil(said.length / 3);
    const { usage } = await fold(chatWith([first, second]).chat.reply(ask(), ticket));
    expect(usage).toEqual({
      promptTokens: 10,
      cachedTokens: 4,
      completionTokens: tokens(first) + tokens(second),
      reasoningTokens: tokens(first),
    });
  });

  test('a named tool needs no decision', async () => {
    const { chat, asked } = chatWith([written]);
    const generation = await fold(chat.reply(ask({ toolChoice: { type: 'named', name: 'get_weather' } }), ticket));
    expect(generation.toolCalls).toHaveLength(1);
    expect(asked).toHaveLength(1);
  });

  test('a call that cannot be read is text, never a crash', async () => {
    const { chat } = chatWith([decision('get_weather', 'yes'), '[{"type": "func']);
    expect(await fold(chat.reply(ask(), ticket))).toMatchObject({
      text: '[{"type": "func',
      toolCalls: [],
      reason: 'stop',
    });
  });
});

describe('a call that the limit cuts off', () => {
  const cutAt = (written: string): GenerationEvent[] =>
    spoken(written).map((event) => (event.type === 'finish' ? { ...event, reason: 'length', cause: 'limit' } : event));
  const forced = { tools: [weather, time], toolChoice: { type: 'named', name: 'get_weather' } } as const;
  const ask = (written: string, options: Parameters<typeof chatWith>[1] = {}) =>
    fold(chatWith([cutAt(written)], options).chat.reply(chatRequest('Weather?', forced), ticket));

  test.each([
    ['[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Par', ['{"city": "Par']],
    ['[{"type": "function", "function": {"name": "get_wea', ['']],
    ['[', ['']],
    [
      '[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}, {"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Ro',
      ['{"city":"Paris"}', '{"city": "Ro'],
    ],
  ])('in two steps, at %s, has the arguments so far', async (written, jsons) => {
    const { text, toolCalls, reason } = await ask(written);
    expect([text, toolCalls.map(({ json }) => json), reason]).toEqual(['', jsons, 'length']);
    for (const { name, id } of toolCalls) expect([name, id]).toEqual(['get_weather', expect.stringMatching(/^call_/)]);
  });

  test('is none when the limit falls on the end of the list', async () => {
    const written = '[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]';
    expect(await ask(written)).toMatchObject({ toolCalls: [{ json: '{"city":"Paris"}' }], reason: 'tool-calls' });
  });

  test.each([
    ['<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par', '{"city": "Par'],
    ['<tool_call>\n{"name": "get_weather", "argu', ''],
    ['<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool', '{"city": "Paris"}'],
  ])('in the words of the template, at %j, has them too', async (written, json) => {
    const { text, toolCalls, reason } = await ask(written, { jinja: true, tools: true });
    expect([text, toolCalls.map((call) => call.json), reason]).toEqual(['', [json], 'length']);
  });

  test('before its name is known it is still text', async () => {
    const { text, toolCalls, reason } = await ask('<tool_call>\n{"name": "get_w', { jinja: true, tools: true });
    expect([text, toolCalls, reason]).toEqual(['<tool_call>\n{"name": "get_w', [], 'length']);
  });
});

describe('tools that a small context has no room for', () => {
  const tooLong: GenerationEvent[] = [
    { type: 'error', error: new AppError('context-overflow', { promptTokens: 5000, contextSize: 2048 }) },
  ];
  const ask = (changes: Partial<ChatRequest> = {}) => chatRequest('Weather?', { tools: [weather, time], ...changes });
  const yes = JSON.stringify({ reasoning: 'r', final_decision: 'yes', tool_name: 'get_weather' });
  const no = JSON.stringify({ reasoning: 'r', final_decision: 'no', tool_name: 'null' });
  const written = '[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]';

  test('are decided on by their names alone, and called by the types of their parameters', async () => {
    const { chat, asked } = chatWith([tooLong, yes, tooLong, written]);
    expect(await fold(chat.reply(ask(), ticket))).toMatchObject({
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

  test('are not listed beside an answer in words', async () => {
    const { chat, asked } = chatWith([no, tooLong, 'It is sunny.']);
    expect((await fold(chat.reply(ask(), ticket))).text).toBe('It is sunny.');
    expect(asked.slice(1).map(({ memory }) => memory.includes('Available Tools'))).toEqual([true, false]);
    expect(asked[2]?.prompt).toBe(asked[1]?.prompt);
  });

  test('are an error when even their names do not fit', async () => {
    const { chat, asked } = chatWith([tooLong, tooLong]);
    await expect(fold(chat.reply(ask(), ticket))).rejects.toThrow('5000 tokens');
    expect(asked).toHaveLength(2);
  });
});

describe('a schema that no grammar can follow', () => {
  const price = {
    name: 'pay',
    parameters: { type: 'object', properties: { amount: { type: 'number', multipleOf: 0.01 } }, required: ['amount'] },
  };
  const written = '[{"type": "function", "function": {"name": "pay", "arguments": {"amount": 3}}}]';

  test('does not keep its tool from being called, and the console tells it once', async () => {
    const { chat, asked, warnings } = chatWith([written, written]);
    const request = chatRequest('Pay 3', { tools: [price], toolChoice: { type: 'required' } });
    for (const _ of [1, 2]) {
      expect(await fold(chat.reply(request, ticket))).toMatchObject({
        reason: 'tool-calls',
        toolCalls: [{ name: 'pay' }],
      });
    }
    expect(asked[0]?.grammar?.gbnf).toContain('amount');
    expect(warnings).toEqual([expect.stringContaining('pay/properties/amount multipleOf')]);
  });

  test('is not looked at where no tool may be called', async () => {
    const { chat, warnings } = chatWith(['No.']);
    await fold(chat.reply(chatRequest('Hi', { tools: [price], toolChoice: { type: 'none' } }), ticket));
    expect(warnings).toEqual([]);
  });

  test('is still refused where it is the form of the answer', async () => {
    const { chat } = chatWith(['{}']);
    const [event] = await collect(
      chat.reply(chatRequest('Pay', { output: { type: 'schema', schema: price.parameters } }), ticket),
    );
    expect(event).toMatchObject({ type: 'error', error: { message: expect.stringContaining('#/properties/amount') } });
  });
});

describe('a reply without thinking', () => {
  const { tags } = builtInAdapters.ChatML as ChatAdapter;
  const silent = tagsWithoutThinking(tags, { name: 'ChatML', template: '<think>' }) as ChatTags;
  const off: [string, Partial<ChatRequest>][] = [
    ['a variable of the template', { templateVariables: { enable_thinking: false } }],
    ['a level of effort', { reasoning: { effort: 'none', separate: true } }],
  ];

  test.each(off)('asked for by %s, begins with thoughts that are closed', async (_, wish) => {
    const { chat, asked } = chatWith(['Hello'], { silent });
    const request = chatRequest('Hi', wish);
    expect(await chat.thinksAnyway(request)).toBe(false);
    expect(await fold(chat.reply(request, ticket))).toMatchObject({ reasoning: '', text: 'Hello' });
    expect(asked[0]?.prompt).toMatch(/<\|im_start\|>assistant\n<think>\n\n<\/think>\n$/);
  });

  test.each(off)(
    'asked for by %s where the format has no such form, is told to be ignored and held by its budget',
    async (_, wish) => {
      const { chat, asked } = chatWith(['Hello']);
      const request = chatRequest('Hi', wish);
      expect(await chat.thinksAnyway(request)).toBe(true);
      await fold(chat.reply(request, ticket));
      expect(asked[0]?.prompt).toMatch(/<\|im_start\|>assistant\n$/);
      expect(asked[0]?.reasoning).toEqual({ type: 'share', share: 0 });
    },
  );

  test.each(off)('asked for by %s, is left to a template that writes the prompt', async (_, wish) => {
    const { chat, asked } = chatWith(['Hello'], { jinja: true, silent });
    const request = chatRequest('Hi', wish);
    expect(await chat.thinksAnyway(request)).toBe(false);
    await fold(chat.reply(request, ticket));
    expect(asked[0]?.prompt).not.toContain('<think>');
  });

  test("is the adapter's matter again where the template is not trusted with tools", async () => {
    const wish = { templateVariables: { enable_thinking: false }, tools: [weather] };
    expect(await chatWith([], { jinja: true }).chat.thinksAnyway(chatRequest('Hi', wish))).toBe(true);
    expect(await chatWith([], { jinja: true, tools: true }).chat.thinksAnyway(chatRequest('Hi', wish))).toBe(false);
  });

  test('is not what a client gets that asks for thinking, or for nothing', async () => {
    for (const wish of [
      {},
      { templateVariables: { enable_thinking: true }, reasoning: { effort: 'none', separate: true } },
    ]) {
      const { chat, asked } = chatWith(['Hello'], { silent });
      expect(await chat.thinksAnyway(chatRequest('Hi', wish))).toBe(false);
      await fold(chat.reply(chatRequest('Hi', wish), ticket));
      expect(asked[0]?.prompt).not.toContain('<think>');
      expect(asked[0]?.reasoning).toBeUndefined();
    }
  });

  test('leaves earlier turns as they were', async () => {
    const { chat, asked } = chatWith(['Hello'], { silent });
    const request = chatRequest('Hi', { templateVariables: { enable_thinking: false } });
    const turn = { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'Yes?' }] };
    const [question] = request.conversation.messages;
    const messages = [question, turn, question] as ChatRequest['conversation']['messages'];
    await fold(chat.reply({ ...request, conversation: { ...request.conversation, messages } }, ticket));
    expect(asked[0]?.prompt.match(/<think>/g)).toHaveLength(1);
    expect(asked[0]?.prompt).toContain('<|im_start|>assistant\nYes?<|im_end|>');
  });
});

async function* replay(events: readonly GenerationEvent[]): AsyncGenerator<GenerationEvent> {
  yield* events;
}
