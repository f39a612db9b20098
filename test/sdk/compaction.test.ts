import { describe, expect, test } from 'vitest';
import { untrainedServers } from '../live/server.ts';
import { liveClients } from './live-clients.ts';
import { words } from './questions.ts';

const contextSize = 1024;
const turn = (index: number) => [
  { role: 'user' as const, content: `${words(60)} ${index}` },
  { role: 'assistant' as const, content: words(60) },
];
const messages = [...[1, 2, 3, 4, 5, 6, 7, 8].flatMap(turn), { role: 'user' as const, content: 'Hello!' }];

describe('--contextoverflow compact: a conversation that does not fit is summarised by the model', () => {
  const flags = ['--contextsize', String(contextSize), '--contextoverflow', 'compact'];
  const live = liveClients(flags, {}, untrainedServers());
  const ask = async (path: string, body: object) => {
    const answer = await fetch(`${live.server.base}${path}`, { method: 'POST', body: JSON.stringify(body) });
    return { status: answer.status, compacted: answer.headers.get('x-parley-compacted'), body: await answer.text() };
  };

  test.each<[string, object]>([
    ['/v1/chat/completions', { messages, max_tokens: 8 }],
    ['/v1/responses', { input: messages, max_output_tokens: 8 }],
    ['/v1/messages', { model: 'any', messages, max_tokens: 8 }],
    ['/api/chat', { model: 'any', messages, options: { num_predict: 8 }, stream: false }],
  ])('%s', async (path, body) => {
    expect(await ask(path, body)).toMatchObject({
      status: 200,
      compacted: expect.stringMatching(/^messages=\d+, tool_results=0$/),
    });
  });

  test('chat completions: the next turn finds the compacted prompt in the cache', async () => {
    const reply = await live.openai.chat.completions.create({ model: 'any', messages, max_tokens: 8 });
    expect(reply).toMatchObject({ warnings: [expect.stringContaining('The conversation was compacted')] });
    const assistantTurn = { role: 'assistant' as const, content: reply.choices[0]?.message.content ?? '' };
    const next = [...messages, assistantTurn, { role: 'user' as const, content: 'And now?' }];
    const { usage } = await live.openai.chat.completions.create({ model: 'any', messages: next, max_tokens: 8 });
    const before = reply.usage?.prompt_tokens ?? 0;
    expect(usage?.prompt_tokens).toBeLessThan(contextSize);
    expect(usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThanOrEqual(before - 8);
  });

  test('a last message that is too long itself is refused', async () => {
    const longer = [...messages, { role: 'user' as const, content: words(1200) }];
    await expect(
      live.openai.chat.completions.create({ model: 'any', messages: longer, max_tokens: 8 }),
    ).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
  });
});

describe('compaction on request of the client', () => {
  const live = liveClients(['--contextsize', String(contextSize)], {}, untrainedServers());
  const some = messages.slice(-5);

  test('Messages: compact_20260112', async () => {
    const edit = { type: 'compact_20260112' as const, trigger: { type: 'input_tokens' as const, value: 50 } };
    const reply = await live.anthropic.beta.messages.create({
      model: 'any',
      max_tokens: 8,
      messages: some,
      betas: ['compact-2026-01-12'],
      context_management: { edits: [edit] },
    });
    expect(reply.content[0]).toMatchObject({ type: 'compaction', content: expect.any(String) });
    expect(reply.usage.iterations?.map(({ type }) => type)).toEqual(['compaction', 'message']);
  });

  test('Responses: responses.compact gives the next input', async () => {
    const { output } = await live.openai.responses.compact({ model: 'any', input: some });
    expect(output.at(-1)).toMatchObject({ type: 'compaction' });
    const input = [...output, { role: 'user' as const, content: 'And now?' }] as typeof some;
    const reply = await live.openai.responses.create({ model: 'any', input, max_output_tokens: 8 });
    expect(reply.output).toHaveLength(1);
  });
});
