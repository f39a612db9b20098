import { expect, test } from 'vitest';
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
