import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PromptToken, TokenLogprob } from '../../../core/events.ts';
import { characters, echoedTokens, encodeLegacyLogprobs } from './encode.ts';

interface Legacy {
  readonly content: readonly object[];
  readonly tokens: readonly string[];
  readonly token_ids: readonly number[];
  readonly token_logprobs: readonly (number | null)[];
  readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
  readonly text_offset: readonly number[];
}

const encode = (...args: Parameters<typeof encodeLegacyLogprobs>) => encodeLegacyLogprobs(...args) as Legacy;
const choice = (bytes: readonly number[], logprob: number, token = 7) => ({
  token,
  text: Buffer.from(bytes).toString(),
  bytes,
  logprob,
});
const of = (bytes: readonly number[], logprob = -1): TokenLogprob => ({ ...choice(bytes, logprob), top: [] });
const said = (text: string, logprob = -1) => of([...Buffer.from(text)], logprob);
const asked = (text: string, own: Partial<PromptToken> = {}): PromptToken => ({
  ...said(text),
  rank: 1,
  inPrompt: true,
  ...own,
});

describe('encodeLegacyLogprobs: text_offset', () => {
  test('counts characters from the start offset', () => {
    expect(encode([said('né'), said(' 😀'), said('!')], 10).text_offset).toEqual([10, 12, 14]);
  });

  test('is the start of the character for a token inside of it', () => {
    const smile = [...Buffer.from('😀')];
    const tokens = [said('a'), of(smile.slice(0, 2)), of(smile.slice(2)), said('b')];
    expect(encode(tokens, 0).text_offset).toEqual([0, 1, 1, 2]);
  });

  test('is never before the start offset', () => {
    expect(encode([of([0x98]), said('b')], 0).text_offset).toEqual([0, 0]);
  });

  test('points at each token, however the text is split', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.integer({ min: 1, max: 6 })), (text, sizes) => {
        const bytes = [...Buffer.from(text)];
        const tokens: TokenLogprob[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn] ?? bytes.length;
          tokens.push(of(bytes.slice(at, at + size)));
          at += size;
        }
        const { text_offset: offsets, tokens: spelled } = encode(tokens, 0);
        for (const [index, token] of spelled.entries()) {
          if (token.startsWith('bytes:')) continue;
          const place = offsets[index] as number;
          expect([...text].slice(place, place + characters(token)).join('')).toBe(token);
        }
      }),
    );
  });
});

describe('encodeLegacyLogprobs: tokens', () => {
  test('incomplete characters are spelled as bytes, so that they differ', () => {
    const first = { ...of([0xe2, 0x80], -0.5), top: [choice([0xe2, 0x80], -0.5), choice([0xe2, 0x81], -2)] };
    const { tokens, top_logprobs: top } = encode([first], 0);
    expect(tokens).toEqual(['bytes:\\xe2\\x80']);
    expect(top).toEqual([{ 'bytes:\\xe2\\x80': -0.5, 'bytes:\\xe2\\x81': -2 }]);
  });

  test('a real replacement character is not spelled as bytes', () => {
    expect(encode([said('\ufffd')], 0).tokens).toEqual(['\ufffd']);
  });

  test('top_logprobs includes the chosen token if others were likelier', () => {
    const token = { ...said('c', -3), top: [choice([97], -0.1), choice([98], -2.5)] };
    expect(encode([token], 0).top_logprobs).toEqual([{ a: -0.1, b: -2.5, c: -3 }]);
    expect(encode([said('c', -3)], 0).top_logprobs).toEqual([{ c: -3 }]);
  });

  test('minus infinity becomes a finite number', () => {
    expect(encode([said('c', Number.NEGATIVE_INFINITY)], 0).token_logprobs).toEqual([-9999]);
  });
});

describe('echoedTokens', () => {
  const echo = (tokens: readonly PromptToken[], text: string, count = 5) => echoedTokens(tokens, text, count);

  test('the prompt comes before the reply, its first token without logprob', () => {
    const prompt = echo([asked('On', { logprob: null }), asked('ce', { logprob: -2 })], 'Once');
    const { content, ...lists } = encode([said(' upon', -0.5)], 0, prompt);
    expect(lists).toEqual({
      tokens: ['On', 'ce', ' upon'],
      token_ids: [7, 7, 7],
      token_logprobs: [null, -2, -0.5],
      top_logprobs: [null, { ce: -2 }, { ' upon': -0.5 }],
      text_offset: [0, 2, 4],
    });
    // The form of chats has no logprobs of prompts, and no null.
    expect(content).toHaveLength(1);
  });

  test('no logprob for the first token of the prompt after a token of the engine', () => {
    const tokens = [asked('<s>', { inPrompt: false, logprob: null }), asked('On'), asked('ce')];
    expect(echo(tokens, 'Once').map(({ text, logprob }) => [text, logprob])).toEqual([
      ['On', null],
      ['ce', -1],
    ]);
  });

  test('leaves out the tokens of the memory', () => {
    const tokens = [asked('Notes.', { inPrompt: false }), asked('Once')];
    expect(echo(tokens, 'Once').map(({ text }) => text)).toEqual(['Once']);
  });

  test('drops the space that a tokenizer adds in front', () => {
    expect(echo([asked(' Once'), asked(' upon')], 'Once upon').map(({ text, bytes }) => [text, bytes.length])).toEqual([
      ['Once', 4],
      [' upon', 5],
    ]);
    expect(echo([asked(' '), asked(' Once')], ' Once').map(({ text }) => text)).toEqual(['', ' Once']);
  });

  test('keeps a space that the prompt has itself', () => {
    expect(echo([asked(' Once')], ' Once').map(({ text }) => text)).toEqual([' Once']);
  });

  test('handles a first token that is part of a character', () => {
    const smile = [...Buffer.from('😀')];
    const parts = smile.map((byte) => ({ ...asked('x'), ...choice([byte], -1) }));
    expect(echo(parts, '😀').map(({ bytes }) => bytes)).toEqual(smile.map((byte) => [byte]));
  });

  test('limits the alternatives to the requested number', () => {
    const top = [choice([97], -1), choice([98], -2), choice([99], -3)];
    expect(echo([asked('x', { top }), asked('y', { top })], 'xy', 1).map((token) => token.top.length)).toEqual([1, 1]);
  });

  test('an empty prompt has no tokens', () => {
    expect(echo([], '')).toEqual([]);
    expect(echo([asked('<s>', { inPrompt: false })], '')).toEqual([]);
  });
});
