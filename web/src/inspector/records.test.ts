import { describe, expect, test } from 'vitest';
import { modelName } from '../models/status.ts';
import {
  contentOf,
  type DialectState,
  filtered,
  firstChoice,
  isJson,
  phasesOf,
  pretty,
  promptPieces,
  type Summary,
} from './records.ts';

const summary = (own: Partial<Summary>): Summary => ({
  id: 'req_1',
  time: '2026-01-01T00:00:00Z',
  method: 'POST',
  path: '/v1/messages',
  family: 'messages',
  kind: 'chat',
  model: 'mini',
  status: 200,
  outcome: 'completed',
  streamed: true,
  duration_ms: 1,
  first_token_ms: 1,
  prompt_tokens: 1,
  completion_tokens: 1,
  key: null,
  client: '127.0.0.1',
  program: 'Claude Code',
  task: null,
  ...own,
});

describe('filtered', () => {
  const all = [
    summary({ id: 'a' }),
    summary({ id: 'b', family: 'ollama', path: '/api/chat', outcome: 'failed', status: 500 }),
    summary({ id: 'c', family: 'ollama', path: '/api/generate', key: 'phone' }),
  ];
  test.each([
    [{}, 'abc'],
    [{ family: 'ollama' }, 'bc'],
    [{ outcome: 'failed' }, 'b'],
    [{ search: 'API phone' }, 'c'],
    [{ search: '500' }, 'b'],
    [{ search: 'nothing' }, ''],
  ])('%j finds %s', (own, ids) => {
    const found = filtered(all, { search: '', family: '', outcome: '', ...own });
    expect(found.map(({ id }) => id).join('')).toBe(ids);
  });
});

test('pretty: JSON gets indents, other texts stay', () => {
  expect(pretty('{"a":1}')).toBe('{\n  "a": 1\n}');
  expect(pretty('data: {"a":1}\n\n')).toBe('data: {"a":1}\n\n');
  expect([isJson('{"a":1}'), isJson('data: {}'), isJson('5')]).toEqual([true, false, false]);
});

test('modelName: without the prefix of the native API', () => {
  expect(modelName('koboldcpp/mini')).toBe('mini');
});

describe('promptPieces', () => {
  test('marks of templates are apart from the text', () => {
    const pieces = promptPieces('<|im_start|>user\nHi [1] <b>x</b><|im_end|>');
    expect(pieces.filter(({ special }) => special).map(({ text }) => text)).toEqual(['<|im_start|>', '<|im_end|>']);
  });

  test.each(['<s>[INST] Hi [/INST]', '<start_of_turn>user', '<think>hm</think>', '<｜User｜>Hi'])(
    '%s has marks',
    (text) => {
      expect(promptPieces(text).some(({ special }) => special)).toBe(true);
    },
  );

  test('all pieces together are the prompt', () => {
    for (const text of ['', 'plain', '<|a|><|b|>', 'x<|a|>y']) {
      expect(
        promptPieces(text)
          .map((piece) => piece.text)
          .join(''),
      ).toBe(text);
    }
  });
});

describe('phasesOf', () => {
  test('a generation: every phase begins where the one before ended', () => {
    const timings = { received_ms: 1, decoded_ms: 3, begun_ms: 10, first_token_ms: 30, ended_ms: 82 };
    expect(phasesOf(timings, 80)).toEqual([
      { name: 'reading', from: 0, to: 1 },
      { name: 'translating', from: 1, to: 3 },
      { name: 'waiting', from: 3, to: 10 },
      { name: 'prompt', from: 10, to: 30 },
      { name: 'reply', from: 30, to: 80 },
      { name: 'sending', from: 80, to: 82 },
    ]);
  });

  test('a refused request has only what it had', () => {
    expect(phasesOf({ received_ms: 2, ended_ms: 5 }, undefined).map(({ name }) => name)).toEqual([
      'reading',
      'sending',
    ]);
  });

  test('a task of another engine works until its end', () => {
    const timings = { received_ms: 1, decoded_ms: 2, begun_ms: 3, ended_ms: 9 };
    expect(phasesOf(timings, undefined).at(-1)).toEqual({ name: 'work', from: 3, to: 9 });
  });

  test('nothing yet: no phases', () => {
    expect(phasesOf({}, undefined)).toEqual([]);
  });
});

test('contentOf: the text of a piece, or the rest of the event as JSON', () => {
  expect(contentOf({ at_ms: 1, type: 'text-delta', text: ' you' })).toBe(' you');
  expect(contentOf({ at_ms: 1, type: 'start', promptTokens: 3 })).toBe('{"promptTokens":3}');
});

test('firstChoice: the dialect of the request first, then those of chats, then those of texts', () => {
  const state = (name: string, shows: DialectState['shows']): DialectState => ({ name, title: name, shows });
  const all = [state('a', 'text'), state('b', 'chat'), state('c', 'own'), state('d', 'impossible'), state('e', 'chat')];
  expect(firstChoice(all, 3)).toEqual(['c', 'b', 'e']);
  expect(firstChoice(all, 9)).toEqual(['c', 'b', 'e', 'a']);
});
