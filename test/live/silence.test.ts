import { beforeAll, describe, expect, test } from 'vitest';
import { nativeClient } from './client.ts';
import { liveServers } from './server.ts';

const start = liveServers();
const story = 'Once upon a time there was a fox.';

describe('reply of length 0', () => {
  let client: ReturnType<typeof nativeClient>;
  beforeAll(async () => {
    client = nativeClient((await start()).base);
  });

  test.each([0, -5])('is empty with max_length %i', async (max_length) => {
    const { text, completion_tokens, finish_reason, prompt_tokens } = await client.generate({
      prompt: story,
      max_length,
    });
    expect([text, completion_tokens, finish_reason]).toEqual(['', 0, 'length']);
    expect(prompt_tokens).toBeGreaterThan(4);
  });

  test('stream: has only its end', async () => {
    const { frames } = await client.stream({ prompt: story, max_length: 0 });
    expect(frames.map(({ data }) => [data.token, data.finish_reason])).toEqual([['', 'length']]);
  });

  test('is empty with n_predict 0, and the prompt is in the cache afterwards', async () => {
    const prompt = 'A prompt that is read in advance, because somebody will ask about it soon.';
    const warm = (await client.post('/completion', { prompt, n_predict: 0 })).json();
    expect(warm).toMatchObject({ content: '', tokens_predicted: 0, stop_type: 'limit', timings: { predicted_n: 0 } });
    const { tokens_evaluated: all } = warm as { tokens_evaluated: number };
    const next = (await client.post('/completion', { prompt, n_predict: 1 })).json();
    expect(next).toMatchObject({ tokens_predicted: 1, timings: { cache_n: all - 1, prompt_n: 1 } });
  });

  test('is empty with max_tokens 0 of a completion', async () => {
    const answer = (await client.post('/v1/completions', { prompt: story, max_tokens: 0 })).json();
    expect(answer).toMatchObject({ choices: [{ text: '', finish_reason: 'length' }], usage: { completion_tokens: 0 } });
  });

  test('chat with max_tokens 0: uses the default length', async () => {
    const messages = [{ role: 'user', content: 'Hello' }];
    const answer = (await client.post('/v1/chat/completions', { messages, max_tokens: 0 })).json();
    expect((answer as { usage: { completion_tokens: number } }).usage.completion_tokens).toBeGreaterThan(0);
  });

  test('frees its queue slot', async () => {
    expect((await client.generate({ prompt: story, max_length: 4 })).completion_tokens).toBe(4);
  });
});
