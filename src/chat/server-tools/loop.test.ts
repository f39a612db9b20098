import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { GenerationEvent } from '../../core/events.ts';
import { fold } from '../../core/fold.ts';
import { echoTool, playedTools, textResult } from '../../core/testing/tool-servers.ts';
import { type ServedTool, ToolCallError, type ToolServers } from '../../core/tool-servers.ts';
import { builtInAdapters, type ChatAdapter } from '../adapters/adapter.ts';
import type { ChatRequest } from '../request.ts';
import { chatService } from '../service.ts';
import { untimedTemplate } from '../testing/inline-template.ts';
import { chatRequest, scriptedText, spoken, weather } from '../testing/scripted-text.ts';
import { resultContent, shortened } from './result-content.ts';

/** ChatML whose calls are those of Hermes; results and calls can be seen in the prompt. */
const template = `{% if tools %}<tools>{{ tools | tojson }}</tools><tool_call>{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}<|im_start|>assistant
`;
const call = (name: string, args: object) => `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;
const echoCall = call('echo', { message: 'hi' });
const context = { genkey: '', client: 'test', signal: new AbortController().signal };

interface Options {
  readonly servers?: ToolServers;
  readonly turns?: number;
  readonly twoSteps?: boolean;
}

function world(replies: Parameters<typeof scriptedText>[0], { servers, turns = 3, twoSteps = false }: Options = {}) {
  const script = scriptedText(replies);
  const timers: (() => void)[] = [];
  const played = playedTools(async ({ arguments: given }) => textResult(`echo: ${String(given?.message)}`));
  const ran: string[] = [];
  let ids = 0;
  const chat = chatService({
    text: script.service,
    tags: (builtInAdapters.ChatML as ChatAdapter).tags,
    tagsWithoutThinking: undefined,
    templateText: template,
    template: async () => (twoSteps ? undefined : untimedTemplate(template)),
    templateUse: { chats: true, tools: !twoSteps, listedTools: false },
    serverVariables: {},
    now: () => new Date(0),
    newCallId: () => `call_${++ids}`,
    warn: () => undefined,
    serverTools: {
      servers: servers ?? played.servers,
      turns,
      now: () => new Date(0),
      onToolRun: (name, failed) => ran.push(failed ? `${name} failed` : name),
      startTimer: (_, passed) => {
        timers.push(passed);
        return { cancel: () => void timers.splice(timers.indexOf(passed), 1) };
      },
    },
  });
  const reply = (own: Parameters<typeof chatRequest>[1] = {}) => chat.reply(chatRequest('Say hi', own), context);
  return { ...script, ...played, chat, reply, timers, ran };
}

async function collect(events: AsyncIterable<GenerationEvent>): Promise<GenerationEvent[]> {
  const all: GenerationEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('answerWithTools', () => {
  test('runs calls and shows the results to the model until it answers', async () => {
    const { reply, asked, calls, ran } = world([`Let me see.${echoCall}`, 'It said hi.']);
    const answer = await fold(reply());
    expect(answer.text).toBe('Let me see.\n\nIt said hi.');
    expect([answer.reason, answer.toolCalls]).toEqual(['stop', []]);
    expect(calls).toEqual([{ name: 'echo', arguments: { message: 'hi' } }]);
    expect(asked).toHaveLength(2);
    expect(ran).toEqual(['echo']);
    expect(asked[0]?.prompt).toContain('"name": "echo"');
    expect(asked[1]?.prompt).toContain('Let me see.');
    expect(asked[1]?.prompt).toContain('<|im_start|>tool\necho: hi<|im_end|>');
  });

  test('emits one start, one finish and no calls', async () => {
    const { reply } = world([echoCall, echoCall, 'Done.']);
    const types = (await collect(reply())).map(({ type }) => type);
    expect(types.filter((type) => type === 'start' || type === 'finish')).toEqual(['start', 'finish']);
    expect([types[0], types.at(-1)]).toEqual(['start', 'finish']);
    expect(types.filter((type) => type.startsWith('tool-'))).toEqual([]);
  });

  test('reports calls as reasoning', async () => {
    const { reply } = world([`<think>hm</think>${echoCall}`, 'Done.']);
    const { reasoning, text } = await fold(reply());
    expect(text).toBe('Done.');
    expect(reasoning).toBe('hm\nCalling the tool echo {"message":"hi"}\n\necho: echo: hi\n');
  });

  test('reports calls between think tags without separate reasoning', async () => {
    const { reply } = world([echoCall, 'Done.']);
    const { text } = await fold(reply({ reasoning: { effort: undefined, separate: false } }));
    expect(text).toMatch(/^<think>\nCalling the tool echo [^<]*echo: hi\n<\/think>\nDone\.$/);
  });

  test('does not report calls inside a JSON answer', async () => {
    const { reply } = world([echoCall, '{}']);
    const own = { reasoning: { effort: undefined, separate: false }, output: { type: 'json' } } as const;
    expect((await fold(reply(own))).text).toBe('{}');
  });

  test('adds the completion tokens of all turns; prompt tokens are those of the last', async () => {
    const { reply } = world([echoCall, 'abcdef']);
    const { usage, timings } = await fold(reply());
    const first = spoken(echoCall).length - 2;
    expect(usage).toMatchObject({ promptTokens: 10, completionTokens: first + 2, reasoningTokens: first });
    expect(timings).toMatchObject({ initMs: 1 + 3, generationMs: 6 });
  });

  test('lets other requests use the engine while tools run', async () => {
    const { reply, rested, released } = world([echoCall, echoCall, 'Done.']);
    await fold(reply());
    expect([rested(), released()]).toEqual([2, 1]);
  });

  test('runs several calls in parallel, with results in order', async () => {
    const arrivals: string[] = [];
    let first: () => void = () => {};
    const { servers } = playedTools(async ({ arguments: given }) => {
      const message = String(given?.message);
      arrivals.push(message);
      if (message === 'a') await new Promise<void>((resolve) => (first = resolve));
      else first();
      return textResult(`echo: ${message}`);
    });
    const both = call('echo', { message: 'a' }) + call('echo', { message: 'b' });
    const { reply, asked } = world([both, 'Done.'], { servers });
    expect((await fold(reply())).text).toBe('Done.');
    expect(arrivals).toEqual(['a', 'b']);
    expect(asked[1]?.prompt).toMatch(/echo: a<\|im_end\|>\n<\|im_start\|>tool\necho: b/);
  });

  test('works for each of several replies', async () => {
    const { chat, calls } = world([echoCall, 'One.', echoCall, 'Two.']);
    const replies = chat.replies(chatRequest('Say hi'), context, 2);
    expect(await Promise.all(replies.map(async (one) => (await fold(one)).text))).toEqual(['One.', 'Two.']);
    expect(calls).toHaveLength(2);
  });

  test('works with the two-step calls of models without template tools', async () => {
    const decide = (final: string) => JSON.stringify({ reasoning: '', final_decision: final, tool_name: 'echo' });
    const written = JSON.stringify([{ type: 'function', function: { name: 'echo', arguments: { message: 'hi' } } }]);
    const { reply, calls, asked } = world([decide('yes'), written, decide('no'), 'It said hi.'], { twoSteps: true });
    expect((await fold(reply())).text).toBe('It said hi.');
    expect(calls).toEqual([{ name: 'echo', arguments: { message: 'hi' } }]);
    expect(asked[2]?.prompt).toContain('echo: hi');
  });

  test('countTokens: includes the tools', async () => {
    const { chat } = world([]);
    const plain = { ...chatRequest('Say hi'), toolChoice: { type: 'none' } as const };
    expect(await chat.countTokens(chatRequest('Say hi'))).toBeGreaterThan(await chat.countTokens(plain));
  });
});

describe('answerWithTools: after the last turn', () => {
  test('the model has to answer without tools', async () => {
    const { reply, asked, calls } = world([echoCall, echoCall, 'Enough.'], { turns: 2 });
    const { text, reason } = await fold(reply());
    expect([text, reason]).toEqual(['Enough.', 'stop']);
    expect(calls).toHaveLength(2);
    expect(asked.map(({ prompt }) => prompt.includes('<tools>'))).toEqual([true, true, false]);
  });

  test('a call in the last answer is not run', async () => {
    const { reply, calls } = world([echoCall, echoCall], { turns: 1 });
    const { text } = await fold(reply());
    expect(text).toContain('<tool_call>');
    expect(calls).toHaveLength(1);
  });
});

describe('wantsServerTools: no', () => {
  const own = (changes: Parameters<typeof chatRequest>[1]) => changes;
  const controls = chatRequest('').controls;
  const begun: ChatRequest['conversation'] = {
    messages: [{ role: 'assistant', content: [{ type: 'text', text: 'I' }] }],
    media: [],
    tools: [],
  };

  test('for a request with tools: calls are returned', async () => {
    const { reply, calls } = world([call('get_weather', { city: 'Rome' })]);
    const answer = await fold(reply({ tools: [weather] }));
    expect(answer.reason).toBe('tool-calls');
    expect(answer.toolCalls).toMatchObject([{ name: 'get_weather', json: '{"city":"Rome"}' }]);
    expect(calls).toEqual([]);
  });

  test.each([
    ['that wants no calls', own({ toolChoice: { type: 'none' } })],
    ['that goes on with a reply', own({ conversation: begun })],
    [
      'with a grammar of its own',
      own({ controls: { ...controls, grammar: { gbnf: 'root ::= "x"', retainState: false } } }),
    ],
    ['that asks for the figures of its prompt', own({ controls: { ...controls, promptLogprobs: 1 } })],
    ['that only has its prompt read', own({ controls: { ...controls, maxTokens: 0 } })],
  ])('for a request %s', async (_, changes) => {
    const { reply, asked, rested } = world(['Plain.']);
    await fold(reply(changes));
    expect(asked[0]?.prompt).not.toContain('<tools>');
    expect([asked.length, rested()]).toEqual([1, 0]);
  });

  test('if no tools are available', async () => {
    const { reply, asked } = world(['Plain.'], { servers: playedTools(async () => ({}), []).servers });
    expect((await fold(reply())).text).toBe('Plain.');
    expect(asked[0]?.prompt).not.toContain('<tools>');
  });
});

describe('answerWithTools: errors of a tool', () => {
  const shown = async (replies: string[], options: Options = {}) => {
    const { reply, asked } = world(replies, options);
    expect((await fold(reply())).text).toBe('Sorry.');
    return asked[1]?.prompt ?? '';
  };

  test('are results for the model', async () => {
    const { servers } = playedTools(() => Promise.reject(new ToolCallError(-32000, 'The tool server x is not there.')));
    const prompt = await shown([echoCall, 'Sorry.'], { servers });
    expect(prompt).toContain('The tool failed: The tool server x is not there. (-32000)');
  });

  test('are bounded in length', async () => {
    const { servers } = playedTools(async () => textResult('long '.repeat(10_000)));
    const prompt = await shown([echoCall, 'Sorry.'], { servers });
    expect(prompt.length).toBeLessThan(4000);
    expect(prompt).toContain('(cut off: these are the first 2048 of 50000 characters)');
  });

  test('any list of tools is accepted', async () => {
    const odd: ServedTool = { name: 'odd', inputSchema: {} };
    const { servers, calls } = playedTools(async () => textResult('x'), [odd, echoTool]);
    await shown([call('odd', {}), 'Sorry.'], { servers });
    expect(calls).toEqual([{ name: 'odd', arguments: {} }]);
  });

  test('a call that is cut off is not run, with a warning', async () => {
    const cut = spoken('<tool_call>\n{"name": "echo", "arguments": {"mess').map((event) =>
      event.type === 'finish' ? { ...event, reason: 'length' as const, cause: 'limit' as const } : event,
    );
    const { reply, calls } = world([cut]);
    const answer = await fold(reply());
    expect([answer.reason, answer.warnings]).toEqual(['length', ['A call of echo was cut off and is not run.']]);
    expect(calls).toEqual([]);
  });

  test('an engine error in a later turn ends the reply', async () => {
    const error = new Error('engine');
    const { reply, released } = world([echoCall, [{ type: 'error', error: error as never }]]);
    const events = await collect(reply());
    expect(events.at(-1)).toMatchObject({ type: 'error' });
    expect(events.filter(({ type }) => type === 'finish')).toEqual([]);
    await expect.poll(released).toBe(1);
  });
});

describe('answerWithTools: while a tool runs', () => {
  const hanging = () =>
    playedTools(
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );

  /** The events so far, read on until one of them says this. */
  async function until(events: AsyncIterator<GenerationEvent>, words: string): Promise<void> {
    for (;;) {
      const { value, done } = await events.next();
      if (done) throw new Error('it has ended');
      if (value.type === 'reasoning-delta' && value.text.includes(words)) return;
    }
  }

  test('sends keep-alive text', async () => {
    const { reply, timers } = world([echoCall, 'Done.'], { servers: hanging().servers });
    const events = reply()[Symbol.asyncIterator]();
    await until(events, 'Calling the tool echo');
    for (let beat = 0; beat < 3; beat += 1) {
      timers.shift()?.();
      expect((await events.next()).value).toEqual({ type: 'reasoning-delta', text: '.' });
    }
    await events.return?.(undefined);
  });

  test('an abort by key stops the tool, and the reply ends as aborted', async () => {
    const { servers } = hanging();
    const { reply, stop, asked, timers, released } = world([echoCall, 'never'], { servers });
    const iterator = reply()[Symbol.asyncIterator]();
    await until(iterator, 'Calling the tool echo');
    stop.abort();
    const rest = await collect({ [Symbol.asyncIterator]: () => iterator });
    expect(rest.at(-1)).toMatchObject({ type: 'finish', reason: 'aborted', usage: { promptTokens: 10 } });
    expect([asked.length, timers.length, released()]).toEqual([1, 0, 1]);
  });

  test('a client disconnect stops the tool', async () => {
    let stopped: AbortSignal | undefined;
    const { servers } = playedTools((_, { signal }) => {
      stopped = signal;
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const { reply, asked } = world([echoCall, 'never'], { servers });
    const iterator = reply()[Symbol.asyncIterator]();
    await until(iterator, 'Calling the tool echo');
    await iterator.return?.(undefined);
    expect(stopped?.aborted).toBe(true);
    expect(asked).toHaveLength(1);
  });
});

describe('answerWithTools: hostile servers', () => {
  const tool = (name: string, own: object = {}): ServedTool => ({ name, inputSchema: { type: 'object' }, ...own });
  const offering = (tools: readonly ServedTool[], answer = async () => textResult('fine')): ToolServers => ({
    list: async () => tools,
    call: answer,
  });

  test('tools beyond half of the context are not offered, with a warning', async () => {
    const large = tool('large', { description: 'x'.repeat(100_000) });
    const many = Array.from({ length: 1000 }, (_, index) => tool(`tool_${index}`));
    const { reply, asked } = world(['Done.'], { servers: offering([large, ...many]) });
    const events = await collect(reply());
    expect(asked[0]?.prompt).toContain('"name": "tool_0"');
    expect(asked[0]?.prompt).not.toContain('"name": "large"');
    expect(asked[0]?.prompt.length).toBeLessThan(2048 * 3);
    expect(events.filter(({ type }) => type === 'warning')).toMatchObject([
      { code: 'tools-left-out', text: expect.stringMatching(/^\d+ of 1001 tools do not fit/) },
    ]);
  });

  test.each(['__proto__', 'constructor', 'toString', 'a b'])('a tool may be named %s', async (name) => {
    const { reply, asked } = world([call(name, {}), 'Done.'], { servers: offering([tool(name)]) });
    expect(await fold(reply())).toMatchObject({ text: 'Done.', toolCalls: [] });
    expect(asked[1]?.prompt).toContain('fine');
  });

  test.each<[string, object]>([
    ['a content that is no list', { content: 5 }],
    [
      'items of any type',
      { content: [null, 5, 'x', [], { type: 'text', text: 5 }, { type: 'resource', resource: null }] },
    ],
    ['hundreds of thousands of items', { content: Array(200_000).fill({ type: 'text', text: 'x' }) }],
    ['megabytes of data', { structuredContent: { a: 'x'.repeat(5_000_000) } }],
    ['an error of any type', { isError: 'yes', content: { a: 1 } }],
  ])('a result with %s is bounded, and the reply continues', async (_, result) => {
    const { reply, asked } = world([echoCall, 'Done.'], { servers: offering([echoTool], async () => ({ ...result })) });
    expect((await fold(reply())).text).toBe('Done.');
    expect(asked[1]?.prompt.length).toBeLessThan(2048 * 3);
  });

  test('a tool that no longer exists gives an error result', async () => {
    const gone = async (): Promise<never> => {
      throw new ToolCallError(-32602, 'Tool not found');
    };
    const { reply, asked } = world([echoCall, 'Done.'], { servers: offering([echoTool], gone) });
    expect((await fold(reply())).text).toBe('Done.');
    expect(asked[1]?.prompt).toContain('The tool failed: Tool not found (-32602)');
  });
});

const limits = { characters: 1000, inputs: { image: false, audio: false }, media: 0 };
const seeing = { ...limits, inputs: { image: true, audio: true } };
const words = (result: object, own: object = {}): string => {
  const { content } = resultContent({ ...result }, { ...limits, ...own });
  return content.map((part) => (part.type === 'text' ? part.text : `#${part.index}`)).join('');
};
const picture = { type: 'image', data: 'AAAA', mimeType: 'image/png' };

describe('resultContent', () => {
  test.each([
    ['a text', { content: [{ type: 'text', text: 'hi' }] }, 'hi'],
    [
      'several texts',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      'a\nb',
    ],
    ['data alone', { structuredContent: { sum: 3 } }, '{"sum":3}'],
    [
      'data beside the text that says the same',
      { content: [{ type: 'text', text: '3' }], structuredContent: { sum: 3 } },
      '3',
    ],
    ['a file', { content: [{ type: 'resource', resource: { uri: 'f:1', text: 'inside' } }] }, 'inside'],
    [
      'a file without text',
      { content: [{ type: 'resource', resource: { uri: 'f:1', blob: 'AA' } }] },
      '(the file f:1: no text)',
    ],
    ['a link', { content: [{ type: 'resource_link', uri: 'f:1', name: 'One' }] }, 'One – f:1'],
    ['something new', { content: [{ type: 'video', x: 1 }] }, '{"type":"video","x":1}'],
    ['nothing', {}, '(the tool gave nothing)'],
    ['an empty list', { content: [] }, '(the tool gave nothing)'],
    ['nonsense', { content: [null, 5] }, '(the tool gave nothing)'],
    ['a failure', { isError: true, content: [{ type: 'text', text: 'no' }] }, 'The tool failed: no'],
  ])('%s', (_, result, expected) => {
    expect(words(result)).toBe(expected);
  });

  test('attaches images after existing ones if the model accepts them', () => {
    const result = { content: [{ type: 'text', text: 'Look:' }, picture, { type: 'audio', data: 'BBBB' }] };
    const { content, media } = resultContent(result, { ...seeing, media: 2 });
    expect(media).toEqual([
      { kind: 'image', base64: 'AAAA', format: 'image/png' },
      { kind: 'audio', base64: 'BBBB' },
    ]);
    expect(content).toEqual([
      { type: 'text', text: 'Look:\n(the image is attached)\n(the audio is attached)' },
      { type: 'medium', index: 2 },
      { type: 'medium', index: 3 },
    ]);
  });

  test('mentions an image if the model does not accept images', () => {
    expect(words({ content: [picture] })).toBe('(image: this model cannot take it in)');
  });

  test('truncates long text with a note', () => {
    const text = words({ content: [{ type: 'text', text: 'x'.repeat(5000) }] });
    expect(text).toBe(`${'x'.repeat(1000)}\n(cut off: these are the first 1000 of 5000 characters)`);
  });
});

test('shortened: keeps short text, and never splits a surrogate pair', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, characters) => {
      const short = shortened(text, characters);
      if (text.length <= characters) expect(short).toBe(text);
      else expect(short).toContain(`of ${text.length} characters)`);
      expect(encodeURIComponent(short)).toBeTypeOf('string');
    }),
  );
});

test('attaches only the first images of a result with hundreds', () => {
  const { media, content } = resultContent({ content: Array(300).fill(picture) }, seeing);
  expect(media).toHaveLength(8);
  expect(content.filter(({ type }) => type === 'medium')).toHaveLength(8);
});
