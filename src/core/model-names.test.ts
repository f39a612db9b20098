import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aliasTarget, equalName, findExactly, findNamed, modelId, sameName, uniqueNames } from './model-names.ts';

describe('sameName', () => {
  test.each([
    ['Mini', 'mini'],
    ['mini', 'mini.gguf'],
    ['mini.KCPPS', 'mini.gguf'],
    ['mini:latest', 'koboldcpp/mini'],
    ['koboldcpp/mini:latest', 'mini.kcppt'],
    ['My model (1)', 'koboldcpp/Mymodel1'],
    ['sub/mini.gguf', 'koboldcpp/submini'],
  ])('%s equals %s', (left, right) => {
    expect(sameName(left, right)).toBe(true);
    expect(sameName(right, left)).toBe(true);
  });

  test.each([
    ['mini', 'mini:7b'],
    ['mini', 'mini2'],
    ['mini.gguf', 'mini.bin'],
    ['mini-q4', 'mini_q4'],
  ])('%s differs from %s', (left, right) => {
    expect(sameName(left, right)).toBe(false);
  });

  test('an id with or without :latest matches its model', () => {
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

describe('findNamed', () => {
  const names = (one: readonly string[]) => one;
  const model = ['mini', 'mini.gguf'];
  const config = ['mini.kcpps'];

  test('prefers the name with its extension, in any position', () => {
    expect(findNamed([model, config], names, 'mini.kcpps')).toBe(config);
    expect(findNamed([config, model], names, 'koboldcpp/mini')).toBe(model);
    expect(findNamed([config, model], names, 'MINI.gguf')).toBe(model);
  });

  test('falls back to the first name that matches without its extension', () => {
    expect(findNamed([config], names, 'mini')).toBe(config);
    expect(findExactly([config], names, 'mini')).toBeUndefined();
  });

  test('undefined for an unknown name', () => {
    expect(findNamed([model, config], names, 'maxi')).toBeUndefined();
    expect(findNamed([], names, 'mini')).toBeUndefined();
  });
});

describe('uniqueNames', () => {
  test('uses the shortest unique form', () => {
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

  test('does not use taken names', () => {
    expect(uniqueNames([['small', 'small.gguf']], ['Small'])).toEqual(['small.gguf']);
  });

  test('numbers models with equal ids', () => {
    const names = uniqueNames([
      ['my model', 'my model.gguf'],
      ['mymodel', 'mymodel.gguf'],
    ]);
    expect(names.map(modelId)).toEqual(['koboldcpp/mymodel.gguf', 'koboldcpp/mymodel.gguf-2']);
  });

  test('ids are unique for any names', () => {
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
  ])('%s resolves to %s', (asked, target) => {
    expect(aliasTarget(aliases, asked)).toBe(target);
  });

  test('undefined if no pattern matches', () => {
    expect(aliasTarget(aliases.slice(0, 3), 'nobody')).toBeUndefined();
    // A text must not serve for two parts of the pattern.
    expect(aliasTarget([{ pattern: 'ab*ba', target: 'x' }], 'aba')).toBeUndefined();
  });
});
