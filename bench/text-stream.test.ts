import { describe, expect, test } from 'vitest';
import { EventReader } from './text-stream.ts';

test('events are found in pieces that end anywhere, and only those with text are arrivals', () => {
  const reader = new EventReader();
  reader.read('data: {"choices":[{"text":" a"}]}\n\ndata: {"choi', 1);
  reader.read('ces":[{"text":"b"}]}\n\n: keepalive\n\n', 2);
  reader.read('data: {"choices":[{"text":""}]}\n\n', 3);
  reader.read('data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}\n\ndata: [DONE]\n\n', 4);
  expect(reader.arrivals).toEqual([1, 2]);
  expect(reader.usage).toEqual({ promptTokens: 7, cachedTokens: 0, tokens: 2 });
  expect(reader.rest).toBe('');
});

describe('text and usage are found in the events of', () => {
  const read = (...events: object[]) => {
    const reader = new EventReader();
    for (const event of events) reader.read(`event: any\ndata: ${JSON.stringify(event)}\n\n`, 1);
    return { arrivals: reader.arrivals.length, ...reader.usage };
  };
  const expected = { arrivals: 1, promptTokens: 9, cachedTokens: 4, tokens: 2 };

  test('chat completions', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } };
    const chat = [{ choices: [{ delta: { role: 'assistant' } }] }, { choices: [{ delta: { content: 'a' } }] }];
    expect(read(...chat, { choices: [], usage })).toEqual(expected);
  });

  test('Messages, which counts the cached tokens apart', () => {
    const start = { type: 'message_start', message: { usage: { input_tokens: 5, cache_read_input_tokens: 4 } } };
    const text = { type: 'content_block_delta', delta: { type: 'text_delta', text: 'a' } };
    expect(read(start, text, { type: 'message_delta', delta: {}, usage: { output_tokens: 2 } })).toEqual(expected);
  });

  test('Responses', () => {
    const usage = { input_tokens: 9, output_tokens: 2, input_tokens_details: { cached_tokens: 4 } };
    const text = { type: 'response.output_text.delta', delta: 'a' };
    expect(
      read({ type: 'response.created', response: {} }, text, { type: 'response.completed', response: { usage } }),
    ).toEqual(expected);
  });
});
