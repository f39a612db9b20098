import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countCores, defaultThreads, linuxProcessors, parseProcessorList, threadCount } from './threads.ts';

test.each([
  [{ logical: 16, cores: 8 }, 8],
  [{ logical: 16 }, 8],
  [{ logical: 1 }, 1],
  [{ logical: 2, cores: 2 }, 2],
  [{ logical: 64, cores: 32, allowed: 2 }, 2],
  [{ logical: 64, cores: 32, allowed: 2.5 }, 2],
  [{ logical: 64, cores: 32, allowed: 0.5 }, 1],
  [{ logical: 256, cores: 128 }, 64],
])('defaultThreads: %j gives %i', (processors, threads) => {
  expect(defaultThreads(processors)).toBe(threads);
});

test('threadCount: uses the requested number', () => {
  expect(threadCount(100, { logical: 4 })).toBe(100);
  expect(threadCount(-1, { logical: 4 })).toBe(2);
  expect(threadCount(0, { logical: 4 })).toBe(2);
});

test('threadCount: is 1 to 64, and at most the allowed processors', () => {
  const optional = fc.option(fc.integer({ min: 1, max: 1000 }), { nil: undefined });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), optional, optional, (logical, cores, allowed) => {
      const threads = defaultThreads({ logical, ...(cores && { cores }), ...(allowed && { allowed }) });
      expect(threads).toBeGreaterThanOrEqual(1);
      expect(threads).toBeLessThanOrEqual(Math.min(64, allowed ?? 64));
    }),
  );
});

/** Four cores with two processors each, the second ones numbered after all the first. */
const cpuinfo = Array.from(
  { length: 8 },
  (_, index) => `processor\t: ${index}\nmodel name\t: Some CPU\nphysical id\t: 0\ncore id\t\t: ${index % 4}\n`,
).join('\n');

test('countCores: counts the processors of one core once', () => {
  expect(countCores(cpuinfo)).toBe(4);
  expect(countCores(cpuinfo, parseProcessorList('0,4'))).toBe(1);
  expect(countCores(cpuinfo, parseProcessorList('0-1,4-5'))).toBe(2);
});

test('countCores: undefined without core ids', () => {
  expect(countCores('processor\t: 0\nBogoMIPS\t: 50.00\n')).toBeUndefined();
  expect(countCores('')).toBeUndefined();
});

test('parseProcessorList: reads ranges and numbers', () => {
  expect([...parseProcessorList('0-3,8')]).toEqual([0, 1, 2, 3, 8]);
  expect([...parseProcessorList('')]).toEqual([]);
});

const machine = (files: Record<string, string>) => linuxProcessors(8, (path) => files[path]);

test('linuxProcessors: applies affinity and quota', () => {
  const files = { '/proc/cpuinfo': cpuinfo, '/proc/self/status': 'Name:\tx\nCpus_allowed_list:\t0-5\n' };
  expect(machine(files)).toEqual({ logical: 8, cores: 4, allowed: 6 });
  expect(machine({ ...files, '/sys/fs/cgroup/cpu.max': '200000 100000\n' })).toEqual({
    logical: 8,
    cores: 4,
    allowed: 2,
  });
  expect(machine({ ...files, '/sys/fs/cgroup/cpu.max': 'max 100000\n' }).allowed).toBe(6);
});

test('linuxProcessors: falls back to the logical processors', () => {
  expect(machine({})).toEqual({ logical: 8 });
});
