import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import { chatAdapter } from './adapters/adapter.ts';
import type { CompactionStore } from './compaction.ts';
import { clearedResult } from './compaction-plan.ts';
import { type Message, text } from './messages.ts';
import type { ChatRequest, CompactionRequest } from './request.ts';
import { chatService } from './service.ts';
import { chatRequest, scriptedText, spoken } from './testing/scripted-text.ts';

/** Each word is a token, and the context has 1000. */
const contextSize = 1000;
const words = (count: number, word = 'word'): string => Array.from({ length: count }, () => word).join(' ');
const user = (content: string): Message => ({ role: 'user', content: text(content) });
const assistant = (content: string): Message => ({ role: 'assistant', content: text(content) });

function memory(): CompactionStore & { readonly size: () => number } {
  const entries = new Map<string, readonly Message[]>();
  return {
    get: async (owner, key) => entries.get(`${owner} ${key}`),
    set: (owner, key, messages) => void entries.set(`${owner} ${key}`, messages),
    size: () => entries.size,
  };
}

function world(replies: readonly (string | readonly GenerationEvent[])[], store = memory()) {
  const { service, asked, stop } = scriptedText(replies);
  const chat = chatService({
    text: { ...service, contextSize: () => contextSize },
    tags: {
      ...chatAdapter({}).tags,
      ...{
        systemStart: ' <system> ',
        userStart: ' <user> ',
        assistantStart: ' <assistant> ',
        assistantGen: ' <assistant> ',
      },
      systemEnd: '',
      userEnd: '',
      assistantEnd: '',
    },
    tagsWithoutThinking: undefined,
    templateText: undefined,
    template: async () => undefined,
    templateUse: { chats: false, tools: false, listedTools: false },
    serverVariables: {},
    now: () => new Date(0),
    newCallId: () => 'call_1',
    warn: () => undefined,
    compactions: store,
  });
  async function ask(messages: readonly Message[], own: Partial<ChatRequest> = {}, client = 'me') {
    const base = chatRequest('', { conversation: { messages, media: [], tools: [] } });
    const request = { ...base, controls: { ...base.controls, maxTokens: 100, overflow: 'compact' as const }, ...own };
    const events: GenerationEvent[] = [];
    const context = { genkey: '', client, signal: new AbortController().signal };
    for await (const event of chat.reply(request, context)) events.push(event);
    const said = events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
    const start = events.find((event) => event.type === 'start');
    return {
      events,
      said,
      compaction: start?.compaction,
      error: events.find((event) => event.type === 'error')?.error,
    };
  }
  return { ask, asked, prompts: () => asked.map(({ prompt }) => prompt), stop };
}

const long: readonly Message[] = [
  { role: 'system', content: text('Be brief.') },
  user('first question'),
  assistant(words(350, 'alpha')),
  user('second question'),
  assistant(words(350, 'beta')),
  user('third question'),
  assistant(words(200, 'gamma')),
  user('last question'),
];

describe('--contextoverflow compact', () => {
  test('leaves a conversation alone that fits', async () => {
    const { ask, prompts } = world(['Yes.']);
    const { said, compaction } = await ask([user(words(300))]);
    expect({ said, compaction, generations: prompts().length }).toEqual({
      said: 'Yes.',
      compaction: undefined,
      generations: 1,
    });
  });

  test('summarises the middle, and answers with the beginning, the summary and the last turns', async () => {
    const { ask, prompts, asked } = world(['They spoke of letters.', 'Gamma.']);
    const { said, compaction, events } = await ask(long);
    expect(said).toBe('Gamma.');
    const [summaryPrompt = '', replyPrompt = ''] = prompts();
    expect(summaryPrompt).toMatch(/^ <system> Be brief\. <user> first question <assistant> alpha[\s\S]*Summarise/);
    expect(asked[0]).toMatchObject({ maxTokens: 125, grammar: undefined });
    expect(replyPrompt).toMatch(
      /^ <system> Be brief\. <user> first question\n\nThe earlier part[\s\S]*They spoke of letters\.\n<\/summary>\n\nthird question <assistant> gamma[\s\S]*<user> last question <assistant> $/,
    );
    expect(replyPrompt).not.toMatch(/alpha|beta/);
    expect(compaction).toMatchObject({ summarised: 3, cleared: 0, summary: 'They spoke of letters.' });
    expect(events[1]).toMatchObject({
      type: 'warning',
      code: 'compacted',
      text: expect.stringContaining('3 messages'),
    });
  });

  test('the next turns have the same compacted prefix, without another summary', async () => {
    const store = memory();
    const first = world(['They spoke of letters.', 'Gamma.'], store);
    await first.ask(long);
    const second = world(['Delta.'], store);
    const next = [...long, assistant('Gamma.'), user('And now?')];
    const { compaction } = await second.ask(next);
    const [prefix = ''] = first.prompts().slice(-1);
    expect(second.prompts()).toEqual([`${prefix}Gamma. <user> And now? <assistant> `]);
    expect(compaction?.summary).toBeUndefined();
    expect(store.size()).toBe(1);
  });

  test('a conversation that grows on is compacted again, from its compacted form', async () => {
    const store = memory();
    await world(['They spoke of letters.', 'Gamma.'], store).ask(long);
    const grown = [...long, assistant(words(340, 'delta')), user('again'), assistant(words(340, 'zeta')), user('end')];
    const { ask, prompts } = world(['More letters.', 'Yes.'], store);
    expect((await ask(grown)).compaction).toMatchObject({ summary: 'More letters.' });
    const [summaryPrompt = '', replyPrompt = ''] = prompts();
    expect(summaryPrompt).toContain('They spoke of letters.');
    expect(replyPrompt).toMatch(/More letters\.[\s\S]*end <assistant> $/);
    expect(store.size()).toBe(2);
  });

  test('a larger context does not get what was shortened for a smaller one', async () => {
    const store = memory();
    const controls = { ...chatRequest('').controls, maxTokens: 100, overflow: 'compact' as const };
    const smaller = { controls: { ...controls, maxContext: 600 } };
    await world(['They spoke of letters.', 'Of letters.', 'Gamma.'], store).ask(long.slice(0, 6), smaller);
    const { ask, prompts } = world(['Yes.'], store);
    expect((await ask(long.slice(0, 6))).compaction).toBeUndefined();
    expect(prompts()[0]).toContain('alpha');
  });

  test('other clients do not get the summary', async () => {
    const store = memory();
    await world(['Secret summary.', 'Gamma.'], store).ask(long);
    const { ask, prompts } = world(['Own summary.', 'Gamma.'], store);
    await ask(long, {}, 'somebody else');
    expect(prompts().join()).not.toContain('Secret');
  });

  test('old tool results go first, and need no summary', async () => {
    const used = (id: string): Message[] => [
      { role: 'assistant', content: [], toolCalls: [{ id, name: 'read', json: '{}' }] },
      { role: 'tool', content: text(words(95, `${id}-word`)), callId: id, toolName: 'read' },
    ];
    const { ask, prompts } = world(['Done.']);
    const { compaction } = await ask([user('go'), ...'abcdefghi'.split('').flatMap(used)]);
    expect(compaction).toMatchObject({ summarised: 0 });
    expect(compaction?.cleared).toBeGreaterThan(1);
    expect(prompts()).toHaveLength(1);
    expect(prompts()[0]).toContain(clearedResult);
    expect(prompts()[0]).toContain(words(95, 'i-word'));
  });

  test('a conversation of many contexts is summarised piece by piece', async () => {
    const { ask, prompts } = world([...Array.from({ length: 9 }, (_, index) => `Part ${index}.`), 'Yes.']);
    const turns = Array.from({ length: 6 }, (_, index) => [
      user(`q${index}`),
      assistant(words(400, `a${index}`)),
    ]).flat();
    const { error, compaction } = await ask([...turns, user('end')]);
    expect(error).toBeUndefined();
    expect(compaction?.summary).toMatch(/^Part/);
    expect(prompts()[1]).toContain('Part 0.');
  });

  test('a last message that is too long itself is refused', async () => {
    const { ask } = world([]);
    const { error } = await ask([...long.slice(0, -1), user(words(1500))]);
    expect(error).toMatchObject({ code: 'context-overflow', details: { compacted: true } });
    const alone = await ask([user(words(1500))]);
    expect(alone.error).toMatchObject({ code: 'context-overflow', details: { promptTokens: expect.any(Number) } });
  });

  test('an empty summary is an error', async () => {
    const { error } = await world(['  ', 'Gamma.']).ask(long);
    expect(error?.message).toBe(
      'The conversation could not be compacted: the model wrote an empty summary. Send the request again, or start a new conversation.',
    );
  });

  test('a summary that fails is an error that says why', async () => {
    const lost: GenerationEvent[] = [{ type: 'error', error: new AppError('engine-lost', { capability: 'text' }) }];
    expect((await world([lost]).ask(long)).error).toMatchObject({
      code: 'compaction-failed',
      message: expect.stringContaining('The text engine stopped'),
    });
  });

  test('a request that is aborted during the summary ends as aborted', async () => {
    const [start, ...rest] = spoken('Half') as [GenerationEvent, ...GenerationEvent[]];
    const end = {
      ...(rest.at(-1) as GenerationEvent & { type: 'finish' }),
      reason: 'aborted',
      cause: 'aborted',
    } as const;
    const { events } = await world([[start, end]]).ask(long);
    expect(events).toMatchObject([{ type: 'start' }, { type: 'finish', reason: 'aborted' }]);
  });
});

describe('a compaction that the client asks for', () => {
  const ask = (replies: readonly string[], compaction: CompactionRequest, messages = medium) => {
    const { ask: send, prompts } = world(replies);
    const base = chatRequest('');
    const controls = { ...base.controls, maxTokens: 100, overflow: 'refuse' as const };
    return send(messages, { compaction, controls }).then((result) => ({ ...result, prompts: prompts() }));
  };
  const medium: readonly Message[] = [...long.slice(0, 5), user('last question')];
  const short: readonly Message[] = [user(words(150)), assistant('Yes.'), user('last question')];

  test('above the trigger: the summary replaces everything but the system prompt, with the last question', async () => {
    const { prompts, compaction, events } = await ask(['All of it.', 'Answer.'], { trigger: 600, pause: false });
    expect(prompts[1]).toMatch(
      /^ <system> Be brief\. <user> The earlier[\s\S]*All of it\.[\s\S]*last question\n<\/summary> <assistant> $/,
    );
    expect(compaction).toMatchObject({ summary: 'All of it.\n\nThe last message of the user:\nlast question' });
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['compacting', 'start']);
  });

  test('below the trigger: nothing happens', async () => {
    expect((await ask(['Answer.'], { trigger: 750, pause: false }, short)).compaction).toBeUndefined();
  });

  test('a prompt that does not fit is compacted whatever the trigger', async () => {
    expect(
      (await ask(['Part.', 'Part.', 'All.', 'Answer.'], { trigger: 150_000, pause: false }, long)).compaction?.summary,
    ).toMatch(/^All/);
  });

  test('pause: the reply is the summary alone', async () => {
    const { events, prompts } = await ask(['All.'], { trigger: 0, pause: true }, short);
    expect(prompts).toHaveLength(1);
    expect(events).toMatchObject([
      { type: 'compacting' },
      { type: 'start', compaction: { summary: expect.stringMatching(/^All/) } },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  test('instructions are added to those of the server, or replace them', async () => {
    const own = (replace: boolean) => ({ trigger: 0, pause: true, instructions: { text: 'Only verbs.', replace } });
    expect((await ask(['All.'], own(false), short)).prompts[0]).toMatch(/Summarise[\s\S]*Only verbs\./);
    expect((await ask(['All.'], own(true), short)).prompts[0]).not.toContain('Summarise');
  });

  test('a summary that fails leaves a conversation as it is that fits', async () => {
    const { compaction, said } = await ask(['', 'Answer.'], { trigger: 50, pause: false }, short);
    expect(compaction).toMatchObject({ summary: null });
    expect(said).toBe('Answer.');
  });
});
