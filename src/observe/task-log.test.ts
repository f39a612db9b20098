import { expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { TaskLog } from './task-log.ts';
import { Terminal } from './terminal.ts';

function told(kind: string, error?: AppError): string {
  let output = '';
  const terminal = new Terminal({ write: (text) => (output += text), interactive: false, columns: 100 });
  new TaskLog(terminal).ended({ number: 7, kind }, 1234, error);
  return output.trim();
}

test.each([
  ['embedding', 'Embedding #7 took 1.23 s'],
  ['speech', 'Speech #7 took 1.23 s'],
  ['transcription', 'Transcription #7 took 1.23 s'],
  ['image', 'Image #7 took 1.23 s'],
])('work of the kind %s is told with its number and its time', (kind, expected) => {
  expect(told(kind)).toBe(expected);
});

test('work that was stopped is no failure', () => {
  expect(told('speech', new AppError('stopped', {}))).toBe('Speech #7 was stopped after 1.23 s');
});

test('a failure is told with its reason, without anything that could move the cursor', () => {
  const reason = 'the file \u001b[2Jis broken';
  const line = told('transcription', new AppError('engine-failed', { capability: 'transcription', reason }));
  expect(line).toContain('Transcription #7 failed after 1.23 s: The transcription engine could not do this');
  expect(line).not.toContain('\u001b');
});
