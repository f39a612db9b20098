import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';
import { draft } from './drafts.ts';

test('draft: keeps the text of each chat apart', () => {
  fakePage();
  draft('chat.a').write('Half a thought');
  draft('chat.b').write('Another');
  expect(draft('chat.a').read()).toBe('Half a thought');
  expect(draft('chat.b').read()).toBe('Another');
});

test('draft: an empty text leaves nothing behind', () => {
  const page = fakePage();
  draft('chat.a').write('x');
  draft('chat.a').write('');
  expect(draft('chat.a').read()).toBe('');
  expect(page.localStorage.size).toBe(0);
});

test('draft: ignores a full storage', () => {
  fakePage();
  localStorage.setItem = () => {
    throw new DOMException('full', 'QuotaExceededError');
  };
  expect(() => draft('chat.a').write('x')).not.toThrow();
});
