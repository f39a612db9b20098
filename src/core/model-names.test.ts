import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findExactly, findNamed, modelId, sameName } from './model-names.ts';

describe('names of models', () => {
  test.each([
    ['Mini', 'mini'],
    ['mini', 'mini.gguf'],
    ['mini.KCPPS', 'mini.gguf'],
    ['mini:latest', 'koboldcpp/mini'],
    ['koboldcpp/mini:latest', 'mini.kcppt'],
    ['My model (1)', 'koboldcpp/Mymodel1'],
    ['sub/mini.gguf', 'koboldcpp/submini'],
  ])('%s and %s are the same', (left, right) => {
    expect(sameName(left, right)).toBe(true);
    expect(sameName(right, left)).toBe(true);
  });

  test.each([
    ['mini', 'mini:7b'],
    ['mini', 'mini2'],
    ['mini.gguf', 'mini.bin'],
    ['mini-q4', 'mini_q4'],
  ])('%s and %s are two', (left, right) => {
    expect(sameName(left, right)).toBe(false);
  });

  test('the id of a model, with or without the usual tag, always means that model', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (name) => {
        // The tag and the prefix are no part of a name: what ends or begins so is another name already.
        fc.pre(!/:latest$/i.test(name) && !/^koboldcpp\//i.test(name));
        expect(sameName(modelId(name), name)).toBe(true);
        expect(sameName(`${modelId(name)}:latest`, name)).toBe(true);
      }),
    );
  });
});

describe('looking for a name', () => {
  const names = (one: readonly string[]) => one;
  const model = ['mini', 'mini.gguf'];
  const config = ['mini.kcpps'];

  test('finds the one that is called so to the ending, wherever it stands', () => {
    expect(findNamed([model, config], names, 'mini.kcpps')).toBe(config);
    expect(findNamed([config, model], names, 'koboldcpp/mini')).toBe(model);
    expect(findNamed([config, model], names, 'MINI.gguf')).toBe(model);
  });

  test('and without such a one the first that is called so but for the ending', () => {
    expect(findNamed([config], names, 'mini')).toBe(config);
    expect(findExactly([config], names, 'mini')).toBeUndefined();
  });

  test('finds nothing for a name that nobody has', () => {
    expect(findNamed([model, config], names, 'maxi')).toBeUndefined();
    expect(findNamed([], names, 'mini')).toBeUndefined();
  });
});
