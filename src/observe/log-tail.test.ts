import { expect, test } from 'vitest';
import { JsonTerminal } from './json-log.ts';
import { LogTail } from './log-tail.ts';
import { Terminal } from './terminal.ts';

const texts = (tail: LogTail, after = 0) => tail.after(after).map(({ text }) => text);

test('LogTail: numbers its lines, and has those after a number', () => {
  let time = 5;
  const tail = new LogTail(() => time++);
  tail.add('one');
  tail.add('');
  tail.add('two', 'error');
  expect(tail.after(0)).toEqual([
    { number: 1, time: 5, level: 'info', text: 'one' },
    { number: 2, time: 6, level: 'error', text: 'two' },
  ]);
  expect(texts(tail, 1)).toEqual(['two']);
  expect(texts(tail, 2)).toEqual([]);
  // A page that was open while the server was started again.
  expect(texts(tail, 900)).toEqual(['one', 'two']);
});

test('LogTail: drops the oldest lines beyond its limits, and cuts long ones', () => {
  const tail = new LogTail(() => 0, { lines: 3, characters: 20, lineCharacters: 10 });
  for (const text of ['a', 'b', 'c', 'd']) tail.add(text);
  expect(texts(tail)).toEqual(['b', 'c', 'd']);
  tail.add('0123456789-');
  expect(texts(tail)).toEqual(['c', 'd', '0123456789 …']);
  tail.add('abcdefghijkl');
  expect(texts(tail)).toEqual(['abcdefghij …']);
});

test('Terminal: its log has each line once, of a structured one also those without a text', () => {
  const plain = new Terminal({ interactive: true, columns: 80, write: () => undefined });
  plain.line('Listening.');
  plain.line();
  plain.status('Processing Prompt');
  plain.line('Failed.', { level: 'error' });
  expect(plain.log.after(0).map(({ level, text }) => [level, text])).toEqual([
    ['info', 'Listening.'],
    ['error', 'Failed.'],
  ]);
  const stream = { writableLength: 0, write: () => undefined, on: () => undefined };
  const structured = new JsonTerminal(stream, () => new Date(0));
  structured.line('Listening.');
  structured.object({ level: 'warn', event: 'refused', status: 429 });
  expect(structured.log.after(0).map(({ level, text }) => [level, text])).toEqual([
    ['info', 'Listening.'],
    ['warn', '{"event":"refused","status":429}'],
  ]);
});
