import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findNamed } from '../core/model-names.ts';
import { offeredNames } from './offered-names.ts';

const found = (files: readonly string[], asked: string) =>
  findNamed(offeredNames(files), ({ names }) => names, asked)?.file;

test('a file is called by its name without folder and ending, and as it is listed', () => {
  expect(offeredNames(['mini.gguf', 'sub/big.kcpps'])).toEqual([
    { file: 'mini.gguf', names: ['mini', 'mini.gguf'] },
    { file: 'sub/big.kcpps', names: ['big', 'sub/big.kcpps'] },
  ]);
});

test('of two with one name the first has it, and the other keeps folder and ending', () => {
  const files = ['Mini.gguf', 'mini.kcpps', 'sub/mini.gguf'];
  expect(offeredNames(files).map(({ names }) => names[0])).toEqual(['Mini', 'mini.kcpps', 'sub/mini.gguf']);
  expect(found(files, 'mini')).toBe('Mini.gguf');
  expect(found(files, 'mini.kcpps')).toBe('mini.kcpps');
  expect(found(files, 'sub/mini.gguf')).toBe('sub/mini.gguf');
  expect(found(files, 'koboldcpp/submini.gguf')).toBe('sub/mini.gguf');
});

test('no two files have the same proper name, and each answers to its own', () => {
  const part = fc.constantFrom('a', 'b', 'B', 'c-1');
  const file = fc
    .tuple(fc.option(part), part, fc.constantFrom('gguf', 'kcpps', 'kcppt'))
    .map(([folder, name, ending]) => `${folder === null ? '' : `${folder}/`}${name}.${ending}`);
  // Folders and names are told apart by a sign that no id has: these few letters never run into each other.
  const files = fc.uniqueArray(file, { selector: (name) => name.toLowerCase().replace('/', '') });
  fc.assert(
    fc.property(files, (listed) => {
      const offered = offeredNames(listed);
      const proper = offered.map(({ names }) => names[0]?.toLowerCase());
      expect(new Set(proper).size).toBe(proper.length);
      for (const { file: own } of offered) expect(found(listed, own)).toBe(own);
    }),
  );
});
