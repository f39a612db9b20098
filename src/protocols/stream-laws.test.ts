import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StartTimer } from '../core/timers.ts';
import type { Call, Endpoint } from '../http/call.ts';
import type { DialectContext } from './dialect.ts';
import { completionEndpoints as llamacppEndpoints } from './llamacpp/completion.ts';
import { messagesEndpoints } from './messages/routes.ts';
import { generateEndpoints } from './native/generate.ts';
import { generationEndpoints as ollamaEndpoints } from './ollama/generation.ts';
import { chatEndpoints } from './openai/chat/endpoints.ts';
import { completionEndpoints } from './openai/completions/endpoints.ts';
import { partialObject } from './partial-json.ts';
import { responseState } from './responses/background.ts';
import { responsesEndpoints } from './responses/routes.ts';
import { bindAll } from './testing/bind.ts';
import { callOf, controlLimits, dialectParts, scriptedChat, scriptedText } from './testing/doubles.ts';
import { fails, playReply, type RandomReply, randomReply, randomText } from './testing/random-replies.ts';

/**
 * The laws of every stream: it begins once, it ends once, all between is in order, and what it adds up to is what the
 * same request gets without a stream.
 */
interface Dialect {
  readonly name: string;
  readonly path: string;
  readonly body: object;
  readonly replies: fc.Arbitrary<RandomReply>;
  readonly endpoints: (parts: DialectContext) => Endpoint[];
  /** Throws on a stream that is out of order; returns what it adds up to, or that it failed. */
  readonly read: (stream: string) => Told;
  readonly whole: (body: Whole) => object;
  /** Whether a generation that just stops is a failure in this dialect, or an end like any other. */
  readonly brokenFails: boolean;
}

/** A body as this test reads it: what is missing fails the comparison. */
// biome-ignore lint/suspicious/noExplicitAny: seven shapes that are only compared
type Whole = any;

interface Told {
  readonly failed: boolean;
  readonly reply: object;
}

type Asked = { readonly type: 'stream' | 'body'; readonly text: string } | { readonly type: 'refused' };

/** Time that never passes, or that has passed whenever somebody looks: then the stream begins before its first event. */
const timers: Record<'soon' | 'late', StartTimer> = {
  soon: () => ({ restart: () => undefined, cancel: () => undefined }),
  late: (_, passed) => {
    passed();
    return { restart: () => undefined, cancel: () => undefined };
  },
};

async function ask({ endpoints, path, body }: Dialect, reply: RandomReply, when: 'soon' | 'late', stream: boolean) {
  const play = () => playReply(reply);
  const parts = dialectParts({
    chat: scriptedChat(play).chat,
    text: scriptedText(play).text,
    startTimer: timers[when],
  });
  const endpoint = endpoints(parts).find((one) => one.path === path && one.method === 'POST');
  const call: Call = callOf(path, { ...body, stream });
  try {
    const answer = await endpoint?.handle(call);
    if (!answer) throw new Error(`no ${path}`);
    if ('body' in answer) return { type: 'body', text: String(answer.body) } satisfies Asked;
    let text = '';
    for await (const piece of answer.stream) {
      expect(piece).not.toBe('');
      text += piece;
    }
    return { type: 'stream', text } satisfies Asked;
  } catch (error) {
    if ((error as Error).name !== 'AppError' && (error as Error).message !== 'the line is cut') throw error;
    return { type: 'refused' } satisfies Asked;
  }
}

/** The data of all frames; comments and fillers count for nothing. */
function frames(stream: string): { readonly event: string | undefined; readonly data: string }[] {
  expect(stream.endsWith('\n\n')).toBe(true);
  return stream
    .slice(0, -2)
    .split('\n\n')
    .filter((frame) => !frame.startsWith(':'))
    .map((frame) => {
      const lines = frame.split('\n');
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      return { event: field('event'), data: field('data') ?? '' };
    });
}

const chat: Dialect = {
  name: 'chat completions',
  path: '/v1/chat/completions',
  body: { messages: [{ role: 'user', content: 'Hi' }], stream_options: { include_usage: true } },
  replies: randomReply,
  endpoints: (parts) => bindAll(chatEndpoints, parts),
  brokenFails: false,
  read: (stream) => {
    const all = frames(stream).map(({ data }) => data);
    expect(all.filter((data) => data === '[DONE]')).toHaveLength(1);
    expect(all.at(-1)).toBe('[DONE]');
    const chunks = all.slice(0, -1).map((data) => JSON.parse(data));
    const failed = chunks.at(-1)?.error !== undefined;
    const sentChoices = chunks.filter(({ choices }) => choices?.length > 0).map(({ choices }) => choices[0]);
    const reply = { role: '', content: '', reasoning: '', reason: '', calls: [] as Record<string, string>[] };
    for (const [index, { delta, finish_reason: reason }] of sentChoices.entries()) {
      expect(delta.role).toBe(index === 0 ? 'assistant' : undefined);
      expect(reply.reason).toBe('');
      reply.role = 'assistant';
      reply.content += delta.content ?? '';
      reply.reasoning += delta.reasoning_content ?? '';
      reply.reason = reason ?? '';
      for (const { index: place, id, function: called } of delta.tool_calls ?? []) {
        expect(id === undefined).toBe(reply.calls[place] !== undefined);
        reply.calls[place] ??= { id, name: called.name, json: '' };
        reply.calls[place].json += called.arguments;
      }
    }
    if (!failed) expect(chunks.at(-1)).toMatchObject({ choices: [], usage: {} });
    return { failed, reply: { ...reply, usage: chunks.at(-1)?.usage } };
  },
  whole: ({ choices, usage }: Whole) => {
    const [{ message, finish_reason }] = choices;
    const { role, content, reasoning_content: reasoning = '', tool_calls = [] } = message;
    const calls = (tool_calls as { id: string; function: { name: string; arguments: string } }[]).map(
      ({ id, function: { name, arguments: json } }) => ({ id, name, json }),
    );
    return { role, content: content ?? '', reasoning, reason: finish_reason, calls, usage };
  },
};

const completions: Dialect = {
  name: 'completions',
  path: '/v1/completions',
  body: { prompt: 'Once', stream_options: { include_usage: true } },
  replies: randomText,
  endpoints: (parts) => bindAll(completionEndpoints, { ...parts, replacePlaceholders: (text) => text }),
  brokenFails: false,
  read: (stream) => {
    const all = frames(stream).map(({ data }) => data);
    expect(all.indexOf('[DONE]')).toBe(all.length - 1);
    const chunks = all.slice(0, -1).map((data) => JSON.parse(data));
    const failed = chunks.at(-1)?.error !== undefined;
    const sentChoices = chunks.filter(({ choices }) => choices?.length > 0).map(({ choices }) => choices[0]);
    const ends = sentChoices.filter(({ finish_reason }) => finish_reason !== null);
    if (!failed) expect(ends).toEqual([sentChoices.at(-1)]);
    return {
      failed,
      reply: {
        text: sentChoices.map(({ text }) => text).join(''),
        reason: ends[0]?.finish_reason,
        usage: chunks.at(-1)?.usage,
      },
    };
  },
  whole: ({ choices: [{ text, finish_reason: reason }], usage }: Whole) => ({ text, reason, usage }),
};

const messages: Dialect = {
  name: 'messages',
  path: '/v1/messages',
  body: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 },
  replies: randomReply,
  endpoints: (parts) => bindAll(messagesEndpoints(parts), parts),
  brokenFails: true,
  read: (stream) => {
    const all = frames(stream).map(({ event, data }) => ({ event, data: JSON.parse(data) }));
    for (const { event, data } of all) expect(data.type).toBe(event);
    const [first, ...rest] = all.filter(({ event }) => event !== 'ping');
    expect(first?.event).toBe('message_start');
    const last = rest.pop();
    expect(['message_stop', 'error']).toContain(last?.event);
    const failed = last?.event === 'error';
    const content: Record<string, unknown>[] = [];
    let open = false;
    let ending: { delta: object; usage: object } | undefined;
    for (const { event, data } of rest) {
      expect(ending).toBeUndefined();
      const block = content[data.index] as Record<string, string>;
      if (event === 'content_block_start') {
        expect([open, data.index]).toEqual([false, content.length]);
        content.push({ ...data.content_block, ...(data.content_block.type === 'tool_use' ? { input: '' } : {}) });
        open = true;
      } else if (event === 'content_block_delta') {
        expect([open, data.index]).toEqual([true, content.length - 1]);
        const { text, thinking, partial_json: json } = data.delta;
        if (text !== undefined) block.text += text;
        if (thinking !== undefined) block.thinking += thinking;
        if (json !== undefined) block.input += json;
      } else if (event === 'content_block_stop') {
        expect([open, data.index]).toEqual([true, content.length - 1]);
        open = false;
      } else {
        expect(event).toBe('message_delta');
        ending = data;
      }
    }
    expect(open).toBe(false);
    expect(ending === undefined).toBe(failed);
    if (!failed) expect(content).not.toHaveLength(0);
    const read = content.map((block) =>
      'input' in block ? { ...block, input: parsed(block.input as string) } : block,
    );
    return { failed, reply: { ...first?.data.message, ...ending?.delta, usage: ending?.usage, content: read } };
  },
  whole: (body: object) => body,
};

/** As clients do it: of a call that was cut off, what is there so far. */
const parsed = (json: string): unknown => partialObject(json);

const terminals = ['response.completed', 'response.incomplete', 'response.failed'];

const responses: Dialect = {
  name: 'responses',
  path: '/v1/responses',
  body: { input: 'Hi' },
  replies: randomReply,
  endpoints: (parts) => bindAll(responsesEndpoints(responseState(), parts), parts),
  brokenFails: true,
  read: (stream) => {
    const all = frames(stream).map(({ event, data }) => ({ event, data: JSON.parse(data) }));
    expect(all.map(({ data }) => data.sequence_number)).toEqual(all.map((_, index) => index));
    for (const { event, data } of all) expect(data.type).toBe(event);
    expect(all.filter(({ event }) => event === 'response.created')).toEqual([all[0]]);
    expect(all.filter(({ event }) => terminals.includes(event ?? ''))).toEqual([all.at(-1)]);
    const added: string[] = [];
    const done: unknown[] = [];
    for (const { event, data } of all) {
      if (event === 'response.output_item.added') {
        expect([data.output_index, added.length]).toEqual([done.length, done.length]);
        added.push(data.item.id);
      } else if (event === 'response.output_item.done') {
        expect([data.output_index, data.item.id]).toEqual([done.length, added.at(-1)]);
        done.push(data.item);
      } else if (data.item_id !== undefined) {
        expect([data.item_id, data.output_index]).toEqual([added.at(-1), done.length]);
      }
    }
    expect(added).toHaveLength(done.length);
    const { response } = all.at(-1)?.data ?? {};
    expect(response.output).toEqual(done);
    return { failed: response.status === 'failed', reply: response };
  },
  whole: (body: object) => body,
};

const ollama: Dialect = {
  name: 'ollama',
  path: '/api/chat',
  body: { model: 'mini', messages: [{ role: 'user', content: 'Hi' }] },
  replies: randomReply,
  endpoints: (parts) => bindAll(ollamaEndpoints, parts),
  brokenFails: false,
  read: (stream) => {
    expect(stream.endsWith('\n')).toBe(true);
    const lines = stream
      .slice(0, -1)
      .split('\n')
      .map((line) => JSON.parse(line));
    const last = lines.at(-1);
    const failed = last.error !== undefined;
    expect(lines.filter(({ done, error }) => done === true || error !== undefined)).toEqual([last]);
    const said = (key: string) => lines.map(({ message }) => message?.[key] ?? '').join('');
    return {
      failed,
      reply: {
        ...last,
        message: { content: said('content'), thinking: said('thinking') },
        calls: lines.flatMap(({ message }) => message?.tool_calls ?? []),
      },
    };
  },
  whole: ({ message, ...rest }: { message: Record<string, string> }) => ({
    ...rest,
    message: { content: message.content, thinking: message.thinking ?? '' },
    calls: message.tool_calls ?? [],
  }),
};

const native: Dialect = {
  name: 'native',
  path: '/api/extra/generate/stream',
  body: { prompt: 'Once' },
  replies: randomText,
  endpoints: (parts) =>
    bindAll(generateEndpoints, {
      text: parts.text,
      controlLimits: () => controlLimits,
      replacePlaceholders: (text) => text,
      applyDefaults: (body) => body,
      startTimer: parts.startTimer,
    }),
  brokenFails: false,
  read: (stream) => {
    const all = frames(stream).map(({ event, data }) => ({ event, data: JSON.parse(data) }));
    expect(all.every(({ event }) => event === 'message')).toBe(true);
    expect(all.filter(({ data }) => data.finish_reason !== null)).toEqual([all.at(-1)]);
    const { finish_reason: reason } = all.at(-1)?.data ?? {};
    return { failed: reason === 'error', reply: { text: all.map(({ data }) => data.token).join(''), reason } };
  },
  whole: ({ results: [{ text, finish_reason: reason }] }: Whole) => ({ text, reason }),
};

const llamacpp: Dialect = {
  name: 'llama.cpp',
  path: '/completion',
  body: { prompt: 'Once' },
  replies: randomText,
  endpoints: (parts) => bindAll(llamacppEndpoints, parts),
  brokenFails: false,
  read: (stream) => {
    const all = frames(stream).map(({ data }) => JSON.parse(data));
    const last = all.at(-1);
    const failed = last.error !== undefined;
    expect(all.filter(({ stop, error }) => stop === true || error !== undefined)).toEqual([last]);
    const content = all.map((chunk) => chunk.content ?? '').join('');
    return { failed, reply: { ...last, content, generation_settings: undefined } };
  },
  whole: (body: object) => ({ ...body, generation_settings: undefined }),
};

/** The whole reply of the native dialect has its own path. */
const wholePath = (dialect: Dialect): Dialect =>
  dialect === native ? { ...dialect, path: '/api/v1/generate' } : dialect;

describe.each([chat, completions, messages, responses, ollama, native, llamacpp])('stream of $name', (dialect) => {
  test.each(['soon', 'late'] as const)('starts once and ends once, whatever happens (%s)', async (when) => {
    await fc.assert(
      fc.asyncProperty(dialect.replies, async (reply) => {
        const asked = await ask(dialect, reply, when, true);
        const first = reply.events[0]?.type;
        if (asked.type === 'refused') {
          // Before the first event a failure keeps its own status.
          expect([when, fails(reply)]).toEqual(['soon', true]);
          expect(first === undefined || first === 'error').toBe(true);
          return;
        }
        expect(asked.type).toBe('stream');
        const { failed } = dialect.read(asked.text);
        expect(failed).toBe(fails(reply) || (dialect.brokenFails && reply.breaks === 'just ends'));
      }),
      { numRuns: 60 },
    );
  });

  test('adds up to the whole reply', async () => {
    await fc.assert(
      fc.asyncProperty(dialect.replies, async (reply) => {
        const streamed = await ask(dialect, reply, 'soon', true);
        const whole = await ask(wholePath(dialect), reply, 'soon', false);
        if (whole.type === 'refused') {
          expect(streamed.type === 'refused' || dialect.read(streamed.text).failed).toBe(true);
          return;
        }
        if (streamed.type === 'refused') throw new Error('refused only as a stream');
        const { reply: streamedReply } = dialect.read(streamed.text);
        expect(streamedReply).toEqual(dialect.whole(JSON.parse(whole.text)));
      }),
      { numRuns: 60 },
    );
  });
});
