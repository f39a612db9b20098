import { expect, test } from 'vitest';
import { filledIn } from './contender.ts';

const shape = { model: 'm.gguf', threads: 2, context: 1024, parallel: 16, batch: 512 };

test('a command gets what the bench decides in place of its marks', () => {
  const command = ' server -m {model} -c {totalcontext} -np {parallel} --port={port} ';
  expect(filledIn(command, shape, 99)).toEqual(['server', '-m', 'm.gguf', '-c', '16384', '-np', '16', '--port=99']);
});

test('an unknown placeholder is refused', () => {
  expect(() => filledIn('server {modle}', shape, 99)).toThrow('{modle}');
});
