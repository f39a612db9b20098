import { expect, test } from 'vitest';
import { plainFileName } from './file-name.ts';

test.each(['model.gguf', 'Modell größe (1).gguf', 'a..b.gguf', '.hidden.gguf', 'console.gguf', '%2e%2e.gguf'])(
  'plainFileName: accepts %j',
  (name) => {
    expect(plainFileName(name)).toBe(name);
  },
);

test.each([
  '',
  '.',
  '..',
  '...',
  '. .',
  '../x.gguf',
  '/x.gguf',
  'a/b.gguf',
  '..\\x.gguf',
  'C:x.gguf',
  'a.gguf:stream',
  'a\0.gguf',
  'a\n.gguf',
  'a.gguf.',
  'a.gguf ',
  'NUL',
  'con.gguf',
  'COM1.gguf',
  `${'x'.repeat(200)}.gguf`,
])('plainFileName: refuses %j', (name) => {
  expect(plainFileName(name)).toBeUndefined();
});
