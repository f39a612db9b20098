import { describe, expect, test } from 'vitest';
import { introduction } from './introduction.ts';

describe('introduction', () => {
  test('describes the limits of the built-in model', () => {
    expect(introduction('parley-mini', 46_150_144)).toMatch(/tiny.*46 million.*simple chat.*makes things up/);
  });

  test.each([
    ['', undefined, /No model is loaded/],
    ['secret', undefined, /chatting with secret\.$/],
    ['remote', 0, /chatting with remote\.$/],
    ['remote', null, /chatting with remote\.$/],
    ['small', 500e6, /500M parameters: small and fast/],
    ['three', 3.2e9, /3.2B parameters: good for short tasks/],
    ['big', 70e9, /70B parameters: good for most tasks/],
  ])('of %j with %j parameters is %s', (model, parameters, said) => {
    expect(introduction(model, parameters)).toMatch(said);
  });
});
