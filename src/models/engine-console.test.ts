import { expect, test } from 'vitest';
import type { Loss } from '../engines/host/engine-state.ts';
import { Terminal } from '../observe/terminal.ts';
import { engineConsole, lossReport } from './engine-console.ts';

function loss(own: Partial<Loss>, exit?: Partial<NonNullable<Loss['exit']>>): Loss {
  const ended = { code: null, signal: null, lastLines: [], ...exit };
  return { type: 'died', exit: ended, reason: 'it died', failures: 1, nextTryMs: 0, ...own };
}

const report = { advice: '', packages: () => ['ws'] };

test.each<[string, Loss]>([
  ['SIGSEGV', loss({}, { signal: 'SIGSEGV' })],
  ['SIGABRT', loss({}, { signal: 'SIGABRT' })],
  ['an access violation on Windows', loss({}, { code: 0xc0000005 })],
])('lossReport: names the versions after %s', (_, crash) => {
  expect(lossReport('text', crash, report)).toMatch(/started again\. For a report: Parley \d.*, Node \d.*, ws \d.*\.$/);
});

test.each<[string, Loss]>([
  ['SIGKILL', loss({}, { signal: 'SIGKILL' })],
  ['an exit code', loss({}, { code: 3 })],
  ['a hang', loss({ type: 'silent', exit: undefined })],
  ['the second crash in a row', loss({ failures: 2, nextTryMs: 1000 }, { signal: 'SIGSEGV' })],
])('lossReport: no versions after %s', (_, other) => {
  expect(lossReport('text', other, report)).not.toContain('Parley');
});

function world(interactive: boolean, loaded?: (facts: { readonly voices: number }) => string) {
  let written = '';
  const terminal = new Terminal({ interactive, columns: 80, write: (text) => (written += text) });
  const options = { ...report, advice: 'Try another.', ...(loaded && { loaded }) };
  return { console: engineConsole('speech', 'The voice amy', terminal, options), written: () => written };
}

test('engineConsole: a load is a status on a terminal, with a bar if the progress is known', () => {
  const { console, written } = world(true, ({ voices }) => `Loaded amy: ${voices} voices.`);
  console.starting?.();
  console.progress?.(0.5);
  console.loaded?.({ voices: 2 });
  expect(written()).toMatch(
    /^\rLoading the voice amy …\rLoading the voice amy \[█+░+\] 50%\r +\rLoaded amy: 2 voices\.\n$/,
  );
});

test('engineConsole: a load without a last line leaves nothing on the terminal', () => {
  const { console, written } = world(true);
  console.starting?.();
  console.loaded?.({ voices: 2 });
  expect(written()).toMatch(/^\rLoading the voice amy …\r +\r$/);
});

test('engineConsole: a load is a line at its start and its end in a log file', () => {
  const { console, written } = world(false, () => 'Loaded amy.');
  console.starting?.();
  for (const part of [0.2, 0.6, 1]) console.progress?.(part);
  console.loaded?.({ voices: 2 });
  expect(written()).toBe('Loading the voice amy …\nLoaded amy.\n');
});

test('engineConsole: a failure has its reason', () => {
  const { console, written } = world(false);
  console.failed?.('no memory');
  expect(written()).toBe('The voice amy could not be loaded: no memory\n');
});
