import { expect, test } from 'vitest';
import { text } from '../../chat/messages.ts';
import { scriptedText } from '../../chat/testing/scripted-text.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { fold } from '../../core/fold.ts';
import { fixedTextSource, type TextEngine } from '../../core/text-service.ts';
import type { ToolServers } from '../../core/tool-servers.ts';
import { Queue } from '../../queue/queue.ts';
import { RequestQueue } from '../../queue/request-queue.ts';
import { textService } from '../../queue/text.ts';
import { fakeEngine } from '../testing/fake-engine.ts';
import { remoteChatService } from './chat-service.ts';
import { poolOf } from './testing/backend-pool.ts';
import { chatRequest, controlsWith } from './testing/requests.ts';
import { delta, ended, json, said, streamed, upstream, wellParley } from './testing/upstream.ts';
import { RemoteText } from './text.ts';
import { RemoteTokens } from './tokens.ts';

const context = (genkey = '') => ({ genkey, client: 'me', signal: new AbortController().signal });

async function serviceOn(handlers: Parameters<typeof upstream>[0], instead?: TextEngine) {
  const one = await upstream({ ...wellParley, ...handlers });
  const { pool } = poolOf([one.address()]);
  const parts = { pool, model: undefined, name: 'r', defaultContext: 512, now: () => 0, newCallId: () => 'made' };
  const engine = new RemoteText(parts);
  engine.start();
  await engine.settled();
  const requestQueue = new RequestQueue(new Queue({ capacity: () => 8, maxRequests: () => 16 }), () => 0);
  const desktop = textService({
    source: fixedTextSource(instead ?? engine),
    requestQueue,
    sharing: () => ({ type: 'shared' }),
    randomSeed: () => 5,
  });
  const chat = remoteChatService({ text: desktop, tokens: new RemoteTokens(pool, undefined), serverTools: undefined });
  return { chat, one, text: desktop };
}

test('remoteChatService: a chat passes the queue, is sent as messages and found by its key', async () => {
  const { chat, one, text: desktop } = await serviceOn({ '/v1/chat/completions': streamed(said('Hello'), ended()) });
  const seen: string[] = [];
  const events: GenerationEvent[] = [];
  for await (const event of chat.reply(chatRequest(), context('K1'))) {
    events.push(event);
    seen.push(desktop.check('K1'));
  }
  expect(events.map(({ type }) => type)).toEqual(['start', 'text-delta', 'finish']);
  expect(seen).toContain('Hello');
  expect(one.asked('/v1/chat/completions')[0]?.body).toMatchObject({ messages: [{ content: 'Hi' }], seed: 5 });
  expect(desktop.performance()).toMatchObject({ generations: 1, stop: 'end-token' });
});

test('remoteChatService: several replies have different seeds', async () => {
  const { chat, one } = await serviceOn({ '/v1/chat/completions': streamed(said('Hello'), ended()) });
  const request = chatRequest({ controls: controlsWith({ maxTokens: 8 }, { seed: 40 }) });
  const replies = await Promise.all(chat.replies(request, context(), 3).map(fold));
  expect(replies.map(({ text: words }) => words)).toEqual(['Hello', 'Hello', 'Hello']);
  expect(one.asked('/v1/chat/completions').map(({ body }) => body.seed)).toEqual([40, 41, 42]);
});

test('remoteChatService: rejects an unknown tool before any request', async () => {
  const { chat, one } = await serviceOn({});
  const request = chatRequest({ toolChoice: { type: 'named', name: 'fly' } });
  await expect(fold(chat.reply(request, context()))).rejects.toMatchObject({ code: 'invalid-field' });
  expect(one.asked('/v1/chat/completions')).toEqual([]);
});

test('remoteChatService: tokens and prompts come from the backend', async () => {
  const { chat } = await serviceOn({
    '/v1/chat/completions/input_tokens': json({ input_tokens: 12 }),
    '/apply-template': json({ prompt: '<user>Hi' }),
  });
  expect(await chat.countTokens(chatRequest())).toBe(12);
  expect(await chat.render(chatRequest())).toMatchObject({ prompt: '<user>Hi', memory: '', by: 'template' });
  expect(await chat.thinksAnyway(chatRequest({ reasoning: { effort: 'none', separate: true } }))).toBe(false);
});

test('remoteChatService: an engine without messages is an error', async () => {
  const fake = fakeEngine({ script: () => ({ pieces: ['x'] }), pace: (next) => next() });
  const { chat } = await serviceOn({}, fake);
  await expect(fold(chat.reply(chatRequest(), context()))).rejects.toThrow('takes no messages');
});

test('remoteChatService: the console shows the last turn and its pictures', () => {
  const { service, asked } = scriptedText(['Hello']);
  const chat = remoteChatService({ text: service, tokens: {} as RemoteTokens, serverTools: undefined });
  const content = [...text('Look at this'), { type: 'medium', index: 0 } as const];
  const media = [{ kind: 'image', base64: 'AAAA' } as const];
  chat.reply(chatRequest({ conversation: { messages: [{ role: 'user', content }], media, tools: [] } }), context());
  expect(asked[0]?.prompt).toBe('Look at this\n(Attached Image 1)\n');
});

test('remoteChatService: runs server tools for a remote model', async () => {
  const called = { tool_calls: [{ index: 0, id: 'c1', function: { name: 'get_time', arguments: '{}' } }] };
  const one = await upstream({
    ...wellParley,
    '/v1/chat/completions/input_tokens': json({ input_tokens: 30 }),
    '/v1/chat/completions': (received, response) => {
      const answers = received.body.messages.at(-1).role === 'tool';
      const chunks = answers ? [said('It is noon.'), ended()] : [delta(called), ended('tool_calls')];
      return streamed(...chunks)(received, response);
    },
  });
  const { pool } = poolOf([one.address()]);
  const engine = new RemoteText({
    pool,
    model: undefined,
    name: 'r',
    defaultContext: 512,
    now: () => 0,
    newCallId: () => 'made',
  });
  engine.start();
  await engine.settled();
  const ran: string[] = [];
  const servers: ToolServers = {
    list: async () => [{ name: 'get_time', inputSchema: { type: 'object' } }],
    call: async ({ name }) => {
      ran.push(name);
      return { content: [{ type: 'text', text: '12:00' }] };
    },
  };
  const chat = remoteChatService({
    text: textService({
      source: fixedTextSource(engine),
      requestQueue: new RequestQueue(new Queue({ capacity: () => 8, maxRequests: () => 16 }), () => 0),
      sharing: () => ({ type: 'shared' }),
      randomSeed: () => 5,
    }),
    tokens: new RemoteTokens(pool, undefined),
    serverTools: { servers, turns: 4, now: () => new Date(0), startTimer: () => ({ cancel: () => undefined }) },
  });
  const { text: words, toolCalls } = await fold(chat.reply(chatRequest(), context()));
  expect(ran).toEqual(['get_time']);
  expect(words).toContain('It is noon.');
  expect(toolCalls).toEqual([]);
  const [first, second] = one.asked('/v1/chat/completions');
  expect(first?.body.tools[0].function.name).toBe('get_time');
  expect(second?.body.messages.at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('12:00') });
  expect(await chat.countTokens(chatRequest())).toBe(30);
});
