import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { DialectContext } from '../dialect.ts';
import { bindAll } from '../testing/bind.ts';
import { chatmlWithTools, type Scripts, said, sdkWorld } from '../testing/sdk-world.ts';
import { responseState } from './background.ts';
import { responsesEndpoints } from './routes.ts';

/** The model plays the scripts one after the other; each character of a prompt counts as one token, and 4096 fit. */
async function world(...scripts: readonly (readonly unknown[])[]) {
  const endpoints = (parts: DialectContext) => bindAll(responsesEndpoints(responseState(), parts), parts);
  const { base, asked } = await sdkWorld(scripts as Scripts, endpoints, { template: chatmlWithTools });
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'secret', maxRetries: 0 });
  return { client, prompts: () => asked.map(({ request }) => request.prompt) };
}

const input: OpenAI.Responses.ResponseInputItem[] = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: `Read this: ${'word '.repeat(200)}` },
  { role: 'assistant', content: 'I have read it.' },
  { role: 'user', content: 'What did I ask?' },
];
const request = {
  model: 'any',
  input,
  context_management: [{ type: 'compaction' as const, compact_threshold: 500 }],
};
const compactionItem = {
  id: expect.stringMatching(/^cmp_/),
  type: 'compaction',
  encrypted_content: expect.stringMatching(/^parleyc1\./),
};
const ended = '<|im_end|>\n<|im_start|>assistant\n';

describe('OpenAI SDK: context_management', () => {
  test('above the threshold the output begins with a compaction item', async () => {
    const { client, prompts } = await world(said('They read words.'), said('To read.'));
    const { output, output_text: text, usage } = await client.responses.create(request);
    expect(output).toMatchObject([compactionItem, { type: 'message', content: [{ text: 'To read.' }] }]);
    expect(text).toBe('To read.');
    expect(usage).toMatchObject({ input_tokens: 7, output_tokens: 5 });
    expect(prompts()[1]).toMatch(/system\nBe brief\.[\s\S]*They read words\.[\s\S]*What did I ask\?/);
    expect(prompts()[1]).not.toContain('word word');
  });

  test('the next turn has the same prefix: by previous_response_id, with all items, and with pruned ones', async () => {
    const { client, prompts } = await world(
      said('They read words.'),
      ...['To read.', 'A.', 'B.', 'C.'].map((each) => said(each)),
    );
    const { id, output } = await client.responses.create(request);
    const next: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'And now?' }];
    const items = output as OpenAI.Responses.ResponseInputItem[];
    await client.responses.create({ ...request, input: next, previous_response_id: id });
    await client.responses.create({ ...request, input: [...input, ...items, ...next] });
    await client.responses.create({ ...request, input: [input[0] as (typeof input)[0], ...items, ...next] });
    const [, compacted, ...later] = prompts();
    const expected = `${compacted}To read.<|im_end|>\n<|im_start|>user\nAnd now?${ended}`;
    expect(later).toEqual([expected, expected, expected]);
  });

  test('a stream announces the compaction, and then has the item', async () => {
    const { client } = await world(said('They read words.'), said('To read.'));
    const types: string[] = [];
    const stream = client.responses.stream(request);
    for await (const { type } of stream) types.push(type);
    expect(types.slice(0, 6)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.compaction.compacting',
      'response.output_item.done',
      'response.output_item.added',
    ]);
    expect((await stream.finalResponse()).output).toMatchObject([compactionItem, { type: 'message' }]);
  });

  test('a stored response is streamed again with its item', async () => {
    const { client } = await world(said('They read words.'), said('To read.'));
    const { id } = await client.responses.create(request);
    const types: string[] = [];
    for await (const event of await client.responses.retrieve(id, { stream: true })) types.push(event.type);
    expect(types).toContain('response.compaction.compacting');
  });

  test('compaction_trigger as the last item: the reply is the item alone', async () => {
    const { client, prompts } = await world(said('They read words.'), said('Yes.'));
    const reply = await client.responses.create({ model: 'any', input: [...input, { type: 'compaction_trigger' }] });
    expect(reply).toMatchObject({ status: 'completed', output: [compactionItem] });
    await client.responses.create({ model: 'any', previous_response_id: reply.id, input: 'And now?' });
    expect(prompts()[1]).toMatch(/They read words\.[\s\S]*<\/summary>\n\nAnd now\?/);
  });

  test('compaction_trigger before other items is refused', async () => {
    const { client } = await world();
    await expect(
      client.responses.create({ model: 'any', input: [{ type: 'compaction_trigger' }, ...input] }),
    ).rejects.toMatchObject({ status: 400, message: expect.stringContaining('input[0] must be the last item') });
  });

  test.each([
    ['gAAAAABo', 'another server made this one'],
    ['parleyc1.e30.0000000000000000', 'this one is damaged'],
  ])('encrypted_content %s is refused', async (content, message) => {
    const { client } = await world();
    const items = [{ type: 'compaction' as const, encrypted_content: content }, ...input];
    await expect(client.responses.create({ model: 'any', input: items })).rejects.toMatchObject({
      status: 400,
      param: 'input[0].encrypted_content',
      message: expect.stringContaining(message),
    });
  });

  test.each([
    [{ type: 'forget' }, 'context_management[0].type must be one of compaction.'],
    [{ type: 'compaction', compact_threshold: 0 }, 'context_management[0].compact_threshold must be'],
  ])('context_management [%j] is refused', async (entry, message) => {
    const { client } = await world();
    const body = { ...request, context_management: [entry as { type: 'compaction' }] };
    await expect(client.responses.create(body)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(message),
    });
  });
});

describe('OpenAI SDK: a compaction that fails', () => {
  const failure = [{ type: 'error' as const, error: new AppError('engine-lost', { capability: 'text' }) }];
  const tooLong = [...input.slice(0, 1), { role: 'user' as const, content: 'word '.repeat(1000) }, ...input.slice(2)];

  test('a summary that fails, of a conversation that does not fit, is an error', async () => {
    const { client } = await world(failure, failure);
    await expect(client.responses.create({ ...request, input: tooLong })).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining('could not be compacted'),
    });
  });

  test('an empty summary of a conversation that fits: it is answered as it is', async () => {
    const { client, prompts } = await world(said(' '), said('To read.'));
    expect((await client.responses.create(request)).output_text).toBe('To read.');
    expect(prompts()[1]).toContain('word word');
  });

  test('a conversation that cannot get small enough is refused with the code that agents know', async () => {
    const { client } = await world(said('They read words.'));
    const rules = [{ role: 'developer' as const, content: 'Rule. '.repeat(700) }, ...input.slice(1)];
    await expect(client.responses.create({ ...request, input: rules })).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      message: expect.stringContaining('even after'),
    });
  });
});

describe('OpenAI SDK: responses.compact', () => {
  test('returns the user messages and the summary, which are the next input', async () => {
    const { client, prompts } = await world(said('They read words.'), said('To read.'));
    const compacted = await client.responses.compact({ model: 'any', input, instructions: 'Answer in verse.' });
    expect(compacted).toMatchObject({
      object: 'response.compaction',
      output: [{ role: 'developer' }, { role: 'user' }, { role: 'user' }, compactionItem],
      usage: { input_tokens: 7, output_tokens: 5, total_tokens: 12 },
    });
    const next = [
      ...(compacted.output as OpenAI.Responses.ResponseInputItem[]),
      { role: 'user' as const, content: 'Go on.' },
    ];
    await client.responses.create({ model: 'any', input: next });
    expect(prompts()[1]).toMatch(/word word[\s\S]*What did I ask\?[\s\S]*They read words\.[\s\S]*Go on\./);
    expect(prompts()[1]).not.toContain('I have read it.');
  });

  test('goes on from a stored response', async () => {
    const { client, prompts } = await world(said('To read.'), said('All of it.'));
    const { id } = await client.responses.create({ model: 'any', input });
    const { output } = await client.responses.compact({ model: 'any', previous_response_id: id });
    expect(output).toHaveLength(4);
    expect(prompts()[1]).toContain('To read.');
  });

  test('an empty summary is an error', async () => {
    const { client } = await world(said(' '));
    await expect(client.responses.compact({ model: 'any', input })).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining('the model wrote an empty summary'),
    });
  });
});
