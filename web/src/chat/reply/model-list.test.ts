import { describe, expect, test } from 'vitest';
import { chatModels, introduction, modelEntries } from './model-list.ts';

test('chatModels: returns chat models with display names', () => {
  const list = modelEntries({
    data: [
      { id: 'koboldcpp/parley-mini', status: { value: 'loaded' }, meta: { n_params: 46_150_144 } },
      { id: 'koboldcpp/sub/one', status: { value: 'unloaded' } },
      { id: 'koboldcpp/small.gguf' },
      { id: 'koboldcpp/small.kcpps' },
      { id: 'all-MiniLM-L6-v2', capabilities: ['embedding'], meta: null },
      { id: 'inactive' },
    ],
  });
  expect(chatModels(list).map(({ id, name, loaded }) => [id, name, loaded])).toEqual([
    ['koboldcpp/parley-mini', 'parley-mini', true],
    ['koboldcpp/sub/one', 'sub/one', false],
    ['koboldcpp/small.gguf', 'small.gguf', false],
    ['koboldcpp/small.kcpps', 'small.kcpps', false],
  ]);
  expect(modelEntries({})).toEqual([]);
});

describe('introduction', () => {
  test('describes the limits of the built-in model', () => {
    expect(introduction('parley-mini', 46_150_144)).toMatch(/tiny.*46 million.*simple chat.*makes things up/);
  });

  test.each([
    ['', undefined, /No model is loaded/],
    ['secret', undefined, /chatting with secret/],
    ['small', 500e6, /500 million parameters: small and fast/],
    ['three', 3.2e9, /3.2 billion parameters: good for short tasks/],
    ['big', 70e9, /70 billion parameters: good for most tasks/],
  ])('of %j with %j parameters is %s', (model, parameters, said) => {
    expect(introduction(model, parameters)).toMatch(said);
  });
});
