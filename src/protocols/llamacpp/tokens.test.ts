import { expect, test } from 'vitest';
import { callOf, scriptedChat, scriptedText } from '../testing/doubles.ts';
import { jsonOf } from '../testing/reply-text.ts';
import { ask, llamacppParts } from './testing/world.ts';

const answer = async (path: string, body: unknown, own = {}) => {
  const reply = await ask(llamacppParts(own), callOf(path, body));
  return reply.status === 200 ? jsonOf(reply) : reply.status;
};

test.each<[unknown, unknown]>([
  [{ content: 'Hi' }, { tokens: [72, 105] }],
  [{ content: 'Hi', add_special: true }, { tokens: [1, 72, 105] }],
  [{ content: [5, 'H', 'i'], add_special: true }, { tokens: [5, 1, 72, 105] }],
  [{ content: 'Hi', parse_special: false }, { tokens: [72, 105] }],
  [
    { content: 'HH', with_pieces: true },
    {
      tokens: [
        { id: 72, piece: 'H' },
        { id: 72, piece: 'H' },
      ],
    },
  ],
  [{}, { tokens: [] }],
  ['', { tokens: [] }],
  [{ content: 5 }, 400],
  [{ content: [-1] }, 400],
])('tokenize: %j gives %j', async (body, expected) => {
  expect(await answer('/tokenize', body)).toEqual(expected);
});

test.each([
  [{}, { addSpecial: false, parseSpecial: true }],
  [{ add_special: true }, { addSpecial: true, parseSpecial: true }],
  [{ parse_special: false }, { addSpecial: false, parseSpecial: false }],
  [
    { parse_special: null, add_special: null },
    { addSpecial: false, parseSpecial: true },
  ],
])('tokenize: %j asks the tokenizer for %j', async (body, expected) => {
  const asked: unknown[] = [];
  const { text } = scriptedText([], {
    tokenize: async (_, options) => {
      asked.push(options);
      return [];
    },
  });
  await answer('/tokenize', { content: '<s>', ...body }, { text });
  expect(asked).toEqual([expected]);
});

test('tokenize: with_pieces has the bytes of a part of a character', async () => {
  const { text } = scriptedText([], { pieces: async (tokens) => tokens.map((token) => (token === 72 ? 'H' : [195])) });
  expect(await answer('/tokenize', { content: 'Hé', with_pieces: true }, { text })).toEqual({
    tokens: [
      { id: 72, piece: 'H' },
      { id: 233, piece: [195] },
    ],
  });
});

test.each(['/tokenize', '/detokenize', '/apply-template'])('%s: refuses an invalid body', async (path) => {
  expect(await answer(path, '{')).toBe(400);
  expect(await answer(path, '[]')).toBe(400);
});

test.each([
  [{ content: 'Hi', add_special: 'maybe' }],
  [{ content: 'Hi', parse_special: 'maybe' }],
  [{ content: 'Hi', with_pieces: {} }],
])('tokenize: refuses %j', async (body) => {
  expect(await answer('/tokenize', body)).toBe(400);
});

test.each<[unknown, unknown]>([
  [{ tokens: [72, 105] }, { content: 'Hi' }],
  [{}, { content: '' }],
  [{ tokens: ['a'] }, 400],
  [{ tokens: [1.5] }, 400],
])('detokenize: %j gives %j', async (body, expected) => {
  expect(await answer('/detokenize', body)).toEqual(expected);
});

test('tokenize and detokenize: refused without a model', async () => {
  const { text } = scriptedText([], {
    state: () => ({ type: 'none' }),
    tokenize: async () => [],
    detokenize: async () => '',
  });
  expect(await answer('/tokenize', { content: 'Hi' }, { text })).toBe(503);
  expect(await answer('/detokenize', { tokens: [1] }, { text })).toBe(503);
});

test('apply-template: returns the prompt of a chat', async () => {
  const { chat } = scriptedChat([], {
    render: async ({ controls }) => ({
      by: 'template',
      prompt: `prompt of ${controls.stop}`,
      memory: 'memory, ',
      stop: [],
      warnings: [],
    }),
  });
  expect(await answer('/apply-template', { messages: 'these' }, { chat })).toEqual({
    prompt: 'memory, prompt of these',
  });
});
