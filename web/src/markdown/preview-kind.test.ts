import { expect, test } from 'vitest';
import { directionOf } from './direction.ts';
import { previewKind } from './preview-kind.ts';

test.each([
  ['mermaid', 'graph TD;', 'diagram'],
  ['svg', '<svg viewBox="0 0 1 1"></svg>', 'picture'],
  ['xml', '<?xml version="1.0"?>\n<svg></svg>\n', 'picture'],
  ['html', '<h1>Hi</h1>', 'page'],
  ['HTML', '<svg></svg><p>more', 'page'],
  ['xml', '<feed/>', undefined],
  ['js', 'html', undefined],
])('previewKind: %s with %j is %s', (language, text, kind) => {
  expect(previewKind(language, text)).toBe(kind);
});

test.each([
  ['hello שלום', 'ltr'],
  ['1. שלום hello', 'rtl'],
  ['«مرحبا»', 'rtl'],
  ['123', 'ltr'],
  ['', 'ltr'],
])('directionOf: %j is %s', (text, direction) => {
  expect(directionOf(text)).toBe(direction);
});
