import { expect, test } from 'vitest';
import type { Loss } from '../engines/host/engine-state.ts';
import { lossReport } from './engine-console.ts';

function loss(own: Partial<Loss>, exit?: Partial<NonNullable<Loss['exit']>>): Loss {
  const ended = { code: null, signal: null, lastLines: [], ...exit };
  return { type: 'died', exit: ended, reason: 'it died', failures: 1, nextTryMs: 0, ...own };
}

test.each<[string, Loss]>([
  ['SIGSEGV', loss({}, { signal: 'SIGSEGV' })],
  ['SIGABRT', loss({}, { signal: 'SIGABRT' })],
  ['an access violation on Windows', loss({}, { code: 0xc0000005 })],
])('lossReport: names the versions after %s', (_, crash) => {
  expect(lossReport('text', crash, '')).toMatch(/started again\. For a report: Parley \d.*, Node \d.*\.$/);
});

test.each<[string, Loss]>([
  ['SIGKILL', loss({}, { signal: 'SIGKILL' })],
  ['an exit code', loss({}, { code: 3 })],
  ['a hang', loss({ type: 'silent', exit: undefined })],
  ['the second crash in a row', loss({ failures: 2, nextTryMs: 1000 }, { signal: 'SIGSEGV' })],
])('lossReport: no versions after %s', (_, other) => {
  expect(lossReport('text', other, '')).not.toContain('Parley');
});
