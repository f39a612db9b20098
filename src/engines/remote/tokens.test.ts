import { describe, expect, test } from 'vitest';
import { poolOf } from './testing/backend-pool.ts';
import { chatRequest } from './testing/requests.ts';
import { type Handler, json, listed, upstream, wellParley, wellVllm } from './testing/upstream.ts';
import { RemoteTokens } from './tokens.ts';

async function tokensOn(handlers: Readonly<Record<string, Handler>>) {
  const one = await upstream(handlers);
  const { pool } = poolOf([one.address()]);
  await pool.start();
  return { one, tokens: new RemoteTokens(pool, undefined) };
}

const llamaServer = {
  '/v1/models': json({ data: [{ id: 'm', owned_by: 'llamacpp' }] }),
  '/props': json({ default_generation_settings: { n_ctx: 512 } }),
};
const tgi = {
  '/v1/models': json({ data: [{ id: 'm', owned_by: 'm' }] }),
  '/info': json({ model_id: 'm', max_total_tokens: 100 }),
};
const koboldcpp = {
  '/v1/models': json({ data: [{ id: 'koboldcpp/m', owned_by: 'koboldcpp' }] }),
  '/api/extra/version': json({ result: 'KoboldCpp' }),
};

describe('RemoteTokens.tokenize', () => {
  test.each<[string, Readonly<Record<string, Handler>>, string, object]>([
    [
      'Parley',
      { ...wellParley, '/tokenize': json({ tokens: [4, 5] }) },
      '/tokenize',
      { content: 'Hi', add_special: true, parse_special: true },
    ],
    [
      'llama-server',
      { ...llamaServer, '/tokenize': json({ tokens: [4, 5] }) },
      '/tokenize',
      { content: 'Hi', add_special: true },
    ],
    [
      'vLLM',
      { ...wellVllm, '/tokenize': json({ count: 2, tokens: [4, 5] }) },
      '/tokenize',
      { model: 'org/model-8b', prompt: 'Hi', add_special_tokens: true },
    ],
    ['TGI', { ...tgi, '/tokenize': json([{ id: 4 }, { id: 5 }]) }, '/tokenize', { inputs: 'Hi' }],
    [
      'KoboldCpp',
      { ...koboldcpp, '/api/extra/tokencount': json({ value: 2, ids: [4, 5] }) },
      '/api/extra/tokencount',
      { prompt: 'Hi' },
    ],
  ])('request of %s', async (_, handlers, path, body) => {
    const { one, tokens } = await tokensOn(handlers);
    expect(await tokens.tokenize('Hi', { addSpecial: true })).toEqual([4, 5]);
    expect(one.asked(path)[0]?.body).toMatchObject(body);
  });

  test('is rejected if unsupported', async () => {
    const { tokens } = await tokensOn({ '/v1/models': listed.openai });
    await expect(tokens.tokenize('Hi', { addSpecial: true })).rejects.toMatchObject({ code: 'unsupported' });
    await expect(tokens.count(chatRequest(), undefined)).rejects.toThrow('has no way to ask for it');
  });

  test('rejects invalid responses and errors', async () => {
    const odd = await tokensOn({ ...wellVllm, '/tokenize': json({ tokens: 'many' }) });
    await expect(odd.tokens.tokenize('Hi', { addSpecial: true })).rejects.toMatchObject({ code: 'engine-failed' });
    const refused = await tokensOn({ ...wellVllm, '/tokenize': json({ error: { message: 'too long' } }, 400) });
    await expect(refused.tokens.tokenize('Hi', { addSpecial: true })).rejects.toThrow('too long');
    const broken = await tokensOn({ ...wellVllm, '/tokenize': (_, response) => void response.end('{') });
    await expect(broken.tokens.tokenize('Hi', { addSpecial: true })).rejects.toMatchObject({ code: 'remote-answer' });
  });

  test('rejects without a backend', async () => {
    const one = await upstream(wellVllm);
    const { pool } = poolOf([one.address()]);
    await expect(new RemoteTokens(pool, undefined).tokenize('Hi', { addSpecial: true })).rejects.toMatchObject({
      code: 'remote-down',
    });
  });
});

describe('RemoteTokens.detokenize', () => {
  test.each<[string, Readonly<Record<string, Handler>>]>([
    ['Parley', { ...wellParley, '/detokenize': json({ content: 'Hi' }) }],
    ['vLLM', { ...wellVllm, '/detokenize': json({ prompt: 'Hi' }) }],
    ['KoboldCpp', { ...koboldcpp, '/api/extra/detokenize': json({ result: 'Hi' }) }],
  ])('request of %s', async (_, handlers) => {
    const { tokens } = await tokensOn(handlers);
    expect(await tokens.detokenize([4])).toBe('Hi');
    expect(await tokens.pieces([4, 5])).toEqual(['Hi', 'Hi']);
  });

  test('an empty list is empty text, and pieces rejects long lists', async () => {
    const { one, tokens } = await tokensOn(wellVllm);
    expect(await tokens.detokenize([])).toBe('');
    await expect(tokens.pieces(Array.from({ length: 600 }, () => 1))).rejects.toMatchObject({ code: 'unsupported' });
    expect(one.asked('/detokenize')).toEqual([]);
    const foreign = await tokensOn({ '/v1/models': listed.openai });
    await expect(foreign.tokens.detokenize([1])).rejects.toMatchObject({ code: 'unsupported' });
  });
});

describe('RemoteTokens.count', () => {
  test('asks backends that can count', async () => {
    const parley = await tokensOn({ ...wellParley, '/v1/chat/completions/input_tokens': json({ input_tokens: 12 }) });
    expect(await parley.tokens.count(chatRequest(), undefined)).toBe(12);
    const vllm = await tokensOn({ ...wellVllm, '/tokenize': json({ count: 9 }) });
    expect(await vllm.tokens.count(chatRequest(), undefined)).toBe(9);
    expect(vllm.one.asked('/tokenize')[0]?.body.messages).toEqual([{ role: 'user', content: 'Hi' }]);
  });

  test('tokenizes the prompt of backends that only render it', async () => {
    const handlers = {
      ...llamaServer,
      '/apply-template': json({ prompt: '<user>Hi' }),
      '/tokenize': json({ tokens: [1, 2, 3] }),
    };
    const { one, tokens } = await tokensOn(handlers);
    expect(await tokens.count(chatRequest(), undefined)).toBe(3);
    expect(one.asked('/tokenize')[0]?.body.content).toBe('<user>Hi');
    expect(await tokens.render(chatRequest(), undefined)).toBe('<user>Hi');
  });
});

test('a kept connection that the backend has closed meanwhile is not an error', async () => {
  const { one, tokens } = await tokensOn({ ...llamaServer, '/tokenize': json({ tokens: [1, 2] }) });
  await tokens.tokenize('a', { addSpecial: false });
  one.become({
    '/tokenize': (received, response) => {
      // The first answer on a kept connection never comes.
      if (one.asked('/tokenize').length === 2) response.socket?.destroy();
      else json({ tokens: [3] })(received, response);
    },
  });
  expect(await tokens.tokenize('b', { addSpecial: false })).toEqual([3]);
});
