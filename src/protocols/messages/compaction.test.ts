import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { WebSearch } from '../../core/web-search.ts';
import { bindAll } from '../testing/bind.ts';
import { chatmlWithTools, type Scripts, said, sdkWorld } from '../testing/sdk-world.ts';
import { messagesEndpoints } from './routes.ts';

/** The model plays the scripts one after the other; each character of a prompt counts as one token, and 4096 fit. */
async function world(...scripts: readonly (readonly unknown[])[]) {
  const found = { title: 'A', url: 'https://a.example/', description: 'found '.repeat(50), content: '' };
  const web: WebSearch = {
    find: async () => ({ pages: [found] }),
    text: async () => ({ problem: 'Not here.', cause: 'unreachable' }),
    page: async () => ({ problem: 'Not here.' }),
  };
  const { base, asked } = await sdkWorld(scripts as Scripts, (parts) => bindAll(messagesEndpoints(parts), parts), {
    template: chatmlWithTools,
    web,
  });
  const client = new Anthropic({ baseURL: base, apiKey: 'secret', maxRetries: 0 });
  return { client, prompts: () => asked.map(({ request }) => request.prompt) };
}

const messages: Anthropic.Beta.BetaMessageParam[] = [
  { role: 'user', content: `Read this: ${'word '.repeat(200)}` },
  { role: 'assistant', content: 'I have read it.' },
  { role: 'user', content: 'What did I ask?' },
];
const compact = (own: object = {}) => ({
  edits: [{ type: 'compact_20260112' as const, trigger: { type: 'input_tokens' as const, value: 500 }, ...own }],
});
const request = {
  model: 'any',
  max_tokens: 100,
  system: 'Be brief.',
  betas: ['compact-2026-01-12' as const],
  messages,
};
const summary = 'They read words.\n\nThe last message of the user:\nWhat did I ask?';
const block = { type: 'compaction', content: summary, encrypted_content: null };
/** The scripted usage of one generation. */
const figures = { input_tokens: 4, cache_read_input_tokens: 3, output_tokens: 5 };

describe('Anthropic SDK: compact_20260112', () => {
  test('the reply begins with the summary, and usage.iterations has both steps', async () => {
    const { client, prompts } = await world(said('They read words.'), said('To read.'));
    const reply = await client.beta.messages.create({ ...request, context_management: compact() });
    expect(reply.content).toEqual([block, { type: 'text', text: 'To read.' }]);
    expect(reply).toMatchObject({ stop_reason: 'end_turn', usage: figures, context_management: { applied_edits: [] } });
    expect(reply.usage.iterations).toMatchObject([
      { type: 'compaction', ...figures, cache_creation: null },
      { type: 'message', ...figures, model: 'mini' },
    ]);
    expect(prompts()[1]).toMatch(/^<\|im_start\|>system\nBe brief\.[\s\S]*They read words\.[\s\S]*assistant\n$/);
    expect(prompts()[1]).not.toContain('word word');
  });

  test('the next turn has the same prefix, whether or not the client drops what is before the block', async () => {
    const { client, prompts } = await world(said('They read words.'), said('To read.'), said('A.'), said('B.'));
    const { content } = await client.beta.messages.create({ ...request, context_management: compact() });
    const turn = [
      { role: 'assistant' as const, content },
      { role: 'user' as const, content: 'And now?' },
    ];
    await client.beta.messages.create({ ...request, messages: [...messages, ...turn], context_management: compact() });
    await client.beta.messages.create({ ...request, messages: turn, context_management: compact() });
    const [, compacted, next, pruned] = prompts();
    expect(next).toBe(`${compacted}To read.<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>\n<|im_start|>assistant\n`);
    expect(pruned).toBe(next);
  });

  test('a stream has one delta with the whole summary', async () => {
    const { client } = await world(said('They read', ' words.'), said('To read.'));
    const stream = client.beta.messages.stream({ ...request, context_management: compact() });
    const events: string[] = [];
    stream.on('streamEvent', (event) =>
      events.push('delta' in event ? `${event.type} ${'type' in event.delta ? event.delta.type : ''}` : event.type),
    );
    const reply = await stream.finalMessage();
    expect(events.slice(0, 5)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta compaction_delta',
      'content_block_stop',
      'content_block_start',
    ]);
    expect(reply.content).toEqual([block, { type: 'text', text: 'To read.' }]);
    expect(reply.usage).toMatchObject(figures);
    expect(reply.usage.iterations).toHaveLength(2);
  });

  test.each([false, true])('pause_after_compaction: the reply is the block alone (stream: %j)', async (streams) => {
    const { client, prompts } = await world(said('They read words.'), said('Never.'));
    const asked = { ...request, context_management: compact({ pause_after_compaction: true }) };
    const reply = streams
      ? await client.beta.messages.stream(asked).finalMessage()
      : await client.beta.messages.create(asked);
    expect(reply).toMatchObject({ content: [block], stop_reason: 'compaction' });
    expect(reply.usage.iterations).toMatchObject([{ type: 'compaction' }]);
    expect(prompts()).toHaveLength(1);
  });

  test('below the trigger nothing happens', async () => {
    const { client } = await world(said('To read.'));
    const reply = await client.beta.messages.create({
      ...request,
      messages: messages.slice(1),
      context_management: compact(),
    });
    expect(reply.content).toEqual([{ type: 'text', text: 'To read.' }]);
    expect(reply.usage.iterations).toBeUndefined();
  });

  test('a failed summary is a block without content, which has no effect when it comes back', async () => {
    const { client, prompts } = await world(said(' '), said('To read.'), said(' '), said('Yes.'));
    const { content } = await client.beta.messages.create({ ...request, context_management: compact() });
    expect(content).toEqual([
      { ...block, content: null },
      { type: 'text', text: 'To read.' },
    ]);
    const turn = [
      { role: 'assistant' as const, content },
      { role: 'user' as const, content: 'And now?' },
    ];
    await client.beta.messages.create({ ...request, messages: [...messages, ...turn], context_management: compact() });
    expect(prompts().at(-1)).toContain('word word');
  });

  test('a summary that fails, of a conversation that does not fit, is an error', async () => {
    const failure = [{ type: 'error' as const, error: new AppError('engine-lost', { capability: 'text' }) }];
    const { client } = await world(failure, failure);
    const asked = [{ role: 'user' as const, content: 'word '.repeat(1000) }, ...messages.slice(1)];
    await expect(
      client.beta.messages.create({ ...request, messages: asked, context_management: compact() }),
    ).rejects.toMatchObject({ status: 500, message: expect.stringContaining('could not be compacted') });
  });

  test('a conversation that cannot get small enough is refused in the words that agents know', async () => {
    const { client } = await world(said('They read words.'));
    const system = 'Rule. '.repeat(700);
    await expect(
      client.beta.messages.create({ ...request, system, context_management: compact() }),
    ).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(/prompt is too long: \d+ tokens > 4096 maximum, even after/),
    });
  });
});

test('Anthropic SDK: clear_tool_uses_20250919 also clears results of searches within the reply, and reports their sum', async () => {
  const search = said('<tool_call>{"name": "web_search", "arguments": {"query": "cats"}}</tool_call>');
  const { client, prompts } = await world(search, search, search, said('Cats.'));
  const one = { type: 'tool_uses' as const, value: 1 };
  const reply = await client.beta.messages.create({
    ...request,
    messages: messages.slice(-1),
    tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    context_management: { edits: [{ type: 'clear_tool_uses_20250919', trigger: one, keep: one }] },
  });
  expect(prompts().map((prompt) => prompt.split('found found').length > 1)).toEqual([false, true, true, true]);
  expect(
    prompts()
      .at(-1)
      ?.match(/Old tool result cleared/g),
  ).toHaveLength(2);
  expect(reply.content.filter((each) => each.type === 'web_search_tool_result')).toHaveLength(3);
  expect(reply.context_management?.applied_edits).toEqual([
    { type: 'clear_tool_uses_20250919', cleared_tool_uses: 2, cleared_input_tokens: expect.any(Number) },
  ]);
});

describe('Anthropic SDK: compaction', () => {
  test('the reply is the summary, by the instructions of the client', async () => {
    const { client, prompts } = await world(said('They read words.'));
    const compaction = { type: 'summarize' as const, instructions: 'One sentence, please.' };
    const reply = await client.beta.messages.create({ ...request, compaction });
    expect(reply).toMatchObject({ content: [block], stop_reason: 'compaction' });
    expect(prompts()[0]).toMatch(/What did I ask\?\n\nOne sentence, please\.<\|im_end\|>/);
  });

  test('count_tokens: counts a compacted conversation, and starts no compaction', async () => {
    const { client, prompts } = await world();
    const count = (sent: Anthropic.Beta.BetaMessageParam[]) =>
      client.beta.messages.countTokens({ model: 'any', messages: sent, context_management: compact() });
    const whole = await count(messages);
    const compacted = await count([
      ...messages,
      { role: 'assistant', content: [{ type: 'compaction', content: 'S' }] },
    ]);
    expect(compacted.input_tokens).toBeLessThan(whole.input_tokens / 2);
    expect(whole.context_management).toEqual({ original_input_tokens: whole.input_tokens });
    expect(prompts()).toEqual([]);
  });
});
