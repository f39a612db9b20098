import { expect, expectTypeOf, test } from 'vitest';
import { deprecatedFlags } from './flags/deprecated.ts';
import {
  defaultSettings,
  exclusiveGroups,
  fileKey,
  flagByFileKey,
  flagByName,
  flagGroups,
  flagKeys,
  flagOf,
  type Settings,
} from './flags.ts';
import { readJson } from './value.ts';

const allNames = [...flagKeys.map((key) => flagOf(key)), ...Object.values(deprecatedFlags)].flatMap(
  ({ names }) => names,
);

test('flags: names are unique', () => {
  expect(flagByName.size).toBe(allNames.length);
  for (const name of allNames.filter((long) => long.startsWith('--'))) {
    expect(flagByFileKey.get(fileKey(name))).toBe(flagByName.get(name));
  }
});

test('flags: the key is the first name in config file spelling', () => {
  for (const key of flagKeys) expect(fileKey(flagOf(key).names[0])).toBe(key);
  for (const [key, { names }] of Object.entries(deprecatedFlags)) expect(fileKey(names[0])).toBe(key);
});

test('flags: every flag is in exactly one group', () => {
  expect(flagGroups.flatMap(({ keys }) => keys).toSorted()).toEqual(flagKeys.toSorted());
});

test('flags: every default is valid for its flag', () => {
  for (const key of flagKeys) {
    expect(readJson(flagOf(key), defaultSettings[key]), key).toEqual({ ok: true, value: defaultSettings[key] });
  }
});

test('flags: every help text is a sentence', () => {
  for (const key of flagKeys) expect(flagOf(key).help, key).toMatch(/^[A-Z].*\.$/);
});

test('exclusiveGroups: their flags are off by default', () => {
  for (const key of exclusiveGroups.flat()) expect([false, null, '', 0]).toContain(defaultSettings[key]);
});

test('Settings: have plain types', () => {
  expectTypeOf<Settings['contextsize']>().toEqualTypeOf<number>();
  expectTypeOf<Settings['launch']>().toEqualTypeOf<boolean>();
  expectTypeOf<Settings['host']>().toEqualTypeOf<string>();
  expectTypeOf<Settings['password']>().toEqualTypeOf<string | null>();
  expectTypeOf<Settings['usevulkan']>().toEqualTypeOf<readonly number[] | null>();
  expectTypeOf<Settings['ssl']>().toEqualTypeOf<readonly [string, string] | null>();
  expectTypeOf<Settings['model']>().toEqualTypeOf<readonly string[] | null>();
  expectTypeOf<Settings['splitmode']>().toEqualTypeOf<'layer' | 'row' | 'tensor'>();
  expectTypeOf<Settings['ropeconfig']>().toEqualTypeOf<readonly number[]>();
});
