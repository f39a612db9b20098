import { describe, expect, test } from 'vitest';
import { type ChatRequestOptions, chatRequest, namesRequest } from './request.ts';

const plain: ChatRequestOptions = {
  messages: [{ role: 'user', content: 'Hi' }],
  genkey: 'K1',
  replyLength: 200,
  sampling: {},
  effort: '',
  tools: [],
  probabilities: false,
  model: undefined,
  continues: false,
};

describe('chatRequest', () => {
  test('contains only chosen options', () => {
    expect(chatRequest(plain)).toEqual({
      messages: plain.messages,
      genkey: 'K1',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 200,
      continue_assistant_turn: false,
    });
  });

  test('sends samplers by native names, and the seed by both names', () => {
    const body = chatRequest({ ...plain, sampling: { temperature: 0.5, min_p: 0.1, sampler_seed: 7 } });
    expect(body).toMatchObject({ temperature: 0.5, min_p: 0.1, sampler_seed: 7, seed: 7 });
  });

  test('sends effort, tools, logprobs and model if chosen', () => {
    const tools = [{ type: 'function', function: { name: 'clock', parameters: {} } }] as const;
    const body = chatRequest({ ...plain, effort: 'low', tools, probabilities: true, model: 'big', continues: true });
    expect(body).toMatchObject({
      reasoning_effort: 'low',
      tools,
      logprobs: true,
      top_logprobs: 5,
      model: 'big',
      continue_assistant_turn: true,
    });
  });

  test('sends no length if it is empty or invalid', () => {
    for (const replyLength of [Number.NaN, 0, -5])
      expect(chatRequest({ ...plain, replyLength })).not.toHaveProperty('max_tokens');
    expect(chatRequest({ ...plain, replyLength: 12.7 }).max_tokens).toBe(12);
  });
});

test('chatRequest: sends stop sequences only if there are any', () => {
  const parts = {
    messages: [],
    genkey: 'k',
    replyLength: 5,
    sampling: {},
    effort: '',
    tools: [],
    probabilities: false,
    model: undefined,
    continues: false,
  };
  expect(chatRequest(parts)).not.toHaveProperty('stop');
  expect(chatRequest({ ...parts, stops: ['\nYou:'] })).toMatchObject({ stop: ['\nYou:'] });
});

test('namesRequest: sends the prompt as it is, with the stop sequences', () => {
  const parts = { genkey: 'k', replyLength: 5, sampling: { top_k: 3 }, probabilities: false, model: undefined };
  expect(namesRequest({ ...parts, prompt: 'Ada:', stops: ['\nYou:'], context: 0 })).toEqual({
    top_k: 3,
    prompt: 'Ada:',
    genkey: 'k',
    max_length: 5,
    stop_sequence: ['\nYou:'],
    trim_stop: true,
    replace_instruct_placeholders: false,
    logprobs: false,
  });
});
