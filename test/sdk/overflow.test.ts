import { describe, expect, test } from 'vitest';
import { untrainedServers } from '../live/server.ts';
import { askChat, askMessage, askOllama, askResponse, bothWays } from './ask.ts';
import { liveClients } from './live-clients.ts';
import { words } from './questions.ts';

const contextSize = 256;
const messages = [{ role: 'user' as const, content: words(400) }];
/** The words, and the marks of a turn around them. */
const promptTokens = 409;

describe('context overflow: a conversation that does not fit is refused', () => {
  const live = liveClients(['--contextsize', String(contextSize)], {}, untrainedServers());

  describe.each(bothWays)('$way', ({ stream }) => {
    test('by chat completions with the code and message that agents detect', async () => {
      await expect(askChat(live.openai, stream, { messages })).rejects.toMatchObject({
        status: 400,
        code: 'context_length_exceeded',
        param: 'messages',
        type: 'invalid_request_error',
        message: expect.stringMatching(/maximum context length is 256 tokens.*409/),
        error: { n_prompt_tokens: promptTokens, n_ctx: contextSize },
      });
    });

    test('by completions in the same way', async () => {
      const request = { model: 'any', prompt: words(400), max_tokens: 8, stream };
      await expect(live.openai.completions.create(request)).rejects.toMatchObject({
        status: 400,
        code: 'context_length_exceeded',
        param: 'prompt',
        message: expect.stringContaining('maximum context length is 256 tokens'),
      });
    });

    test('by Responses with the code that makes agents compact', async () => {
      await expect(askResponse(live.openai, stream, { input: messages })).rejects.toMatchObject({
        status: 400,
        code: 'context_length_exceeded',
        message: expect.stringMatching(/409.*256/),
      });
    });

    test('by Messages with the message that agents detect', async () => {
      await expect(askMessage(live.anthropic, stream, { messages })).rejects.toMatchObject({
        status: 400,
        type: 'invalid_request_error',
        message: expect.stringContaining('prompt is too long: 409 tokens > 256 maximum'),
      });
    });

    test('by Ollama with its own message', async () => {
      await expect(askOllama(live.ollama, stream, { messages })).rejects.toMatchObject({
        status_code: 400,
        error: expect.stringMatching(/exceeds the context length.*409.*256/),
      });
    });
  });

  test('Responses with truncation auto: is shortened instead of refused', async () => {
    const turn = (index: number) => [
      { role: 'user' as const, content: `${words(30)} ${index}` },
      { role: 'assistant' as const, content: 'Yes.' },
    ];
    const input = [...[1, 2, 3, 4, 5, 6, 7, 8].flatMap(turn), { role: 'user' as const, content: 'Hello!' }];
    await expect(askResponse(live.openai, false, { input })).rejects.toMatchObject({ code: 'context_length_exceeded' });
    const response = await askResponse(live.openai, false, { input, truncation: 'auto', max_output_tokens: 8 });
    expect(response.usage?.input_tokens).toBeLessThanOrEqual(contextSize - 8);
  });
});

/** The official clients hide headers in different ways; the plain request shows them all. */
describe('--contextoverflow trim: drops the beginning and reports the number of tokens', () => {
  const live = liveClients(['--contextsize', String(contextSize), '--contextoverflow', 'trim'], {}, untrainedServers());

  test.each<[string, object]>([
    ['/v1/chat/completions', { messages, max_tokens: 8 }],
    ['/v1/completions', { prompt: words(400), max_tokens: 8 }],
    ['/v1/responses', { input: messages, max_output_tokens: 8 }],
    ['/v1/messages', { model: 'any', messages, max_tokens: 8 }],
    ['/api/chat', { model: 'any', messages, options: { num_predict: 8 }, stream: false }],
    ['/api/generate', { model: 'any', prompt: words(400), options: { num_predict: 8 }, stream: false }],
  ])('%s', async (path, body) => {
    const answer = await fetch(`${live.server.base}${path}`, { method: 'POST', body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    expect(Number(answer.headers.get('x-parley-dropped-tokens'))).toBeGreaterThanOrEqual(400 - contextSize);
    await answer.text();
  });

  test('/v1/responses: dropping whole messages is enough', async () => {
    const input = [...messages, { role: 'assistant', content: 'Yes.' }, { role: 'user', content: 'Hello!' }];
    const body = JSON.stringify({ input, max_output_tokens: 8 });
    const answer = await fetch(`${live.server.base}/v1/responses`, { method: 'POST', body });
    expect(answer.headers.get('x-parley-dropped-messages')).toBe('1');
    await answer.text();
  });
});
