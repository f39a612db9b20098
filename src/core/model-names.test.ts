import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aliasTarget, equalName, findExactly, findNamed, modelId, sameName, uniqueNames } from './model-names.ts';

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

describe('uniqueNames', () => {
  test('takes the shortest form that only one model has', () => {
    expect(
      uniqueNames([
        ['small', 'small.gguf'],
        ['large', 'large.gguf'],
      ]),
    ).toEqual(['small', 'large']);
    expect(
      uniqueNames([
        ['small', 'small.gguf'],
        ['small', 'small.kcpps'],
      ]),
    ).toEqual(['small.gguf', 'small.kcpps']);
    expect(
      uniqueNames([
        ['one', 'a/one', 'a/one.gguf'],
        ['one', 'one.gguf'],
      ]),
    ).toEqual(['a/one', 'one.gguf']);
  });

  test('leaves names alone that are taken', () => {
    expect(uniqueNames([['small', 'small.gguf']], ['Small'])).toEqual(['small.gguf']);
  });

  test('numbers those that differ in nothing that an id can hold', () => {
    const names = uniqueNames([
      ['my model', 'my model.gguf'],
      ['mymodel', 'mymodel.gguf'],
    ]);
    expect(names.map(modelId)).toEqual(['koboldcpp/mymodel.gguf', 'koboldcpp/mymodel.gguf-2']);
  });

  test('gives no two models the same id, whatever they are called', () => {
    const form = fc.string({ unit: fc.constantFrom('a', 'A', 'b', '/', ' ', '-', '2', '.'), maxLength: 4 });
    fc.assert(
      fc.property(fc.array(fc.array(form, { maxLength: 3 }), { maxLength: 6 }), fc.array(form), (forms, taken) => {
        const names = [...new Set(taken.map((name) => name.toLowerCase())), ...uniqueNames(forms, taken)];
        const own = names.slice(names.length - forms.length);
        for (const name of own)
          expect(
            names.filter((one) => equalName(one, name)),
            name,
          ).toHaveLength(1);
      }),
    );
  });
});

describe('aliasTarget', () => {
  const aliases = [
    { pattern: 'claude-*', target: 'qwen3' },
    { pattern: '*embed*large*', target: 'vectors' },
    { pattern: 'gpt-4o', target: 'qwen3' },
    { pattern: '*', target: 'rest' },
  ];

  test.each([
    ['claude-sonnet-4', 'qwen3'],
    ['CLAUDE-X:latest', 'qwen3'],
    ['text-embedding-3-large', 'vectors'],
    ['gpt-4o', 'qwen3'],
    ['gpt-4o-mini', 'rest'],
    ['claude', 'rest'],
  ])('%s means %s', (asked, target) => {
    expect(aliasTarget(aliases, asked)).toBe(target);
  });

  test('is undefined where no pattern matches', () => {
    expect(aliasTarget(aliases.slice(0, 3), 'nobody')).toBeUndefined();
    // A text must not serve for two parts of the pattern.
    expect(aliasTarget([{ pattern: 'ab*ba', target: 'x' }], 'aba')).toBeUndefined();
  });
});
