import { expect, test } from 'vitest';
import { progressBar, Terminal } from './terminal.ts';

function record(interactive: boolean) {
  let written = '';
  const terminal = new Terminal({ interactive, columns: 40, write: (text) => (written += text) });
  return { terminal, written: () => written };
}

test('on a terminal a status is replaced in place, and a line takes its room', () => {
  const { terminal, written } = record(true);
  terminal.status('Loading 10%');
  terminal.status('Done');
  terminal.line('ready');
  expect(written()).toBe('\rLoading 10%\rDone       \r    \rready\n');
});

test('a status that is kept stays above the next line', () => {
  const { terminal, written } = record(true);
  terminal.status('40 / 40');
  terminal.keepStatus();
  terminal.line('next');
  expect(written()).toBe('\r40 / 40\nnext\n');
});

test('a log file gets lines only', () => {
  const { terminal, written } = record(false);
  terminal.status('Loading 10%');
  terminal.line('ready');
  expect(written()).toBe('ready\n');
});

test('a status never wraps', () => {
  const { terminal, written } = record(true);
  terminal.status('x'.repeat(100));
  expect(written()).toBe(`\r${'x'.repeat(39)}`);
});

test('a bar shows its share', () => {
  expect(progressBar(0.5, 10)).toBe('[█████░░░░░] 50%');
  expect(progressBar(1, 4)).toBe('[████] 100%');
});
