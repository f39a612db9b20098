import { expect, test } from 'vitest';
import { aboutLine, engineLine } from './about.ts';

test('aboutLine: name and version, and the commit if it is known', () => {
  expect(aboutLine({ name: 'Parley', version: '0.1.0', commit: '1a2b3c' })).toBe('Parley 0.1.0 (commit 1a2b3c)');
  expect(aboutLine({ name: 'Parley', version: '0.1.0' })).toBe('Parley 0.1.0');
});

test('engineLine: each package once, empty without any', () => {
  const engines = { text: { llama: '3' }, embedding: { llama: '3' }, speech: { flite: '1' }, music: {} };
  expect(engineLine({ name: 'Parley', version: '0.1.0', engines })).toBe('llama 3, flite 1');
  expect(engineLine({ name: 'Parley', version: '0.1.0' })).toBe('');
});
