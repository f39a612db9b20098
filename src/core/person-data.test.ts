import { expect, test } from 'vitest';
import { ownerOf } from './owner.ts';
import { fileNameOf } from './person-data.ts';

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

test('fileNameOf: a name of 64 characters of any script fits the 255 bytes of a file system', () => {
  expect(Buffer.byteLength(of('𠮷'.repeat(64)))).toBeLessThan(220);
  expect(of('字'.repeat(64))).toMatch(/^字{64}-[0-9a-f]{8}$/u);
  expect(of('𠮷'.repeat(64))).not.toBe(of('𠮷'.repeat(63)));
});
