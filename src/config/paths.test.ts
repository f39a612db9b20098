import { expect, test } from 'vitest';
import { configPath, expandHome, readDiskCache } from './paths.ts';

const mega = 2 ** 20;
const giga = 2 ** 30;

test.each<[string, string, number]>([
  ['/cache', '/cache', 20 * giga],
  ['cache', 'cache', 20 * giga],
  ['/cache:5G', '/cache', 5 * giga],
  ['/cache:20GiB', '/cache', 20 * giga],
  ['/cache:20gb', '/cache', 20 * giga],
  ['/cache:1.5g', '/cache', 1.5 * giga],
  ['/cache:500MiB', '/cache', 500 * mega],
  ['/cache:2048k', '/cache', 2 * mega],
  ['/cache:1T', '/cache', 1024 * giga],
  ['/cache:5000000', '/cache', 5_000_000],
  ['/cache:5000000B', '/cache', 5_000_000],
  ['C:\\cache', 'C:\\cache', 20 * giga],
  ['C:/cache', 'C:/cache', 20 * giga],
  ['C:\\cache:5G', 'C:\\cache', 5 * giga],
  ['/a:b/c', '/a:b/c', 20 * giga],
  ['/a:b:5G', '/a:b', 5 * giga],
  ['./5G', './5G', 20 * giga],
])('readDiskCache: %s is the folder %s with %d bytes', (text, folder, bytes) => {
  expect(readDiskCache(text)).toEqual({ ok: true, folder, bytes });
});

test.each([
  ['/cache:5X', '"5X" is not a size'],
  ['/cache:-5', '"-5" is not a size'],
  ['/cache: 5G', '" 5G" is not a size'],
  ['/cache:1e3M', '"1e3M" is not a size'],
  ['/cache:5Gi', '"5Gi" is not a size'],
  ['/cache:', '"" is not a size'],
  [`/cache:${'9'.repeat(400)}`, 'is not a size'],
  ['/cache:0', 'less than 1 MB'],
  ['/cache:1023K', 'less than 1 MB'],
  [':5G', 'has no folder'],
  [':', 'has no folder'],
  ['5G', 'has no folder'],
  [' ', 'has no folder'],
])('readDiskCache: rejects %s: %s', (text, expected) => {
  expect(readDiskCache(text)).toMatchObject({ ok: false, expected: expect.stringContaining(expected) });
});

test.each([
  ['~/cache:5G', '/home/me/cache:5G'],
  ['~\\cache', '/home/me\\cache'],
  ['~', '/home/me'],
  ['/a/~/b', '/a/~/b'],
  ['~other/cache', '~other/cache'],
])('expandHome: %s becomes %s', (text, expected) => expect(expandHome(text, '/home/me')).toBe(expected));

test('expandHome: undefined without a home folder', () => {
  expect(expandHome('~/cache', undefined)).toBeUndefined();
  expect(expandHome('/cache', undefined)).toBe('/cache');
});

test.each([
  ['in the working folder', 'mine.kcpps', ['mine.kcpps', '/config/mine.kcpps'], 'mine.kcpps'],
  ['in the config folder', 'mine.kcpps', ['/config/mine.kcpps'], '/config/mine.kcpps'],
  ['in neither', 'mine.kcpps', [], 'mine.kcpps'],
  ['with a folder of its own', './mine.kcpps', ['/config/mine.kcpps'], './mine.kcpps'],
])('configPath: a file %s', (_, named, there, expected) => {
  expect(configPath(named, '/config', (path) => there.includes(path))).toBe(expected);
});
