import { describe, expect, test } from 'vitest';
import type { PromptToken } from '../../core/events.ts';
import { decodePromptLogprobs as decode } from './controls.ts';
import { encodeFinish, encodePromptLogprobs } from './encode.ts';
import { promptLogprobs } from './fields.ts';

test('encodeFinish: names the stop text that ended the reply', () => {
  expect(encodeFinish('stop', { stopText: 'User:' })).toEqual({ finish_reason: 'stop', stop_reason: 'User:' });
});

test('encodeFinish: no stop_reason without a stop text', () => {
  expect(encodeFinish('length', {})).toEqual({ finish_reason: 'length' });
  expect(encodeFinish('length', { stopText: undefined })).toEqual({ finish_reason: 'length' });
});

const decodePromptLogprobs = (body: { readonly prompt_logprobs?: unknown }, stream: boolean) =>
  decode({ prompt_logprobs: promptLogprobs().read(body.prompt_logprobs, 'prompt_logprobs'), stream });

const choice = (token: number, text: string, logprob: number) => ({ token, text, bytes: [], logprob });
const first: PromptToken = { ...choice(1, '<s>', 0), logprob: null, rank: null, top: [], inPrompt: false };
const second: PromptToken = {
  ...choice(42, 'fox', -2),
  rank: 5,
  top: [choice(7, 'dog', -0.5), choice(8, 'cat', -1.5)],
  inPrompt: true,
};

describe('decodePromptLogprobs', () => {
  test.each([
    [{}, undefined],
    [{ prompt_logprobs: null }, undefined],
    [{ prompt_logprobs: 0 }, 0],
    [{ prompt_logprobs: 20 }, 20],
  ])('%o is decoded as %o', (body, expected) => {
    expect(decodePromptLogprobs(body, false)).toBe(expected);
  });

  test.each([-1, 21, 1.5, 'many', true])('%o is refused', (value) => {
    expect(() => decodePromptLogprobs({ prompt_logprobs: value }, false)).toThrow('prompt_logprobs');
  });

  test('rejects prompt_logprobs in a stream', () => {
    expect(() => decodePromptLogprobs({ prompt_logprobs: 1 }, true)).toThrow('prompt_logprobs');
    expect(decodePromptLogprobs({}, true)).toBeUndefined();
  });
});

describe('encodePromptLogprobs', () => {
  test('returns no field if it was not requested', () => {
    expect(encodePromptLogprobs([first, second])).toEqual({});
  });

  test('has an entry per token by token number, null for the first', () => {
    expect(encodePromptLogprobs([first, second], 2)).toEqual({
      prompt_logprobs: [
        null,
        {
          7: { logprob: -0.5, rank: 1, decoded_token: 'dog' },
          8: { logprob: -1.5, rank: 2, decoded_token: 'cat' },
          42: { logprob: -2, rank: 5, decoded_token: 'fox' },
        },
      ],
    });
  });

  test('has the requested number of alternatives and always the token itself', () => {
    const [, promptToken] = (encodePromptLogprobs([first, second], 1) as { prompt_logprobs: object[] }).prompt_logprobs;
    expect(Object.keys(promptToken ?? {})).toEqual(['7', '42']);
    const [, bare] = (encodePromptLogprobs([first, second], 0) as { prompt_logprobs: object[] }).prompt_logprobs;
    expect(Object.keys(bare ?? {})).toEqual(['42']);
  });

  test('has a token that is also an alternative only once', () => {
    const likely = { ...second, ...choice(8, 'cat', -1.5), rank: 2 };
    const [promptToken] = (encodePromptLogprobs([likely], 2) as { prompt_logprobs: object[] }).prompt_logprobs;
    expect(promptToken).toEqual({
      7: { logprob: -0.5, rank: 1, decoded_token: 'dog' },
      8: { logprob: -1.5, rank: 2, decoded_token: 'cat' },
    });
  });
});
