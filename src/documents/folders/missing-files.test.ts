import { expect, test } from 'vitest';
import type { FileRow } from '../storage/rows.ts';
import { knownMounts, missingFiles } from './missing-files.ts';
import type { Mounts } from './scan-folder.ts';

const rules = { path: '/notes', include: [], exclude: ['drafts/'], maxFileBytes: 1000 };

/** What happens to the indexed files `rows` if a scan has seen only `seen`. */
function missing(
  rows: readonly string[],
  seen: readonly string[],
  scan: { readonly unread?: readonly string[]; readonly mounts?: Mounts; readonly known?: Mounts },
) {
  const { unread = [], mounts = { '': '1:2' }, known = { '': '1:2' } } = scan;
  const files = rows.map((path) => ({ path }) as FileRow);
  const report = { notes: [], unread: new Set(unread), mounts };
  const { removed, unmounted } = missingFiles(rules, files, new Set(seen), report, known);
  return { removed: removed.map(({ path }) => path), unmounted };
}

test('missingFiles: a file that was not seen is gone', () => {
  expect(missing(['a.md', 'deep/b.md'], ['a.md'], {})).toEqual({ removed: ['deep/b.md'], unmounted: [] });
  expect(missing(['a.md'], [], {})).toEqual({ removed: ['a.md'], unmounted: [] });
});

test('missingFiles: files below a folder that could not be read stay', () => {
  const rows = ['a.md', 'deep/b.md', 'deep/er/c.md', 'deeper/d.md'];
  expect(missing(rows, [], { unread: ['deep'] }).removed).toEqual(['a.md', 'deeper/d.md']);
  expect(missing(rows, [], { unread: [''] }).removed).toEqual([]);
});

test('missingFiles: files stay if another folder without any of them is in the place of the folder', () => {
  const other = { mounts: { '': '1:3' } };
  expect(missing(['a.md', 'b.md'], [], other)).toEqual({ removed: [], unmounted: [''] });
  expect(missing(['a.md', 'b.md'], ['a.md'], other)).toEqual({ removed: ['b.md'], unmounted: [] });
  expect(missing(['a.md'], [], { known: {} })).toEqual({ removed: [], unmounted: [''] });
});

test('missingFiles: files of a drive in the folder stay if the drive is not there', () => {
  const known = { '': '1:2', 'usb/key': '7:1' };
  const rows = ['a.md', 'usb/b.md', 'usb/key/c.md'];
  expect(missing(rows, [], { known })).toEqual({ removed: ['a.md', 'usb/b.md'], unmounted: ['usb/key'] });
  expect(missing(rows, [], { known, mounts: known })).toEqual({ removed: rows, unmounted: [] });
  expect(missing(rows, ['usb/key/d.md'], { known }).removed).toEqual(rows);
});

test('missingFiles: what the rules leave out is removed, also from a drive that is not there', () => {
  const rows = ['a.md', 'drafts/b.md', 'c.png'];
  expect(missing(rows, [], { known: {} }).removed).toEqual(['drafts/b.md', 'c.png']);
  expect(missing(rows, [], { unread: [''] }).removed).toEqual(['drafts/b.md', 'c.png']);
});

test('knownMounts: a drive that is not there is remembered until its files are', () => {
  const known = { '': '1:2', usb: '7:1' };
  expect(knownMounts({ '': '1:3' }, known, ['', 'usb'])).toEqual(known);
  expect(knownMounts({ '': '1:3' }, known, [])).toEqual({ '': '1:3' });
  expect(knownMounts({ '': '1:3' }, {}, [''])).toEqual({});
});
