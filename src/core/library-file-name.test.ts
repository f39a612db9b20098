import { expect, test } from 'vitest';
import { fileNameOf } from './library-file-name.ts';
import { ownerOf } from './owner.ts';

const of = (name: string) => fileNameOf(ownerOf({ key: { name } }));

test('fileNameOf: names that differ in their case have two names, and no owner has that of the common library', () => {
  expect(of('Anna')).toMatch(/^anna-[0-9a-f]{8}$/);
  expect(of('Anna')).not.toBe(of('anna'));
  expect(of('common')).not.toBe(fileNameOf('no key'));
});

test.each(['../../x', 'a/b', 'a\\b', '/etc', 'a\0b', 'C:x', '..'])(
  'fileNameOf: %j leads to no other folder',
  (name) => {
    expect(of(name)).toMatch(/^[^/\\:\p{Cc}]+-[0-9a-f]{8}$/u);
  },
);
