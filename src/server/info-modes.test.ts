import { expect, test } from 'vitest';
import { versionLines } from './info-modes.ts';

test('--version: the version alone in the first line, then commit and engines', () => {
  const engines = { text: { llama: '3.2.1', media: '0.1.0' }, music: {} };
  expect(versionLines({ name: 'Parley', version: '1.2.3', commit: '1a2b3c' }, engines)).toEqual([
    '1.2.3',
    'commit: 1a2b3c',
    'text: llama 3.2.1, media 0.1.0',
  ]);
});

test('--version: only the version if nothing else is known', () => {
  expect(versionLines({ name: 'Parley', version: '1.2.3' }, {})).toEqual(['1.2.3']);
});
