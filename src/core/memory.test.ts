import { expect, test } from 'vitest';
import { availableBytes, heapShare } from './memory.ts';

const available = (files: Record<string, string>) =>
  availableBytes(
    (path) => files[path] ?? '',
    () => 7,
  );
const meminfo = { '/proc/meminfo': 'MemTotal:  9000 kB\nMemAvailable:    4000 kB\n' };

test('availableBytes: with what the system can reclaim', () => expect(available(meminfo)).toBe(4_096_000));

test('availableBytes: without that figure, what is unused', () => expect(available({})).toBe(7));

test.each([
  ['a container', '/', ''],
  ['a service', '/system.slice/parley.service', '/system.slice/parley.service'],
])('availableBytes: no more than the limit of %s, less what it has beside files', (_, group, folder) => {
  const files = {
    ...meminfo,
    '/proc/self/cgroup': `0::${group}\n`,
    [`/sys/fs/cgroup${folder}/memory.max`]: '3000000\n',
    [`/sys/fs/cgroup${folder}/memory.current`]: '1500000\n',
    [`/sys/fs/cgroup${folder}/memory.stat`]: 'anon 900000\nfile 500000\nfile_mapped 1\n',
  };
  expect(available(files)).toBe(2_000_000);
  expect(available({ ...files, [`/sys/fs/cgroup${folder}/memory.current`]: '9000000' })).toBe(0);
  expect(available({ ...files, [`/sys/fs/cgroup${folder}/memory.max`]: 'max\n' })).toBe(4_096_000);
});

test('heapShare: is the requested size, and an eighth of a small heap', () => {
  expect(heapShare(100, 4096)).toBe(100);
  expect(heapShare(100, 400)).toBe(50);
});
